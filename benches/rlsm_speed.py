#!/usr/bin/env python3
"""rlsm beside RocksDB (levelled) and fjall: a random load of several times the memory, then YCSB A, B, C, E and longer
scans, in alternation, each peer in a memory cgroup of the same size, page cache included.

Same: keys, values of 100 bytes, no compression, memtables of 8 MiB, block caches, threads, durability (the write-ahead
log is written and not synced, but for one row). `cached` rows have a database that fits the cgroup. Databases are loaded
put by put and settled; each peer's is kept between its own runs, but where a run inserts, and `at first`. Runs warm up
for 2 s; `once sorted` for longer, until rlsm has put what is scanned into the order of keys.
"""

import os
import sys

import bench
import peers

MEMORY = 256 * peers.MIB
MEMTABLE, CACHE = 8 * peers.MIB, 32 * peers.MIB
VALUE_BYTES = 100
LARGE, MIDDLE, SMALL = 10_000_000, 2_000_000, 500_000
SECONDS = os.environ.get("SECONDS_EACH", "8")
PAIRS = bench.pairs()
SCANS_OF_100, SCANS_OF_100_000 = (
    ["--workload", "seekrandom", "--key-size", "16", "-p", f"seek_nexts={length}"] for length in (100, 100_000))
# Label, records, threads, flags, and the goal against each peer.
WORKS = [
    ("YCSB A", LARGE, 4, ["--workload", "ycsb-a"], {"rocksdb": 1.3}),
    ("YCSB A, every put synced", LARGE, 8, ["--workload", "ycsb-a"], {"rocksdb": 1.3}),
    ("YCSB A, cached", SMALL, 1, ["--workload", "ycsb-a"], {"rocksdb": 1.3}),
    ("YCSB B", LARGE, 4, ["--workload", "ycsb-b"], {"rocksdb": 1.0}),
    ("YCSB B, cached", SMALL, 1, ["--workload", "ycsb-b"], {"rocksdb": 1.0}),
    ("YCSB C", LARGE, 4, ["--workload", "ycsb-c"], {"rocksdb": 1.0}),
    ("YCSB C, cached", SMALL, 1, ["--workload", "ycsb-c"], {"rocksdb": 1.0}),
    ("YCSB E, scans of 1 to 100, at first", MIDDLE, 2, ["--workload", "ycsb-e"], {"rocksdb": 0.95}),
    ("YCSB E, once sorted", MIDDLE, 2, ["--workload", "ycsb-e"], {"rocksdb": 0.95}),
    ("scans of 100, cached", SMALL, 1, SCANS_OF_100, {"rocksdb": 0.95}),
    ("scans of 100,000, at first", LARGE, 1, SCANS_OF_100_000, {"rocksdb": 0.95}),
    ("scans of 100,000, once sorted", LARGE, 1, SCANS_OF_100_000, {"rocksdb": 0.95}),
]
# Seconds; to sort 2 million records takes some 5, 10 million some 30.
WARMUP, WARMUP_TO_SORT = "2", {MIDDLE: "15", LARGE: "40"}
# Runs that the kernel killed for lack of memory are reported and repeated, at most this many times.
KILLED_MAX = 3
LOAD_GOALS = {"rocksdb": 1.5, "fjall": 1.1}


def load(peer: str, home, enter) -> dict:
    """Random puts of a database of its own, timed, from the first to the last."""
    folder = peers.fresh(home / f"{peer}-load")
    flags = [*peers.options(peer, MEMTABLE, CACHE), "--workload", "fillrandom", "--records", str(LARGE), "--key-size", "16",
             "--value-size", str(VALUE_BYTES), "--dir", str(folder)]
    return peers.kv(flags, enter)


def compared(label: str, turns: dict, goals: dict) -> list:
    """Rows of ours beside each peer, with the p99.9 of each operation beside the rates."""
    tails, killed = {name: {} for name in turns}, dict.fromkeys(turns, 0)

    def rate(name: str) -> float:
        try:
            document = turns[name]()
        except peers.OutOfMemory:
            killed[name] += 1
            if killed[name] > KILLED_MAX:
                raise
            return rate(name)
        for operation, latency in document["latency_us"].items():
            if latency["p999"] is not None:
                tails[name].setdefault(operation, []).append(latency["p999"])
        return document["throughput"]["mean"]

    rates = bench.alternate({name: (lambda name=name: rate(name)) for name in turns}, PAIRS)
    tails = {name: {operation: bench.spread(values) for operation, values in of.items()} for name, of in tails.items()}
    rows = [bench.compare(f"{label}, {peer}", rates, "rlsm", peer, goal)
            | {"p999_us": {name: tails[name] for name in ("rlsm", peer)},
               "killed": {name: killed[name] for name in ("rlsm", peer)}} for peer, goal in goals.items()]
    for name, of in tails.items():
        figures = ", ".join(f"{operation} {figure['median']:,.0f}" for operation, figure in of.items())
        print(f"    {name}, p99.9 in µs: {figures}", flush=True)
    return rows


def flags_of(peer: str, label: str, records: int, threads: int, words: list, home) -> list:
    """Databases are kept from run to run, but where a run inserts or is to be the first."""
    keep = [] if "ycsb-e" in words or "at first" in label else ["--reuse"]
    warmup = WARMUP_TO_SORT[records] if "once sorted" in label else WARMUP
    folder = home / f"{peer}-{records}-{'seek' if 'seekrandom' in words else 'ycsb'}"
    return [*peers.options(peer, MEMTABLE, CACHE, "synced" in label), "--records", str(records), "--value-size",
            str(VALUE_BYTES), "--dir", str(folder), *words, "--threads", str(threads), "--load", "puts", *keep, "--warmup",
            warmup, "--seconds", SECONDS]


def main() -> None:
    home = peers.fresh(bench.ROOT / "manometer-data" / "rlsm")
    kept = []
    try:
        with peers.memory_limit(MEMORY) as enter:
            turns = {peer: (lambda peer=peer: load(peer, home, enter)) for peer in ("rlsm", *LOAD_GOALS)}
            kept += compared(f"random load of {LARGE:,}", turns, LOAD_GOALS)
            for peer in ("rlsm", *LOAD_GOALS):
                peers.shutil.rmtree(home / f"{peer}-load", ignore_errors=True)
            for label, records, threads, words, goals in WORKS:
                flags = {peer: flags_of(peer, label, records, threads, words, home) for peer in ("rlsm", *goals)}
                turns = {peer: (lambda words=words: peers.kv(words, enter)) for peer, words in flags.items()}
                kept += compared(label, turns, goals)
    finally:
        peers.shutil.rmtree(home, ignore_errors=True)
    bench.write("rlsm_speed", {"about": __doc__.strip(), "memory_bytes": MEMORY, "machine": bench.machine(bench.ROOT),
                               "results": kept})


if __name__ == "__main__":
    sys.exit(main())
