#!/usr/bin/env python3
"""YCSB A, B, C and F on Redis and on SQLite: `manometer kv` beside go-ycsb, in alternation.

Same: the Redis server and its settings (Debian's, nothing kept on disk), the SQLite settings (WAL, synchronous =
NORMAL: those of go-ycsb, whose driver sets them), 100,000 records of ten fields of 100 bytes, uniform choice, updates of whole records, threads. Each tool
loads its own database, for each stores a record its own way: manometer as one value of 1,000 bytes, go-ycsb in
Redis as one JSON text (its `string` type) and in SQLite as ten columns.
"""

import os
import re
import shutil
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

import bench
import rivals

RECORDS = 100_000
SECONDS = int(os.environ.get("SECONDS_EACH", "4"))
PAIRS = bench.pairs()
THREADS = {"redis": 2, "sqlite": 1}
GOAL = 1.5
SHARES = {
    "a": ["readproportion=0.5", "updateproportion=0.5"],
    "b": ["readproportion=0.95", "updateproportion=0.05"],
    "c": ["readproportion=1", "updateproportion=0"],
    "f": ["readproportion=0.5", "updateproportion=0", "readmodifywriteproportion=0.5"],
}
UNITS = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "µs": 1e-6, "us": 1e-6}


@contextmanager
def redis_server(folder: Path):
    """A Redis server of our own on a free port of the loopback address, which keeps nothing on disk."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", "",
               "--appendonly", "no"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        ping = ["redis-cli", "-p", str(port), "ping"]
        while subprocess.run(ping, capture_output=True).returncode != 0:
            if server.poll() is not None:
                raise SystemExit(f"redis-server ended with status {server.returncode}")
        yield port
    finally:
        server.terminate()
        server.wait()


def seconds_of(text: str) -> float:
    """Reads a duration as Go prints it, such as `1m2.5s`."""
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+)(ms|µs|us|h|m|s)", text))


class GoYcsb:
    """go-ycsb on one engine, loaded once."""

    def __init__(self, engine: str, properties: list):
        self.engine = engine
        self.properties = [f"recordcount={RECORDS}", f"threadcount={THREADS[engine]}", "requestdistribution=uniform",
                           "writeallfields=true", "workload=core", *properties]
        # Grown after each run to last as long as ours.
        self.operations = 20_000
        self.run("load", [])

    def run(self, phase: str, properties: list) -> str:
        command = [str(rivals.go_ycsb()), phase, self.engine]
        command += [word for text in self.properties + properties for word in ("-p", text)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def rate(self, letter: str) -> float:
        text = self.run("run", [*SHARES[letter], f"operationcount={self.operations}"])
        took_s = seconds_of(re.search(r"Run finished, takes (\S+)", text).group(1))
        rate = self.operations / took_s
        self.operations = max(1000, int(rate * SECONDS))
        return rate


def ours(engine: str, letter: str, options: list, directory: Path) -> float:
    return bench.rate(
        "--workload", f"ycsb-{letter}", "--engine", engine, "--records", str(RECORDS), "--distribution", "uniform",
        "--threads", str(THREADS[engine]), "--seconds", str(SECONDS), "--dir", str(directory), "--reuse",
        *(word for option in options for word in ("--option", option)))


def compare_all(engine: str, properties: list, options: list, directory: Path) -> list:
    theirs = GoYcsb(engine, properties)
    kept = []
    for letter in SHARES:
        turns = {"manometer": lambda: ours(engine, letter, options, directory), "go-ycsb": lambda: theirs.rate(letter)}
        # The first of go-ycsb's runs finds out how many operations fill the time.
        theirs.rate(letter)
        rounds = bench.alternate(turns, PAIRS)
        label = f"YCSB {letter.upper()} on {engine}, {THREADS[engine]} thread(s)"
        kept.append(bench.compare(label, rounds, "manometer", "go-ycsb", GOAL))
    return kept


def main() -> None:
    home = bench.ROOT / "manometer-data" / "bench"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    try:
        with redis_server(home) as port:
            # Two databases of one server: each tool has its own.
            properties = [f"redis.addr=127.0.0.1:{port}", "redis.datatype=string", "redis.db=1"]
            kept = compare_all("redis", properties, [f"address=127.0.0.1:{port}"], home / "redis")
        properties = [f"sqlite.db={home / 'theirs.db'}", "sqlite.journalmode=WAL"]
        kept += compare_all("sqlite", properties, ["journal_mode=WAL", "synchronous=NORMAL"], home / "sqlite")
    finally:
        shutil.rmtree(home, ignore_errors=True)
    bench.write("kv_vs_go_ycsb", {"about": __doc__.strip(), "go_ycsb": rivals.GO_YCSB,
                                  "machine": bench.machine(bench.ROOT), "results": kept})


if __name__ == "__main__":
    main()
