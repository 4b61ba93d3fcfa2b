#!/usr/bin/env python3
"""Whether the intervals of sampled curves cover, and what a sample costs: `manometer cache curve` of the five traces of
the cache crate's tests in the directory DATA, exact and sampled, with several seeds.

A point is covered if the exact miss ratio at its capacity is within its `error`. Costs are processor seconds from the
file on disk to the printed curve, of the exact curve and of each sample of LRU, in alternation.
"""

import json
import os
import resource
import subprocess

import bench

DATA = os.environ.get("DATA", bench.ROOT.parent / "shared" / "data")
TRACES = ["twitter_cluster52_1m.csv.zst", "cloudPhysicsIO.vscsi", "arc_traces/OLTP.lis.zst", "arc_traces/P3.lis.zst",
          "caffeine_traces/cache2k_orm-busy.trace.xz"]
SAMPLES = {"rate 0.5": ["--rate", "0.5"], "rate 0.1": ["--rate", "0.1"], "rate 0.01": ["--rate", "0.01"],
           "rate 0.001": ["--rate", "0.001"], "8192 keys": ["--samples", "8192"]}
POLICIES = {"lru": "lru", "others": "arc,s3-fifo"}
# The points of one sample are off together: how often intervals cover shows over samples.
SEEDS = {kind: range(1, int(os.environ.get("SEEDS", most)) + 1) for kind, most in [("lru", 20), ("others", 4)]}
COST_SEEDS = 3


def curves(trace: str, policies: str, sample: list) -> tuple[dict, float]:
    """The points of each policy by capacity, and the processor seconds."""
    command = [str(bench.BINARY), "cache", "curve", f"{DATA}/traces/{trace}", "--policy", policies, "--format", "json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    document = json.loads(subprocess.run(command + sample, check=True, capture_output=True, text=True).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    listed = document.get("curves", [document])
    points = {curve["policy"]: {point["capacity"]: point for point in curve["points"]} for curve in listed}
    return points, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def judged(exact: dict, sampled: dict) -> dict:
    """How many estimated points are covered, how far they are off, and how wide their intervals are."""
    estimates = [(abs(point["miss_ratio"] - exact[policy][capacity]["miss_ratio"]), point.get("error"))
                 for policy, points in sampled.items() for capacity, point in points.items()
                 if point.get("error") is not None and capacity in exact[policy]]
    errors = sorted(error for _, error in estimates)
    return {"points": len(estimates), "covered": sum(off <= error + 1e-12 for off, error in estimates),
            "largest_off": max((off for off, _ in estimates), default=0.0),
            "median_error": errors[len(errors) // 2] if errors else None, "largest_error": max(errors, default=0.0)}


def main() -> None:
    rows, costs = [], []
    for trace in TRACES:
        for kind, policies in POLICIES.items():
            full = [] if kind == "lru" else ["--rate", "1"]
            exact, exact_s = curves(trace, policies, full)
            for sample, flags in SAMPLES.items():
                for seed in SEEDS[kind]:
                    sampled, sampled_s = curves(trace, policies, [*flags, "--seed", str(seed)])
                    rows.append({"trace": trace, "policies": policies, "sample": sample, "seed": seed,
                                 **judged(exact, sampled)})
                    if kind == "lru" and seed <= COST_SEEDS:
                        _, again_s = curves(trace, policies, full)
                        costs.append({"trace": trace, "sample": sample, "seed": seed, "ratio": sampled_s / again_s})
    summary = []
    for policies in POLICIES.values():
        for sample in SAMPLES:
            some = [row for row in rows if (row["policies"], row["sample"]) == (policies, sample) and row["points"]]
            points, covered = (sum(row[name] for row in some) for name in ("points", "covered"))
            shares = {trace: sum(row["covered"] for row in some if row["trace"] == trace)
                      / sum(row["points"] for row in some if row["trace"] == trace)
                      for trace in TRACES if any(row["trace"] == trace for row in some)}
            summary.append({"policies": policies, "sample": sample, "points": points,
                            "covered": covered / points if points else None,
                            "covered_by_trace": {trace: round(share, 3) for trace, share in shares.items()},
                            "largest_off": max((row["largest_off"] for row in some), default=0.0),
                            "median_error": sorted(row["median_error"] for row in some)[len(some) // 2] if some else None,
                            "largest_error": max((row["largest_error"] for row in some), default=0.0)})
            print(summary[-1], flush=True)
    cost = {sample: bench.spread([row["ratio"] for row in costs if row["sample"] == sample]) for sample in SAMPLES}
    print(cost)
    bench.write("cache_sampling", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "seeds": {kind: len(seeds) for kind, seeds in SEEDS.items()},
                                   "summary": summary, "processor_time_to_exact": cost, "runs": rows, "costs": costs})


if __name__ == "__main__":
    main()
