#!/usr/bin/env python3
"""YCSB C and A on the engine that answers at once: the client's own ceiling, one thread.

Latency histograms on, records of 1000 bytes, one million keys, exact Zipf. C and A alternate. YCSB-cpp
and YCSB (Java) reached 2.4 and 1.8 (C), 1.6 and 1.1 (A) million operations per second and thread on a
machine of this kind; they are not run again here.
"""

import json
import os
import platform
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BINARY = Path(os.environ.get("MANOMETER", TARGET / "release" / "manometer"))
SECONDS = int(os.environ.get("SECONDS_EACH", "5"))
ROUNDS = int(os.environ.get("PAIRS", "5"))
GOAL = 5_000_000


def kv(*flags: str) -> dict:
    """One run of `manometer kv`, as its JSON document."""
    command = [str(BINARY), "kv", *flags, "--format", "json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def machine() -> dict:
    """What a reader must know of the machine."""
    cpu = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
           if line.startswith("model name")]
    memory = Path("/proc/meminfo").read_text().splitlines()[0].split()[1]
    return {"cpu": cpu[0] if cpu else platform.processor(), "cores": os.cpu_count(), "kernel": platform.release(),
            "memory_kib": int(memory), "load_average": os.getloadavg()}


def spread(values: list) -> dict:
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "runs": len(values)}


def write(name: str, document: dict) -> None:
    path = ROOT / "benches" / "results" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"machine": machine(), **document}, indent=2) + "\n")
    print(f"written to {path.relative_to(ROOT)}")


def report(name: str, ours: str, theirs: str, rows: list, goal: float, about: str) -> None:
    """Prints and keeps a comparison; each row: label, our values, their values, ratios."""
    print(f"{'':34} {ours:>16} {theirs:>16} {'ratio':>7} {'spread':>15}")
    kept = []
    for label, a, b, ratios in rows:
        middle = statistics.median(ratios)
        verdict = "reached" if middle >= goal else "missed"
        print(f"{label:34} {statistics.median(a):16,.0f} {statistics.median(b):16,.0f} {middle:7.3f} "
              f"{min(ratios):7.3f}–{max(ratios):.3f}  goal {goal} {verdict}")
        kept.append({"label": label, "unit": "ops/s", ours: spread(a), theirs: spread(b), "ratio": spread(ratios),
                     "goal": goal, "reached": middle >= goal})
    write(name, {"about": about.strip(), "results": kept})


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
        kept.append({"label": workload, "unit": "ops/s", "manometer": spread(values), "goal": GOAL,
                     "reached": middle >= GOAL})
    write("kv_null", {"about": __doc__.strip(), "results": kept})


if __name__ == "__main__":
    main()
