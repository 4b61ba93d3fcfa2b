#!/usr/bin/env python3
"""Tiers on paper: how many simulated requests `manometer cache tier` answers in a second of one core's time.

By the processor time of the whole command, starting and reading the files included. Requests of the warm-up are
simulated as those after it are, and count.
"""

import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path

import bench

ARRANGEMENTS = Path(__file__).resolve().parent.parent / "arrangements"
CASES = [("1s", "read-4KiB"), ("1h", "write-4KiB"), ("dmcache-4s0-4h0", "read-4KiB"), ("bcache-1s-1h", "read-4KiB"),
         ("4s0", "oltp"), ("dmcache-4s0-4h0", "varmail"), ("4s0", "fileserver")]
GOAL, SCALE = 1_000_000, "4"


def requests_per_s(arrangement: str, workload: str) -> float:
    command = [bench.BINARY, "cache", "tier", ARRANGEMENTS / f"{arrangement}.toml", "--workload", workload, "--scale",
               SCALE, "--format", "json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True,
                          env=os.environ | {"RAYON_NUM_THREADS": "1"})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout)["results"][0]["simulated"] / taken_s


def main() -> None:
    results = []
    for arrangement, workload in CASES:
        figure = bench.spread([requests_per_s(arrangement, workload) for _ in range(bench.pairs())])
        reached = figure["median"] >= GOAL
        print(f"{arrangement}, {workload}: {figure['median']:,.0f} requests/s, goal {GOAL:,} "
              f"{'reached' if reached else 'missed'}")
        results.append({"label": f"{arrangement}, {workload}", "unit": "requests/s", "manometer": figure, "goal": GOAL,
                        "reached": reached})
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        bench.write("tier_speed", {"about": __doc__.strip(), "machine": bench.machine(Path(scratch)),
                                   "results": results})


if __name__ == "__main__":
    main()
