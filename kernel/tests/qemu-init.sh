#!/bin/busybox sh
# The first process under qemu, in the initial RAM disk: `paths` with the arguments in RUN (separated by `:`), in each mode that the
# kernel has, on the disk of this mode or, without disks, on tmpfs.
export PATH=/bin
busybox mount -t proc none /proc
busybox mount -t devtmpfs none /dev
switch=/proc/sys/fs/backward_lookup
for mode in 0 1; do
    if [ -e "$switch" ]; then echo "$mode" > "$switch"; elif [ "$mode" = 1 ]; then break; fi
    disk=/dev/vda
    if [ "$mode" = 1 ]; then disk=/dev/vdb; fi
    if [ -e "$disk" ]; then busybox mount -t ext4 -o acl "$disk" /root; else busybox mount -t tmpfs none /root; fi
    # shellcheck disable=SC2046 # The words are arguments.
    /paths /root $(echo "$RUN" | busybox tr ':' ' ') | busybox sed "s/^/mode $mode /"
    busybox umount /root
    busybox grep ^backward /proc/vmstat | busybox sed "s/^/total $mode /"
done
busybox poweroff -f
