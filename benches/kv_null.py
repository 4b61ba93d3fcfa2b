#!/usr/bin/env python3
"""YCSB C and A on the engine that answers at once: the client's own ceiling, one thread.

Latency histograms on, records of 1000 bytes, one million keys, exact Zipf. C and A alternate. The figures of
YCSB-cpp and YCSB (Java) are quoted: they are not run here.
"""

import os
import statistics

import bench
from bench import spread

SECONDS = int(os.environ.get("SECONDS_EACH", "5"))
ROUNDS = bench.pairs()
GOAL = 5_000_000
# Quoted, not measured in this run: what YCSB-cpp and YCSB (Java) reached on a machine of this kind.
QUOTED = {"ycsb-c": {"YCSB-cpp": 2.4e6, "YCSB (Java)": 1.8e6}, "ycsb-a": {"YCSB-cpp": 1.6e6, "YCSB (Java)": 1.1e6}}


def kv(*flags: str) -> dict:
    """One run of `manometer kv`, as its JSON document."""
    return bench.run_json([str(bench.BINARY), "kv", *flags, "--format", "json"])


def main() -> None:
    rates = {"ycsb-c": [], "ycsb-a": []}
    for _ in range(ROUNDS):
        for workload, values in rates.items():
            document = kv("--workload", workload, "--engine", "null", "--records", "1000000", "--threads", "1",
                          "--seconds", str(SECONDS))
            values.append(document["throughput"]["mean"])
    kept = []
    print(f"{'null engine, 1 thread':24} {'median ops/s':>14} {'min':>12} {'max':>12}")
    for workload, values in rates.items():
        middle = statistics.median(values)
        verdict = "reached" if middle >= GOAL else "missed"
        print(f"{workload:24} {middle:14,.0f} {min(values):12,.0f} {max(values):12,.0f}  goal {GOAL:,} {verdict}")
        for rival, rate in QUOTED[workload].items():
            print(f"    {rival} {rate:,.0f} (quoted, not measured here): ratio {middle / rate:.1f}")
        kept.append({"label": workload, "quoted_not_measured": QUOTED[workload], "unit": "ops/s", "manometer": spread(values), "goal": GOAL,
                     "reached": middle >= GOAL})
    bench.write("kv_null", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "results": kept})


if __name__ == "__main__":
    main()
