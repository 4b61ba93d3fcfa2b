#!/usr/bin/env python3
"""Paths looked up from their end against the same walk from the front, in one process; against stat(2); round trips of an
open over a Redis server; probes on a synthetic trace of an archive; memory per entry; the cost of a change of permission by
what lies below.

The archive is like that of Song 2018: 100,000 files eight to ten deep, twenty in a directory, 3,000,000 requests of readers who
read on where they are. Real trees: TREE names a folder, by default this repository's sources, which is read by find, du, tar
and git status as it is, through a FUSE mount without a cache and through one with (as root, with /dev/fuse).
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import bench

ROUNDS = os.environ.get("ROUNDS", "9")
TREE = Path(os.environ.get("TREE", bench.ROOT))
# Warm look-ups: depth 10 over depth 2, and the share of the time from the front at depth 7; bytes per entry over
# those of the walk from the front; probes from the front over those from the end.
GOALS = {"flat": 1.15, "depth 7": 0.4, "memory": 1.5, "probes": 7.0}
COMMANDS = {"find": "find . -type f | wc -l", "du": "du -s .", "tar": "tar cf - . | wc -c",
            "git status": "git status --short | wc -l"}


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
    rows = bench.run_json([program, "depth", ROUNDS, str(folder)])["rows"]
    median = {(row["what"], row["threads"], row["depth"]): row["median"] for row in rows}
    for what, threads in sorted({(row["what"], row["threads"]) for row in rows}):
        values = "  ".join(f"{median[what, threads, depth]:7.0f}" for depth in range(1, 11))
        print(f"{what:16} {threads} thread{'s' if threads > 1 else ' '} ns by depth: {values}", flush=True)
    flat = median["backwards", 1, 10] / median["backwards", 1, 2]
    share = median["backwards", 1, 7] / median["forwards", 1, 7]
    return [{"label": "look-ups by depth", "unit": "ns", "rows": rows},
            verdict("from the end, depth 10 over depth 2", flat, GOALS["flat"], flat <= GOALS["flat"]),
            verdict("from the end over from the front, depth 7", share, GOALS["depth 7"], share <= GOALS["depth 7"])]


def memory(program: str) -> list:
    figures = bench.run_json([program, "memory"])
    return [{"label": "memory", **figures},
            verdict("bytes per entry over those from the front", figures["ratio"], GOALS["memory"],
                    figures["ratio"] <= GOALS["memory"])]


def trace(program: str) -> list:
    figures = bench.run_json([program, "trace"])
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


def seconds(command: str, folder: Path) -> float:
    start = time.monotonic()
    subprocess.run(command, shell=True, check=True, cwd=folder, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def mounted(flags: list, tree: Path):
    """A mount of `tree`, and the process that serves it."""
    target = Path(tempfile.mkdtemp())
    server = subprocess.Popen([EXAMPLES / "mount", *flags, tree, target], stderr=subprocess.PIPE, text=True)
    server.stderr.readline()
    return target, server


def unmount(target: Path, server) -> None:
    subprocess.run(["umount", target], check=True)
    server.wait()
    target.rmdir()


def trees() -> list:
    """Seconds of ordinary programs: on the folder itself, through a mount that asks it, and through one with a cache."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        print("real trees: not measured, for FUSE needs root and /dev/fuse")
        return []
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        shutil.copytree(TREE, tree, symlinks=True, ignore=shutil.ignore_patterns("target", ".git"))
        subprocess.run("git init --quiet && git add --all", shell=True, check=True, cwd=tree)
        mounts = {"mount without a cache": mounted(["--no-cache"], tree), "mount with a cache": mounted([], tree)}
        folders = {"folder": tree, **{what: target for what, (target, _) in mounts.items()}}
        try:
            rows = []
            for what, command in COMMANDS.items():
                for folder in folders.values():
                    seconds(command, folder)
                runs = [{place: seconds(command, folder) for place, folder in folders.items()} for _ in range(5)]
                row = {place: bench.spread([run[place] for run in runs]) for place in folders}
                rows.append({"command": what, "unit": "s", **row})
                print(f"{what:12} " + ", ".join(f"{place} {row[place]['median']:.3f} s" for place in folders), flush=True)
        finally:
            for target, server in mounts.values():
                unmount(target, server)
        files = sum(len(files) for _, _, files in os.walk(tree))
    return [{"label": "real tree", "files": files, "rows": rows}]


def main() -> None:
    program = build()
    with tempfile.TemporaryDirectory() as name:
        kept = [*depths(program, Path(name)), *memory(program), *trace(program), *permission(program), *redis(program),
                *trees()]
    bench.write("backpath", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "results": kept})


if __name__ == "__main__":
    main()
