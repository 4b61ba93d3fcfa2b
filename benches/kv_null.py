#!/usr/bin/env python3
"""The generator alone, on the engine that answers at once: YCSB C and A, records of 1000 bytes, latency
histograms on.

Against YCSB (Java) of Maven Central on its basic binding, quiet, in alternation, one thread, one million records,
Zipf as each has it. Then two threads against one, and the memory that 10^9 records take. YCSB-cpp is quoted: it is
in no registry and not run here.
"""

import os
import re
import statistics
import subprocess

import bench
import rivals

SECONDS = os.environ.get("SECONDS_EACH", "5")
JAVA_OPERATIONS = 10_000_000
ROUNDS = bench.pairs()
RATE_GOAL, JAVA_GOAL, THREADS_GOAL, MEMORY_GOAL_MIB = 5_000_000, 3.0, 1.8, 64
# Quoted, not measured in this run: what YCSB-cpp reached on a machine of this kind.
YCSB_CPP = {"c": 2.4e6, "a": 1.6e6}
SHARES = {"c": ["readproportion=1", "updateproportion=0"], "a": ["readproportion=0.5", "updateproportion=0.5"]}


def ours(letter: str, threads: int) -> float:
    return bench.rate("--workload", f"ycsb-{letter}", "--engine", "null", "--records", "1000000",
                      "--threads", str(threads), "--seconds", SECONDS)


def java(letter: str) -> float:
    properties = ["recordcount=1000000", f"operationcount={JAVA_OPERATIONS}", "requestdistribution=zipfian",
                  "measurementtype=hdrhistogram", *SHARES[letter]]
    command = rivals.ycsb_java() + [word for text in properties for word in ("-p", text)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(re.search(r"^\[OVERALL\], Throughput\(ops/sec\), ([\d.]+)", text, re.M).group(1))


def memory_mib() -> float:
    """The most memory that a run over 10^9 records had resident."""
    command = [str(bench.BINARY), "kv", "--workload", "ycsb-a", "--engine", "null", "--records", "1000000000",
               "--seconds", "3", "--format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"`{' '.join(command)}` ended with status {process.returncode}")
    return usage.ru_maxrss / 1024


def main() -> None:
    kept = []
    for letter in ("c", "a"):
        rounds = bench.alternate({"manometer": lambda: ours(letter, 1), "YCSB (Java)": lambda: java(letter)}, ROUNDS)
        label = f"YCSB {letter.upper()} on nothing, 1 thread"
        kept.append(bench.compare(label, rounds, "manometer", "YCSB (Java)", JAVA_GOAL))
        middle = statistics.median(figures["manometer"] for figures in rounds)
        print(f"{'':36} goal {RATE_GOAL:,} ops/s {'reached' if middle >= RATE_GOAL else 'missed'}; "
              f"YCSB-cpp {YCSB_CPP[letter]:,.0f} (quoted, not measured here)")
        kept[-1] |= {"rate_goal": RATE_GOAL, "rate_reached": middle >= RATE_GOAL,
                     "quoted_not_measured": {"YCSB-cpp": YCSB_CPP[letter]}}
    rounds = bench.alternate({"2 threads": lambda: ours("c", 2), "1 thread": lambda: ours("c", 1)}, ROUNDS)
    kept.append(bench.compare("YCSB C on nothing, two threads", rounds, "2 threads", "1 thread", THREADS_GOAL))
    memory = memory_mib()
    verdict = "reached" if memory <= MEMORY_GOAL_MIB else "missed"
    print(f"{'memory of the generator, 10^9 keys':36} {memory:.1f} MiB, goal {MEMORY_GOAL_MIB} {verdict}")
    kept.append({"label": "memory of the generator, 10^9 keys", "unit": "MiB", "manometer": memory,
                 "goal": MEMORY_GOAL_MIB, "reached": memory <= MEMORY_GOAL_MIB})
    bench.write("kv_null", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "results": kept})


if __name__ == "__main__":
    main()
