#!/usr/bin/env python3
"""Paths looked up from their end against the same walk from the front, in one process; against stat(2); round trips of an
open over a Redis server; probes on a path trace; memory per entry; the cost of a change of permission by what lies below. The
trace is that of `manometer trace synthesise --paths`, with the character of that of Song 2018: 3,000,000 accesses to 100,000
files eight to ten deep, twenty in a directory, nine of ten in the directory of the one before.

Real trees: find, du, tar and git status on a folder as it is, through a FUSE mount without a cache of paths, and through one
with (as root, with /dev/fuse). The kernel's caches are warm; it keeps answers of a mount for one second. Each place has a git
index of its own, since git compares inode numbers.

    benches/backpath.py                      everything, and a clone of this repository as real tree
    benches/backpath.py depth memory         these parts: depth, memory, trace, permission, redis
    benches/backpath.py linux=/src/linux     this real tree, a git repository; COMMANDS=find,du only these, ROUNDS=5

What was measured before of other parts stays in the results, with the load of the machine at its time.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench

ROUNDS = int(os.environ.get("ROUNDS", "9"))
# Warm look-ups: the slowest depth from 2 to 10 over the fastest, and the share of the time from the front at depth 7;
# bytes per entry over those of the walk from the front; probes from the front over those from the end.
GOALS = {"flat": 1.15, "depth 7": 0.4, "memory": 1.5, "probes": 7.0}
COMMANDS = {"find": "find . -type f | wc -l", "du": "du -s .", "tar": "tar cf - . | wc -c",
            "git status": "git status --short | wc -l"}
PLACES = {"folder": None, "mount without a cache": ["--no-cache"], "mount with a cache": []}
EXAMPLES = bench.TARGET / "release" / "examples"


def build() -> str:
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--package", "backpath", "--features", "fuse,redis",
                    "--example", "lookups", "--example", "mount"], check=True, cwd=bench.ROOT)
    return str(EXAMPLES / "lookups")


def verdict(label: str, value: float, goal: float, reached: bool) -> dict:
    print(f"{label:60} {value:8.3f}, goal {goal} {'reached' if reached else 'missed'}", flush=True)
    return {"label": label, "value": value, "goal": goal, "reached": reached}


def depths(program: str, folder: Path) -> list:
    """Nanoseconds by depth, and what the goals say of the medians."""
    rows = bench.run_json([program, "depth", str(ROUNDS), str(folder)])["rows"]
    median = {(row["what"], row["threads"], row["depth"]): row["median"] for row in rows}
    for what, threads in sorted({(row["what"], row["threads"]) for row in rows}):
        values = "  ".join(f"{median[what, threads, depth]:7.0f}" for depth in range(1, 11))
        print(f"{what:16} {threads} thread{'s' if threads > 1 else ' '} ns by depth: {values}", flush=True)
    warm = [median["backwards", 1, depth] for depth in range(2, 11)]
    flat = max(warm) / min(warm)
    share = median["backwards", 1, 7] / median["forwards", 1, 7]
    return [{"label": "look-ups by depth", "unit": "ns", "rows": rows},
            verdict("from the end, slowest over fastest depth, 2 to 10", flat, GOALS["flat"], flat <= GOALS["flat"]),
            verdict("from the end over from the front, depth 7", share, GOALS["depth 7"], share <= GOALS["depth 7"])]


def path_trace(folder: Path) -> str:
    """The file of the path trace that `trace` and `memory` read."""
    file = folder / "paths.parquet"
    if not file.exists():
        subprocess.run([bench.BINARY, "trace", "synthesise", "--paths", file], check=True, stdout=subprocess.DEVNULL)
    return str(file)


def memory(program: str, paths: str) -> list:
    figures = bench.run_json([program, "memory", paths])
    return [{"label": "memory", **figures},
            verdict("bytes per entry over those from the front", figures["ratio"], GOALS["memory"],
                    figures["ratio"] <= GOALS["memory"])]


def trace(program: str, paths: str) -> list:
    figures = bench.run_json([program, "trace", paths])
    ratio = figures["probes_ratio"]
    return [{"label": "trace", **figures},
            verdict("probes from the front over those from the end", ratio, GOALS["probes"], ratio >= GOALS["probes"])]


def permission(program: str) -> list:
    rows = bench.run_json([program, "permission"])["rows"]
    for row in rows:
        print(f"a change above {row['below']:7,} paths: {row['epoch_ns']:9,.0f} ns by epoch, {row['walk_ns']:11,.0f} ns by "
              "the walk of Song 2018", flush=True)
    return [{"label": "change of permission", "unit": "ns", "rows": rows}]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def redis(program: str) -> list:
    port = free_port()
    server = subprocess.Popen(["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", ""],
                              stdout=subprocess.DEVNULL)
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        rows = bench.run_json([program, "redis", f"redis://127.0.0.1:{port}"])["rows"]
    finally:
        server.kill()
        server.wait()
    for row in rows:
        print(f"Redis, depth {row['depth']:2}, {row['what']:16} {row['round_trips']:5.1f} round trips {row['us']:8.1f} µs",
              flush=True)
    return [{"label": "opens over Redis", "rows": rows}]


class Place:
    """A tree as it is, or through a mount, with a git index of its own."""

    def __init__(self, tree: Path, flags, scratch: Path):
        self.server, self.folder = None, tree
        index = scratch / "index"
        shutil.copy(tree / ".git" / "index", index)
        self.environment = {**os.environ, "GIT_INDEX_FILE": str(index)}
        if flags is not None:
            self.folder = scratch / "target"
            self.folder.mkdir()
            self.server = subprocess.Popen([EXAMPLES / "mount", *flags, tree, self.folder], stderr=subprocess.PIPE, text=True)
            self.server.stderr.readline()

    def seconds(self, command: str) -> float:
        start = time.monotonic()
        subprocess.run(command, shell=True, check=True, cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL)
        return time.monotonic() - start

    def end(self) -> str:
        """Unmounts; returns what the mount counted."""
        if self.server is None:
            return ""
        subprocess.run(["umount", self.folder], check=True)
        return self.server.communicate()[1].strip()


def tree(name: str, folder: Path) -> list:
    """Seconds of ordinary programs on the directory itself, through a mount without a cache, and through one with a cache."""
    rows = []
    files = sum(len(files) for _, _, files in os.walk(folder))
    for what in os.environ.get("COMMANDS", ",".join(COMMANDS)).split(","):
        with tempfile.TemporaryDirectory() as scratch:
            places = {}
            try:
                for place, flags in PLACES.items():
                    (Path(scratch) / place).mkdir()
                    places[place] = Place(folder, flags, Path(scratch) / place)
                for place in places.values():
                    place.seconds(COMMANDS[what])
                runs = [{place: one.seconds(COMMANDS[what]) for place, one in places.items()} for _ in range(ROUNDS)]
            finally:
                counted = {place: one.end() for place, one in places.items()}
        row = {place: bench.spread([run[place] for run in runs]) for place in places}
        rows.append({"tree": name, "files": files, "command": what, "unit": "s", **row, "counted": counted})
        print(f"{name:12} {what:12} " + ", ".join(
            f"{place} {row[place]['median']:.3f} ({row[place]['min']:.3f} to {row[place]['max']:.3f}) s" for place in row), flush=True)
        print(f"{'':25} " + "; ".join(f"{place}: {text}" for place, text in counted.items() if text), flush=True)
    return rows


def clone(folder: Path) -> Path:
    """This repository, cloned."""
    subprocess.run(["git", "clone", "--quiet", bench.ROOT, folder / "clone"], check=True)
    return folder / "clone"


def trees(arguments: list, folder: Path) -> list:
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        print("real trees: not measured, for FUSE needs root and /dev/fuse")
        return []
    named = [argument.split("=", 1) for argument in arguments] or [["manometer", clone(folder)]]
    return [row for name, path in named for row in tree(name, Path(path).resolve())]


PARTS = {"depth": depths, "memory": memory, "trace": trace, "permission": permission, "redis": redis}


def measure(part: str, program: str, folder: Path) -> list:
    match part:
        case "depth":
            return depths(program, folder)
        case "memory" | "trace":
            return PARTS[part](program, path_trace(folder))
        case _:
            return PARTS[part](program)


def main() -> None:
    program = build()
    wanted = sys.argv[1:] or [*PARTS, "manometer"]
    path = bench.ROOT / "benches" / "results" / "backpath.json"
    kept = json.loads(path.read_text()).get("parts", {}) if path.exists() else {}
    machine = bench.machine(bench.ROOT)
    with tempfile.TemporaryDirectory() as name:
        for part in [part for part in wanted if part in PARTS]:
            kept[part] = {"load_average": os.getloadavg()[0], "results": measure(part, program, Path(name))}
        others = [part for part in wanted if part not in PARTS]
        for row in trees([one for one in others if "=" in one], Path(name)) if others else []:
            kept[f"{row['tree']}: {row['command']}"] = {"load_average": os.getloadavg()[0], "results": [row]}
    bench.write("backpath", {"about": __doc__.strip(), "machine": machine, "parts": kept})


if __name__ == "__main__":
    main()
