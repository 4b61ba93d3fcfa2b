#!/usr/bin/env python3
"""Hot spots of a real Redis Cluster of ten nodes under load by four clients (Boza 2018, Figure 5.9): the commands that each node
processes in each second, for a recorded trace and for Zipf-distributed keys drawn independently, both as fast as they go."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench

sys.path.insert(0, str(bench.ROOT / "python" / "tests"))
from hosts import redis_cluster  # noqa: E402

NODES, CLIENTS, SECONDS = 10, 4, int(os.environ.get("SECONDS_EACH", "20"))
EXPERIMENT = """
name = "{name}"
[device]
directory = "data"
[primary]
engine = "redis"
options = {{ address = "127.0.0.1:{port}", cluster = true, flush = true }}
clients = {clients}
{load}
[[neighbour]]
name = "idle"
kind = "io"
file_size = "1MiB"
rate = "1/s"
[plan]
phase = "{seconds}s"
"""


def processed(ports: list) -> list:
    """The commands that each node has processed."""
    found = []
    for port in ports:
        text = subprocess.check_output(["redis-cli", "-p", str(port), "info", "stats"], text=True)
        found.append(next(int(line.split(":")[1]) for line in text.splitlines() if line.startswith("total_commands")))
    return found


def nodes_of(port: int) -> list:
    listed = subprocess.check_output(["redis-cli", "-p", str(port), "cluster", "nodes"], text=True)
    return sorted(int(line.split()[1].split("@")[0].split(":")[1]) for line in listed.splitlines())


def spread_of(counts: list) -> dict:
    """Range and quartiles over all nodes and seconds, as multiples of the mean of their second."""
    even = [count / statistics.mean(second) for second in counts for count in second]
    low, _, high = statistics.quantiles(even, n=4)
    return {"seconds": len(counts), "commands_per_s": statistics.mean(sum(second) for second in counts),
            "range": max(even) - min(even), "interquartile_range": high - low, "hottest": max(even)}


def main() -> None:
    trace = Path(os.environ["TRACE"])
    loads = {"trace": f'kind = "replay"\ntrace = "{trace}"\ntime = "full"\nmodel = "closed-unordered"\nthreads = 8',
             "zipf": 'workload = "ycsb-c"\nrecords = 300000\nvalue_size = 200\ndistribution = "zipfian"\nthreads = 8'}
    rows = []
    for name, load in loads.items():
        with tempfile.TemporaryDirectory() as folder, redis_cluster(Path(folder), NODES) as port:
            ports = nodes_of(port)
            file = Path(folder, "load.toml")
            file.write_text(EXPERIMENT.format(name=name, port=port, clients=CLIENTS, load=load, seconds=SECONDS))
            out = Path(folder, "out")
            with subprocess.Popen([bench.BINARY, "run", file, "--out", out], cwd=folder, stdout=subprocess.DEVNULL) as run:
                while run.poll() is None and not (
                    (out / "events.jsonl").exists() and "phase_started" in (out / "events.jsonl").read_text()
                ):
                    time.sleep(0.1)
                counts, before, due = [], processed(ports), time.monotonic()
                for _ in range(SECONDS - 2):
                    due += 1.0
                    time.sleep(max(0.0, due - time.monotonic()))
                    now = processed(ports)
                    counts.append([own - other for own, other in zip(now, before)])
                    before = now
                    if run.poll() is not None:
                        break
            # Seconds in which the load had ended.
            counts = [second for second in counts if sum(second) > 1000]
            rows.append({"load": name, **spread_of(counts)})
            print(rows[-1], flush=True)
    bench.write("cluster_hot_spots", {"about": __doc__.strip(), "results": rows, "machine": bench.machine(bench.ROOT)})


if __name__ == "__main__":
    main()
