#!/bin/bash
# The first process of a guest: has `paths` count the look-ups by depth and in a replay, and make random changes and accesses, in
# each mode of backward look-up. SHARE, a directory of the host, has the programs; the disk is /dev/ubda.
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc none /proc
mount -t tmpfs none /run
mkdir /run/root
switch=/proc/sys/fs/backward_lookup

# Runs the program with ARGUMENTS on a new file system of TYPE.
run() {
    local type=$1
    shift
    mkfs.ext4 -q -F -t "$type" -i 4096 /dev/ubda
    mount -t "$type" -o acl /dev/ubda /run/root
    "$SHARE/paths" /run/root "$@"
    umount /run/root
}

modes=0
if [ -e "$switch" ]; then modes=$MODES; fi
for mode in $(fold -w 1 <<< "$modes"); do
    if [ -e "$switch" ]; then echo "$mode" > "$switch"; fi
    if [ "$FILES" != 0 ]; then
        run ext4 depth > "$SHARE/depth.$mode"
        run ext4 replay "$FILES" "$OPENS" > "$SHARE/replay.$mode"
    fi
    grep ^backward /proc/vmstat > /run/before || true
    # ext2 can be remounted without access control lists, ext4 can exchange names.
    for seed in $(seq "$SEEDS"); do
        if [ $((seed % 2)) = 1 ]; then type=ext2; else type=ext4; fi
        run "$type" random "$seed" "$STEPS"
    done > "$SHARE/random.$mode"
    grep ^backward /proc/vmstat > /run/after || true
    join /run/before /run/after | awk '{ print $1, $3 - $2 }' > "$SHARE/random-counts.$mode"
done
touch "$SHARE/complete"
"$SHARE/power-off"
