#!/usr/bin/env python3
"""Pipelined GET and SET on one Redis server: `manometer kv` beside redis-benchmark, in alternation.

Same: the server (Debian's, nothing kept on disk), two connections, 16 requests sent together, 100,000 keys, values
of 100 bytes. redis-benchmark drives its connections from one event loop and checks no value; manometer has a thread
for each, times every request and verifies every value.
"""

import re
import shutil
import subprocess

import bench
from kv_vs_go_ycsb import redis_server

KEYS = 100_000
VALUE_BYTES = 100
PIPELINE = 16
CONNECTIONS = 2
SECONDS = 4
PAIRS = bench.pairs()
GOAL = 1.0
WORKLOADS = {"GET": "readrandom", "SET": "overwrite"}


def theirs(port: int, command: str, requests: int) -> float:
    flags = ["-p", str(port), "-t", command.lower(), "-P", str(PIPELINE), "-c", str(CONNECTIONS), "-r", str(KEYS),
             "-d", str(VALUE_BYTES), "-n", str(requests), "-q"]
    text = subprocess.run(["redis-benchmark", *flags], check=True, capture_output=True, text=True).stdout
    return float(re.findall(rf"{command}: ([\d.]+) requests per second", text)[-1])


def ours(port: int, command: str, directory) -> float:
    return bench.rate(
        "--workload", WORKLOADS[command], "--engine", "redis", "--records", str(KEYS), "--key-size", "16",
        "--value-size", str(VALUE_BYTES), "--threads", str(CONNECTIONS), "--pipeline", str(PIPELINE),
        "--seconds", str(SECONDS), "--dir", str(directory), "--option", f"address=127.0.0.1:{port}",
        "--option", "flush=true")


def main() -> None:
    home = bench.ROOT / "manometer-data" / "bench"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    kept = []
    try:
        with redis_server(home) as port:
            for command in WORKLOADS:
                theirs(port, "SET", KEYS * 5)
                requests = int(theirs(port, command, 200_000) * SECONDS)
                turns = {"manometer": lambda: ours(port, command, home / "redis"),
                         "redis-benchmark": lambda: theirs_loaded(port, command, requests)}
                rounds = bench.alternate(turns, PAIRS)
                label = f"{command}, pipeline {PIPELINE}, {CONNECTIONS} connections"
                kept.append(bench.compare(label, rounds, "manometer", "redis-benchmark", GOAL))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    bench.write("kv_vs_redis_benchmark", {
        "about": __doc__.strip(), "redis": bench.version("redis-server", "--version"),
        "machine": bench.machine(bench.ROOT), "results": kept})


def theirs_loaded(port: int, command: str, requests: int) -> float:
    """Our run flushes the server: its keys are put there again first, so that every GET finds one."""
    if command == "GET":
        theirs(port, "SET", KEYS * 10)
    return theirs(port, command, requests)


if __name__ == "__main__":
    main()
