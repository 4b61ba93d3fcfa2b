#!/usr/bin/env python3
"""Caches on paper: the Python package beside `manometer cache`, in alternation, by processor time on one thread.

Same: the trace, the policies, the sizes. The package simulates the file, and an array of its keys that numpy has read
before; its time is that of the call, without Python's start and its imports, and the program's that of its process.
Ten million requests at three sizes: the million of Twitter's cluster 52 that TRACE names, ten times over disjoint keys.
PYTHON is the one that the package is installed for.
"""

import os
import subprocess
import tempfile
from pathlib import Path

import bench
from cache_vs_libcachesim import ROUNDS, TRACE, ours, repeated, versus

PYTHON = os.environ.get("PYTHON", "python3")
POLICIES = ["lru", "arc", "s3-fifo"]
CAPACITIES = [1_000, 10_000, 100_000]
GOAL = 0.95

SIMULATE = """
import sys, time, numpy, manometer
trace, what, policy, *capacities = sys.argv[1:]
keys = numpy.fromfile(trace, numpy.dtype("<u4, <u8, <u4, <i8"))["f1"].copy() if what == "array" else None
begin_s = time.process_time()
manometer.cache.simulate(trace if keys is None else keys, policy, [int(capacity) for capacity in capacities])
print(time.process_time() - begin_s)
"""


def from_python(trace: Path, what: str, policy: str) -> float:
    command = [PYTHON, "-c", SIMULATE, trace, what, policy, *map(str, CAPACITIES)]
    # A thread of numpy's that has nothing to do takes processor time as well.
    one_thread = os.environ | {"RAYON_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=one_thread).stdout)


def main() -> None:
    if not TRACE or not Path(TRACE).exists():
        raise SystemExit("TRACE is to name the sample of Twitter's cluster 52 (twitter_cluster52_1m.csv.zst)")
    results = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        trace = Path(scratch) / "twitter.oracleGeneral"
        simulated = repeated(Path(TRACE), trace) * len(CAPACITIES)
        for policy in POLICIES:
            for what in ("file", "array"):
                results.append(versus(f"{policy}, {what}, {len(CAPACITIES)} sizes", simulated, ROUNDS,
                                      lambda: from_python(trace, what, policy),
                                      lambda: ours(trace, [policy], CAPACITIES), GOAL, ("python", "manometer")))
        bench.write("cache_from_python", {"about": __doc__.strip(), "machine": bench.machine(Path(scratch)),
                                          "results": results})


if __name__ == "__main__":
    main()
