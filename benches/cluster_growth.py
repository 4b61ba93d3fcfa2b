#!/usr/bin/env python3
"""How a cluster grows on one machine: what a run costs beyond its measured time, how far apart clients begin and what adding
up their samples costs, a trace of a billion requests on several workers, and a thousand hosts that do nothing. PARTS names the
parts. Needs the Python package and the program: PATH, MANOMETER_PROGRAM."""

import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import bench

PARTS = os.environ.get("PARTS", "runs,clients,trace,hosts").split(",")
COUNTS = [int(count) for count in os.environ.get("COUNTS", "1,2,4,8,16").split(",")]
MODULE = [sys.executable, "-m", "manometer.cluster"]
EXPERIMENT = """
name = "growth"
interval = "100ms"
[device]
directory = "data"
[primary]
engine = "null"
workload = "ycsb-b"
records = 1000
rate = 1000
{more}
[[neighbour]]
name = "writer"
kind = "io"
file_size = "1MiB"
rate = "10/s"
[plan]
phase = "{phase}"
"""


def program() -> str:
    from manometer._program import program as find
    return find()


def until(what):
    while not (found := what()):
        time.sleep(0.05)
    return found


class Cluster:
    """A scheduler and hosts of this machine, each with a device of its own and locks of its own."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        from manometer import cluster
        self.home, self.stack = home, stack
        self.security = ["--security", str(cluster.initialise(home / "certificates"))]
        log = self.start("scheduler", [*MODULE, "scheduler", "--listen", "127.0.0.1:0", *self.security])
        self.address = until(lambda: re.search(r"at (tls://\S+)", log.read_text()))[1]

    def start(self, name: str, words: list[str]) -> Path:
        log = self.home / f"{name}.log"
        locks = self.home / f"{name}.locks"
        locks.mkdir()
        environment = {**os.environ, "MANOMETER_LOCK_DIRECTORY": str(locks)}
        with log.open("w") as file:
            process = subprocess.Popen(words, stdout=file, stderr=file, env=environment)
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        return log

    def host(self, number: int) -> None:
        (directory := self.home / f"disk-{number}").mkdir()
        words = ["host", "--scheduler", self.address, "--name", f"host-{number}", "--listen", "127.0.0.1"]
        log = self.start(f"host-{number}", [*MODULE, *words, "--device", f"disk={directory}", *self.security])
        until(lambda: "host host-" in log.read_text())


def measured_s(recording: Path) -> float:
    """From the first to the last event of a recording."""
    times = [json.loads(line)["t_ns"] for line in (recording / "events.jsonl").read_text().splitlines()]
    return (max(times) - min(times)) / 1e9


def grow_runs() -> list[dict]:
    """Four runs a host: the seconds of a run beyond its recording."""
    from manometer import cluster
    rows, each = [], 4
    for count in COUNTS:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            home = Path(folder)
            made = Cluster(home, stack)
            for number in range(count):
                made.host(number)
            text = EXPERIMENT.format(more="", phase="1s") + f"[sweep]\nrepeats = {each * count}\n"
            begin = time.monotonic()
            cluster.run(text, home / "out", scheduler=made.address, security=made.security[1])
            wall_s = time.monotonic() - begin
            recorded = statistics.mean(measured_s(path) for path in (home / "out" / "runs").iterdir())
            rows.append({"hosts": count, "runs": each * count, "seconds": wall_s, "recording_s": recorded,
                         "overhead_s": wall_s / each - recorded})
            print(rows[-1], flush=True)
    return rows


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def grow_clients() -> list[dict]:
    """Skew of the starts in five runs, and the processor time of adding up the samples of an interval."""
    rows = []
    for count in COUNTS:
        skews, costs = [], []
        for _ in range(5):
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "shared.toml")
                file.write_text(EXPERIMENT.format(more=f"clients = {count}", phase="4s"))
                words = [program(), "run", "shared.toml", "--out", "out"]
                with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
                    group, spent = None, 0.0
                    while run.poll() is None:
                        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
                        with_clients = [int(pid) for pid in children
                                        if Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
                        group = next(iter(with_clients), group)
                        try:
                            spent = max(spent, cpu_s(group)) if group else spent
                        except OSError:
                            pass
                        time.sleep(0.05)
                events = Path(folder, "out", "events.jsonl").read_text()
                skews.append(float(re.search(r"began within ([\d.]+) ms", events)[1]))
                import manometer
                costs.append(1e6 * spent / len(manometer.open(Path(folder, "out")).samples("primary")))
        rows.append({"clients": count, "start_skew_ms": sorted(skews), "merge_cpu_us_per_interval": sorted(costs)})
        print(rows[-1], flush=True)
    return rows


def grow_trace() -> list[dict]:
    """A trace of a hundred files, each ten clones of a million recorded requests, characterised on one machine and over
    workers, in alternation."""
    source, files = Path(os.environ["TRACE"]), int(os.environ.get("FILES", "100"))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        subprocess.run([program(), "trace", "clone", source, home / "part.csv", "10"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["zstd", "--quiet", "--rm", home / "part.csv"], check=True)
        parts = [home / f"part-{number:03}.csv.zst" for number in range(files)]
        for part in parts:
            os.link(home / "part.csv.zst", part)
        verb, documents = ["trace", "characterise"], []

        def timed(label: str, words: list) -> None:
            begin, before = time.monotonic(), os.times()
            documents.append(json.loads(subprocess.check_output([*words, "--format", "json"], stderr=subprocess.DEVNULL)))
            after = os.times()
            rows.append({"way": label, "requests": documents[-1]["requests"], "seconds": time.monotonic() - begin,
                         "processor_s": after.children_user + after.children_system
                                        - before.children_user - before.children_system})
            print(rows[-1], flush=True)

        timed("one process", [program(), *verb, *parts])
        for count in (1, 2, 4):
            timed(f"{count} workers", [*MODULE, "trace", *parts, "--local", str(count), "--", *verb])
        for document in documents:
            document.pop("format")
        assert all(document == documents[0] for document in documents), "the answers differ"
    return rows


def nothing(order):
    """A run that does nothing."""
    from manometer.cluster.perform import RunResult
    return RunResult(order.id, "", "complete", "", b"", 0.0, None)


async def idle_hosts(address: str, security: str, first: int, count: int) -> None:
    """So many hosts in this process, until it is ended."""
    import dask.config
    from distributed import Worker
    from manometer.cluster import host, security as certificates
    from manometer.cluster.connection import CONFIGURATION
    from manometer.cluster.rules import Rules
    # What a worker does for itself every few milliseconds, each host does on processors of its own.
    dask.config.set({**CONFIGURATION, "distributed.admin.tick.interval": "10s",
                     "distributed.admin.system-monitor.interval": "10s"})
    rules = Rules(devices={"disk": Path("/")})
    options = {"nthreads": 1, "resources": host.resources(rules, "6.8"), "dashboard": False, "host": "127.0.0.1",
               "dashboard_address": "127.0.0.1:0", "memory_limit": 0, "security": certificates.load(security)}
    workers = [Worker(address, name=f"host-{first + number:04}", **options) for number in range(count)]
    for worker in workers:
        await worker
    await asyncio.Event().wait()


def grow_hosts() -> list[dict]:
    """Runs without work on simulated hosts, several hundred in a process: how many the scheduler and the client place."""
    from manometer.cluster import connect, runs, security
    from manometer.cluster._set import PlannedRun
    rows = []
    sizes = [tuple(map(int, size.split("x"))) for size in os.environ.get("SIZES", "10x1000,100x10000,1000x100000").split(",")]
    for hosts, count in sizes:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            made = Cluster(Path(folder), stack)
            per = min(hosts, 250)
            for first in range(0, hosts, per):
                words = [sys.executable, __file__, "idle-hosts", made.address, made.security[1], str(first), str(per)]
                made.start(f"hosts-{first}", words)
            experiment = {"device": {"directory": "data", "name": "disk"}, "primary": {"engine": "null"}}
            planned = [PlannedRun(f"{number:03}", experiment, {}, 1.0, None) for number in range(count)]
            runs.perform = nothing
            with connect(made.address, security=made.security[1]) as client:
                until(lambda: len(runs.hosts_of(client)) == hosts)
                scheduler = next(pid for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                                 if "scheduler" in (words := Path(f"/proc/{pid}/cmdline").read_text().split("\0"))
                                 and made.security[1] in words)
                begin, own, theirs = time.monotonic(), time.process_time(), cpu_s(scheduler)
                done = runs.RunSet(Path(folder, "out"), planned, resume=False)
                with open(os.devnull, "w") as quiet:
                    dispatch = runs._Dispatch(client, done, 60.0, is_local=False)
                    dispatch._table._file = quiet
                    dispatch.run()
                wall_s = time.monotonic() - begin
                rows.append({"hosts": hosts, "runs": count, "seconds": wall_s, "runs_per_s": count / wall_s,
                             "scheduler_processor_s": cpu_s(scheduler) - theirs,
                             "client_processor_s": time.process_time() - own})
                print(rows[-1], flush=True)
    return rows


def main() -> None:
    parts = {"runs": grow_runs, "clients": grow_clients, "trace": grow_trace, "hosts": grow_hosts}
    path = bench.ROOT / "benches" / "results" / "cluster_growth.json"
    kept = json.loads(path.read_text()) if path.exists() else {}
    for name in PARTS:
        kept[name] = parts[name]()
        bench.write("cluster_growth", {**kept, "about": __doc__.strip(), "machine": bench.machine(bench.ROOT)})


if __name__ == "__main__":
    if sys.argv[1:2] == ["idle-hosts"]:
        asyncio.run(idle_hosts(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5])))
    else:
        main()
