#!/usr/bin/env python3
"""How fast traces are read, and in how much memory: oracleGeneral on one core, Twitter's CSV on two, by the clock on
the wall, from files that the page cache holds; then both at eight times the length.

ORACLE_GENERAL and TWITTER name traces of the reader's own, uncompressed. What is not named is made: a model is fitted
to 100,000 seeded requests for Zipf's keys and makes RECORDS of them (`manometer trace synthesise`).
"""

import json
import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

import bench

RECORDS = int(os.environ.get("RECORDS", "8000000"))
ROUNDS = int(os.environ.get("ROUNDS", "5"))
# Requests of the seeded trace, and its keys.
SEEDED, KEYS = 100_000, 50_000
LENGTHS = 8
# Records a second, on so many cores; and the memory at eight times the length, by that at once.
GOALS = {"oracle-general": (40_000_000, 1), "twitter": (10_000_000, 2)}
MEMORY_GOAL = 1.1


def build() -> str:
    """The program that reads and nothing else."""
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--package", "manometer-trace",
                    "--example", "read_speed"], check=True, cwd=bench.ROOT)
    return str(bench.TARGET / "release" / "examples" / "read_speed")


def seeded(path: Path) -> None:
    """Reads and writes of Zipf's keys, a thousand a second."""
    source = random.Random(1)
    keys = source.choices(range(KEYS), [1 / rank for rank in range(1, KEYS + 1)], k=SEEDED)
    commands = source.choices(["read", "update"], [9, 1], k=SEEDED)
    with path.open("w") as trace:
        for at_ms, (command, key) in enumerate(zip(commands, keys)):
            trace.write(f"{command},{key},{at_ms},{100 + key % 900}\n")


def made(folder: Path) -> Path:
    """A trace like the seeded one, in libCacheSim's form."""
    seed, trace = folder / "seed.txt", folder / "made.oracleGeneral"
    seeded(seed)
    subprocess.run([bench.BINARY, "trace", "synthesise", seed, trace, "--requests", str(RECORDS), "--format", "json"],
                   check=True, stdout=subprocess.DEVNULL)
    return trace


def as_twitter(folder: Path, trace: Path) -> Path:
    """The same as in Twitter's cache traces: time, key, sizes of key and value, client, operation, time to live."""
    csv, twitter = folder / "made.csv", folder / "made.twitter"
    subprocess.run([bench.BINARY, "trace", "convert", trace, csv], check=True, stdout=subprocess.DEVNULL)
    with csv.open() as lines, twitter.open("w") as out:
        columns = {name: at for at, name in enumerate(next(lines).rstrip("\n").split(","))}
        time, key, size = columns["time_ns"], columns["key"], columns["value_size"]
        for line in lines:
            cells = line.split(",")
            name = f"q:{int(cells[key]):020x}"
            out.write(f"{int(cells[time]) // 10**9},{name},{len(name)},{cells[size]},{int(cells[key]) % 77},get,0\n")
    csv.unlink()
    return twitter


def traces(folder: Path) -> dict:
    """The trace of each format: the reader's own, or made."""
    own = {"oracle-general": os.environ.get("ORACLE_GENERAL"), "twitter": os.environ.get("TWITTER")}
    found = {name: Path(path) for name, path in own.items() if path}
    if len(found) < len(own):
        trace = made(folder)
        found.setdefault("oracle-general", trace)
        if "twitter" not in found:
            found["twitter"] = as_twitter(folder, trace)
    return found


def longer(folder: Path, trace: Path) -> Path:
    """The trace eight times one behind the other: neither form has a head."""
    path = folder / f"longer-{trace.name}"
    with path.open("wb") as out:
        for _ in range(LENGTHS):
            with trace.open("rb") as once:
                shutil.copyfileobj(once, out, 1 << 20)
    return path


def read(program: str, name: str, trace: Path) -> dict:
    """Reads the trace once, in a process of its own, on as many cores as its goal is for."""
    cores = sorted(os.sched_getaffinity(0))[:GOALS[name][1]]
    if len(cores) < GOALS[name][1]:
        raise SystemExit(f"{name} is read on {GOALS[name][1]} cores, and there are only {len(cores)}")
    text = subprocess.run([program, str(trace)], check=True, stdout=subprocess.PIPE, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores)).stdout
    figures = json.loads(text)
    if figures["format"] != name:
        raise SystemExit(f"{trace} was taken for {figures['format']}: name a trace that is {name}")
    return figures


def speed(name: str, runs: list) -> dict:
    """Prints and keeps how many records a second were read."""
    goal, cores = GOALS[name]
    rate = bench.spread([run["records"] / run["seconds"] for run in runs])
    of_a_core = bench.spread([run["records"] / run["processor_s"] for run in runs])
    reached = rate["median"] >= goal
    print(f"{name:16} {rate['median'] / 1e6:7.1f} million records a second on {cores} "
          f"({rate['min'] / 1e6:.1f} to {rate['max'] / 1e6:.1f}), {of_a_core['median'] / 1e6:.1f} by processor time, "
          f"goal {goal / 1e6:.0f} {'reached' if reached else 'missed'}", flush=True)
    return {"label": f"{name}, {cores} core{'s' if cores > 1 else ''}", "unit": "records/s",
            "records": runs[0]["records"], "rate": rate, "by_processor_time": of_a_core, "goal": goal,
            "reached": reached}


def memory(name: str, once: list, longer_runs: list) -> dict:
    """Prints and keeps the most memory of a process that reads, at the one length and at eight times that."""
    one, eight = (bench.spread([run["peak_bytes"] for run in runs]) for runs in (once, longer_runs))
    ratio = eight["median"] / one["median"]
    print(f"{name:16} {one['median'] / 2**20:7.1f} MiB at most for {once[0]['records']:,} records, "
          f"{eight['median'] / 2**20:.1f} MiB for {longer_runs[0]['records']:,}: ratio {ratio:.3f}, goal {MEMORY_GOAL} "
          f"{'reached' if ratio <= MEMORY_GOAL else 'missed'}", flush=True)
    return {"label": f"{name}, peak memory", "unit": "bytes", "once": one, "eight_times": eight, "ratio": ratio,
            "goal": MEMORY_GOAL, "reached": ratio <= MEMORY_GOAL}


def main() -> None:
    if ROUNDS < 5:
        raise SystemExit(f"ROUNDS is {ROUNDS}: a spread needs at least 5")
    program, kept = build(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        once = traces(folder)
        for form, trace in once.items():
            read(program, form, trace)  # So that the page cache holds it.
        # In turn, so that what a busy host does to a round, it does to both.
        rounds = [{form: read(program, form, trace) for form, trace in once.items()} for _ in range(ROUNDS)]
        kept += [speed(form, [runs[form] for runs in rounds]) for form in once]
        for form, trace in once.items():
            eight = longer(folder, trace)
            longer_runs = [read(program, form, eight) for _ in range(ROUNDS)]
            kept.append(memory(form, [runs[form] for runs in rounds], longer_runs))
            eight.unlink()
    bench.write("trace_speed", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "results": kept})


if __name__ == "__main__":
    main()
