#!/bin/bash
# The first process of a guest: passes over a mapped file larger than memory in each mode of page recycling, and prints the
# kernel's counts for each. SHARE, a directory of the host, has the programs; the disk is /dev/ubda.
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /run
mkdir /run/file
mkfs.ext4 -q -F /dev/ubda
mount /dev/ubda /run/file

# Dirty pages stay dirty until reclaim or a fault comes for them.
echo 95 > /proc/sys/vm/dirty_ratio
echo 90 > /proc/sys/vm/dirty_background_ratio
echo 0 > /proc/sys/vm/dirty_writeback_centisecs
# In so little memory one boost of the watermarks, which the kernel adds where memory is fragmented, has kswapd reclaim an
# eighth of it; some boots have many.
echo 0 > /proc/sys/vm/watermark_boost_factor

counters="pgmajfault pageoutrun allocstall_dma allocstall_dma32 allocstall_normal allocstall_movable pgsteal_kswapd
    pgsteal_direct recycle_fault recycle_fail recycle_page recycle_write"
count() {
    local name
    for name in $counters; do
        awk -v name="$name" '$1 == name { found = $2 } END { print name, found + 0 }' /proc/vmstat
    done
}

modes=0
if [ -e /proc/sys/vm/page_recycling ]; then modes=${MODES:-0123}; fi
for cell in ${CELLS//:/ }; do
    IFS=, read -r pattern operation processes <<< "$cell"
    for mode in $(fold -w 1 <<< "$modes"); do
        if [ -e /proc/sys/vm/page_recycling ]; then echo "$mode" > /proc/sys/vm/page_recycling; fi
        rm -f /run/file/data
        "$SHARE/mapped" /run/file/data "$MIB" make
        sync
        echo 3 > /proc/sys/vm/drop_caches
        count > /run/before
        status=0
        "$SHARE/mapped" /run/file/data "$MIB" "$pattern" "$operation" 3 "$processes" > /run/said 2>&1 || status=$?
        count > /run/after
        # What is on the disk, not in memory.
        sync
        echo 3 > /proc/sys/vm/drop_caches
        passes=3
        if [ "$operation" = read ]; then passes=0; fi
        "$SHARE/mapped" /run/file/data "$MIB" check "$passes" >> /run/said 2>&1 || status=$?
        {
            echo "cell $cell mode $mode status $status $(grep ^switches /run/said)"
            join /run/before /run/after | awk '{ printf "%s %d ", $1, $3 - $2 } END { print "" }'
        } >> "$SHARE/counts"
        if [ "$status" != 0 ]; then cat /run/said; fi
    done
done
sync
"$SHARE/power-off"
