#!/usr/bin/env python3
"""rlsm reading its blocks through the page cache (`read=pread`) and through `recycle` (`read=recycle`), in alternation, each
in a memory cgroup of the same size, page cache included: YCSB C, B and A on a database of several times the memory. What
`pread` leaves to the page cache, `recycle` has as a budget of its own, less room for what compactions and writes need of the
page cache with either."""

import os

import bench
import peers

# What rewrites hold in memory is not bounded yet: with 128 MiB the kernel ends runs of YCSB B, with 192 MiB some of YCSB A.
MEMORY = 192 * peers.MIB
MEMTABLE, CACHE, BUDGET = 4 * peers.MIB, 16 * peers.MIB, 96 * peers.MIB
RECORDS = 4_000_000
# Not slower than through the page cache.
GOAL = 1.0
SECONDS = os.environ.get("SECONDS_EACH", "8")
WAYS = {"pread": ["--option", "read=pread"],
        "recycle": ["--option", "read=recycle", "--option", f"read_memory_bytes={BUDGET}"]}


def main() -> None:
    home = peers.fresh(bench.ROOT / "manometer-data" / "rlsm-recycle")
    kept = []
    try:
        with peers.memory_limit(MEMORY) as enter:
            for label in ("ycsb-c", "ycsb-b", "ycsb-a"):
                def rate(way: str) -> float:
                    flags = [*peers.options("rlsm", MEMTABLE, CACHE), *WAYS[way], "--records", str(RECORDS), "--value-size", "100",
                             "--dir", str(home / way), "--workload", label, "--threads", "4",
                             "--load", "puts", "--reuse", "--warmup", "2", "--seconds", SECONDS]
                    return peers.kv(flags, enter)["throughput"]["mean"]
                try:
                    rates = bench.alternate({way: (lambda way=way: rate(way)) for way in WAYS}, bench.pairs())
                except peers.OutOfMemory:
                    print(f"{label}: the kernel ended a run that needed more than {MEMORY // peers.MIB} MiB", flush=True)
                    kept.append({"label": f"{label}, recycle", "reason": "out of memory"})
                    continue
                kept.append(bench.compare(f"{label}, recycle", rates, "recycle", "pread", GOAL))
    finally:
        peers.shutil.rmtree(home, ignore_errors=True)
    bench.write("rlsm_recycle", {"about": __doc__.strip(), "memory_bytes": MEMORY, "budget_bytes": BUDGET,
                                 "machine": bench.machine(bench.ROOT), "results": kept})


if __name__ == "__main__":
    main()
