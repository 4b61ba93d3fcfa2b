#!/usr/bin/env python3
"""Caches on paper: the Python package beside `manometer cache`, in alternation, by processor time on one thread.

Same: the trace, the policies, the sizes. The package simulates the file, and an array of its keys that numpy has read
before; what Python takes to start, to import and to read is taken off. Ten million requests: the million of Twitter's
cluster 52 that TRACE names, ten times over disjoint keys. PYTHON is the one that the package is installed for.
"""

import os
import tempfile
from pathlib import Path

import bench
from cache_vs_libcachesim import CAPACITY, ROUNDS, TRACE, ours, processor_s, repeated, versus

PYTHON = os.environ.get("PYTHON", "python3")
POLICIES = ["lru", "arc", "s3-fifo"]
GOAL = 0.95

BEGIN = """
import sys, numpy, manometer
keys = numpy.fromfile(sys.argv[1], numpy.dtype("<u4, <u8, <u4, <i8"))["f1"].copy() if sys.argv[2] == "array" else None
"""
SIMULATE = BEGIN + """
requests = sys.argv[1] if keys is None else keys
print(manometer.cache.simulate(requests, sys.argv[3], int(sys.argv[4])).rows())
"""


def from_python(trace: Path, what: str, policy: str) -> float:
    one_thread = {"RAYON_NUM_THREADS": "1"}
    start_s = processor_s([PYTHON, "-c", BEGIN, trace, what], one_thread)
    return processor_s([PYTHON, "-c", SIMULATE, trace, what, policy, CAPACITY], one_thread) - start_s


def main() -> None:
    if not TRACE or not Path(TRACE).exists():
        raise SystemExit("TRACE is to name the sample of Twitter's cluster 52 (twitter_cluster52_1m.csv.zst)")
    results = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        trace = Path(scratch) / "twitter.oracleGeneral"
        requests = repeated(Path(TRACE), trace)
        for policy in POLICIES:
            for what in ("file", "array"):
                results.append(versus(f"{policy}, {what}, {CAPACITY:,} objects", requests, ROUNDS,
                                      lambda: from_python(trace, what, policy),
                                      lambda: ours(trace, [policy], [CAPACITY]), GOAL, ("python", "manometer")))
        bench.write("cache_from_python", {"about": __doc__.strip(), "machine": bench.machine(Path(scratch)),
                                          "results": results})


if __name__ == "__main__":
    main()
