#!/usr/bin/env python3
"""How exactly a replay keeps its trace's times, on the engine that answers at once: Poisson arrivals at 1,000, 5,000 and
100,000 requests a second, the densest twenty seconds of a recorded bursty block trace with nanosecond times at the
recorded speed, ten processes that share a trace, the same while other work keeps every core busy, and the highest rate
at full speed.

The recorded trace is read where TRACES says (a folder with linux-webserver-2.load.gz of blkreplay's loads) and left
out, with a word, where it is not. KV-replay's figures are quoted from its thesis, not measured here.
"""

import gzip
import os
import random
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import bench

SECONDS = float(os.environ.get("SECONDS_EACH", "10"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
TRACES = os.environ.get("TRACES")
RECORDED, DENSEST_S, DENSE_SECONDS = "linux-webserver-2.load.gz", 1082.1, 20
FULL_REQUESTS = int(os.environ.get("FULL_REQUESTS", "20000000"))
P50_GOAL_US, SPAN_GOAL, KS_GOAL, FULL_GOAL = 2.0, 0.0005, 0.01, 3_000_000
QUOTED = {"one host, ten clients": {"p50_us": 1_360, "p90_us": 3_600}, "ten hosts": {"p50_us": 2_040, "p90_us": 5_500}}


def poisson(path: Path, rate: float, seconds: float) -> None:
    """A trace of reads, in nanoseconds since its start."""
    source, at_s = random.Random(1), 0.0
    with path.open("w") as trace:
        while (at_s := at_s + source.expovariate(rate)) < seconds:
            trace.write(f"read,{source.randrange(100_000)},{round(at_s * 1e9)},\n")


def oracle_general(path: Path, requests: int) -> None:
    """A trace in libCacheSim's binary records: what is decoded fastest."""
    source = random.Random(2)
    record = struct.Struct("<IQIq")
    block = b"".join(record.pack(0, source.randrange(1_000_000), 100, -1) for _ in range(100_000))
    with path.open("wb") as trace:
        for _ in range(requests // 100_000):
            trace.write(block)


def burst(path: Path, recorded: Path) -> None:
    """The densest seconds of a trace of blkreplay's, with its head."""
    with gzip.open(recorded, "rt") as lines, path.open("w") as trace:
        for line in lines:
            try:
                at_s = float(line.split(";")[0])
            except ValueError:
                trace.write(line)
                continue
            if DENSEST_S <= at_s < DENSEST_S + DENSE_SECONDS:
                trace.write(line)


def replay(trace: Path, *flags: str) -> dict:
    command = [str(bench.BINARY), "replay", str(trace), "--engine", "null", *flags, "--format", "json"]
    return bench.run_json(command)


def rounds(label: str, trace: Path, p99_goal_us: float, *flags: str) -> dict:
    """Replays several times; prints and keeps the middle and the spread of each figure."""
    runs = [replay(trace, *flags)["fidelity"] for _ in range(ROUNDS)]
    figures = {f"{name}_us": bench.spread([run["error_us"][name] for run in runs])
               for name in ("p50", "p90", "p99", "max")}
    figures["span_error"] = bench.spread([abs(run["span_ratio"] - 1) for run in runs])
    figures["ks"] = bench.spread([run["ks"] for run in runs])
    hurst = [run["hurst"] for run in runs][0]
    middle = {name: figure["median"] for name, figure in figures.items()}
    reached = (middle["p50_us"] <= P50_GOAL_US and middle["p99_us"] <= p99_goal_us
               and middle["span_error"] <= SPAN_GOAL and middle["ks"] <= KS_GOAL)
    print(f"{label:34} p50 {middle['p50_us']:8.2f}  p90 {middle['p90_us']:8.2f}  p99 {middle['p99_us']:9.2f} µs, "
          f"span off by {middle['span_error']:.5f}, KS {middle['ks']:.4f}: goal p99 {p99_goal_us:g} µs "
          f"{'reached' if reached else 'missed'}", flush=True)
    return {"label": label, **figures, "hurst": hurst, "late": bench.spread([run["late"] for run in runs]),
            "requests": runs[0]["error_us"]["samples"], "p99_goal_us": p99_goal_us, "reached": reached}


def busy(work):
    """Does `work` while a program of ours keeps every core busy."""
    command = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
    try:
        return work()
    finally:
        for other in others:
            other.kill()
            other.wait()


def full_speed(folder: Path) -> dict:
    trace = folder / "full.oracleGeneral.bin"
    oracle_general(trace, FULL_REQUESTS)
    flags = ["--model", "closed-conservative", "--time", "full"]
    rates = [replay(trace, *flags)["throughput"]["mean"] for _ in range(ROUNDS)]
    middle = statistics.median(rates)
    verdict = "reached" if middle >= FULL_GOAL else "missed"
    print(f"{'full speed, 1 thread':34} {middle:,.0f} ops/s ({min(rates):,.0f} to {max(rates):,.0f}), "
          f"goal {FULL_GOAL:,} {verdict}", flush=True)
    return {"label": "full speed, 1 thread", "unit": "ops/s", "rate": bench.spread(rates), "goal": FULL_GOAL,
            "reached": middle >= FULL_GOAL}


def main() -> None:
    kept = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ns = ["--time-unit", "ns"]
        for rate, p99_goal_us in ((1_000, 60), (5_000, 60), (100_000, 100)):
            trace = folder / f"poisson-{rate}.txt"
            poisson(trace, rate, SECONDS)
            kept.append(rounds(f"Poisson, {rate:,} a second", trace, p99_goal_us, *ns))
        five = folder / "poisson-5000.txt"
        kept.append(rounds("the same at 5,000, 10 processes", five, 60, *ns, "--processes", "10"))
        kept.append(busy(lambda: rounds("the same at 5,000, busy machine", five, 60, *ns)))
        recorded = Path(TRACES or ".") / RECORDED
        if TRACES and recorded.exists():
            trace = folder / "burst.load"
            burst(trace, recorded)
            kept.append(rounds("recorded, bursty (linux-webserver-2)", trace, 60))
        else:
            print(f"recorded, bursty: left out, TRACES names no folder with {RECORDED}")
        kept.append(full_speed(folder))
    bench.write("replay_clock", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "results": kept,
                                 "quoted_not_measured": {"KV-replay": QUOTED}})


if __name__ == "__main__":
    main()
