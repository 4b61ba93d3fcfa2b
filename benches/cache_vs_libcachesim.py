#!/usr/bin/env python3
"""Caches on paper: `manometer cache` beside libCacheSim, in alternation, by the processor time from the file on disk to
the printed miss ratio.

Same: the trace in libCacheSim's own binary form, sizes in objects of one size each, one thread. libCacheSim runs in its
own loop, not through Python's hooks; what Python takes to start is taken off. Ten million requests: the million of
Twitter's cluster 52 that TRACE names, ten times over disjoint keys.
"""

import os
import resource
import struct
import subprocess
import tempfile
from pathlib import Path

import bench
import rivals

TRACE = os.environ.get("TRACE")
COPIES, ROUNDS = 10, bench.pairs()
CAPACITY = 100_000
# Ours, libCacheSim's, and how many times faster ours is to be.
SINGLE = [("lru", "LRU", 3), ("fifo", "FIFO", 3), ("arc", "ARC", 3), ("lirs", "LIRS", 3), ("mq", "MQ", 3),
          ("s3-fifo", "S3FIFO", 3), ("opt", "Belady", 3)]
MANY = [("lru", "LRU"), ("fifo", "FIFO"), ("arc", "ARC"), ("lirs", "LIRS"), ("mq", "MQ"), ("s3-fifo", "S3FIFO"),
        ("sieve", "Sieve"), ("clock", "Clock")]
MANY_CAPACITIES = [round(1_000 * 2 ** (step / 2)) for step in range(20)]
MANY_GOAL, CURVE_GOAL = 10, 8_000_000

THEIRS = """
import sys, libcachesim
trace, names, sizes = sys.argv[1], sys.argv[2].split(","), [int(size) for size in sys.argv[3].split(",")]
for name in names:
    for size in sizes:
        options = libcachesim.ReaderInitParam(ignore_obj_size=True)
        reader = libcachesim.TraceReader(trace, libcachesim.TraceType.ORACLE_GENERAL_TRACE, options)
        print(name, size, getattr(libcachesim, name)(size).process_trace(reader)[0])
"""


def repeated(sample: Path, path: Path) -> int:
    """Writes the sample ten times over disjoint keys, with the next accesses recomputed; returns how many requests."""
    lines = subprocess.run(["zstd", "-dc", sample], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [[int(field) for field in line.split(",")[:3]] for line in lines if not line.startswith("#")]
    following, last = [0] * len(rows), {}
    for at in range(len(rows) - 1, -1, -1):
        following[at] = last.get(rows[at][1])
        last[rows[at][1]] = at
    span, record = rows[-1][0] + 1, struct.Struct("<IQIq")
    with path.open("wb") as trace:
        for copy in range(COPIES):
            mask, begin = copy * 0x9E3779B97F4A7C15 % 2**64, copy * len(rows)
            trace.write(b"".join(
                record.pack(time + copy * span, key ^ mask, size, -1 if then is None else then + begin)
                for (time, key, size), then in zip(rows, following)))
    return COPIES * len(rows)


def processor_s(command: list, environment: dict | None = None) -> float:
    """The processor time that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=os.environ | (environment or {}))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ours(trace: Path, names: list, sizes: list) -> float:
    command = [bench.BINARY, "cache", "simulate", trace, "--policy", ",".join(names), "--capacity",
               ",".join(map(str, sizes))]
    return processor_s(command, {"RAYON_NUM_THREADS": "1"})


def theirs(python: Path, trace: Path, names: list, sizes: list) -> float:
    start_s = processor_s([python, "-c", "import libcachesim"])
    return processor_s([python, "-c", THEIRS, trace, ",".join(names), ",".join(map(str, sizes))]) - start_s


def versus(label: str, work: int, rounds: int, own, rival, goal: float, names=("manometer", "libCacheSim")) -> dict:
    turns = {names[0]: lambda: work / own(), names[1]: lambda: work / rival()}
    return bench.compare(label, bench.alternate(turns, rounds), *names, goal)


def main() -> None:
    if not TRACE or not Path(TRACE).exists():
        raise SystemExit("TRACE is to name the sample of Twitter's cluster 52 (twitter_cluster52_1m.csv.zst)")
    python = rivals.libcachesim()
    results = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        trace = Path(scratch) / "twitter.oracleGeneral"
        requests = repeated(Path(TRACE), trace)
        for own, rival, goal in SINGLE:
            results.append(versus(f"{own}, {CAPACITY:,} objects", requests, ROUNDS,
                                  lambda: ours(trace, [own], [CAPACITY]),
                                  lambda: theirs(python, trace, [rival], [CAPACITY]), goal))
        names, rival_names = [name for name, _ in MANY], [name for _, name in MANY]
        work = requests * len(MANY) * len(MANY_CAPACITIES)
        results.append(versus(f"{len(MANY)} policies x {len(MANY_CAPACITIES)} sizes", work, 1,
                              lambda: ours(trace, names, MANY_CAPACITIES),
                              lambda: theirs(python, trace, rival_names, MANY_CAPACITIES), MANY_GOAL))
        curve = [requests / processor_s([bench.BINARY, "cache", "curve", trace]) for _ in range(ROUNDS)]
        figure = bench.spread(curve)
        reached = figure["median"] >= CURVE_GOAL
        print(f"exact LRU curve: {figure['median']:,.0f} requests/s ({min(curve):,.0f} to {max(curve):,.0f}), goal "
              f"{CURVE_GOAL:,} {'reached' if reached else 'missed'}")
        results.append({"label": "exact LRU curve", "unit": "requests/s", "manometer": figure, "goal": CURVE_GOAL,
                        "reached": reached})
        bench.write("cache_vs_libcachesim", {"about": __doc__.strip(), "machine": bench.machine(Path(scratch)),
                                             "libcachesim": rivals.LIBCACHESIM, "results": results})


if __name__ == "__main__":
    main()
