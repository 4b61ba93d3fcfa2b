#!/bin/busybox sh
# The first process under qemu, in the initial RAM disk: `paths` with the arguments in RUN (separated by `:`), on tmpfs, in each
# mode that the kernel has.
export PATH=/bin
busybox mount -t proc none /proc
switch=/proc/sys/fs/backward_lookup
for mode in 0 1; do
    if [ -e "$switch" ]; then echo "$mode" > "$switch"; elif [ "$mode" = 1 ]; then break; fi
    busybox mount -t tmpfs none /root
    # shellcheck disable=SC2046 # The words are arguments.
    /paths /root $(echo "$RUN" | busybox tr ':' ' ') | busybox sed "s/^/mode $mode /"
    busybox umount /root
done
busybox poweroff -f
