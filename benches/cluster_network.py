#!/usr/bin/env python3
"""What the network between client and store does to the numbers: YCSB B on one Redis, from the same machine and from a host
behind a link with a delay each way, in a closed loop of 1 and 16 threads and at a rate. Needs root (network namespaces)."""

import socket
import statistics
import subprocess
import sys
import time
from contextlib import ExitStack

import bench

sys.path.insert(0, str(bench.ROOT / "python" / "tests"))
from network import delayed_host  # noqa: E402

DELAYS_MS = [0.1, 1.0, 10.0]
LOOPS = {"1 thread": ["--threads", "1"], "16 threads": ["--threads", "16"],
         "2,000 ops/s, 64 threads": ["--threads", "64", "--rate", "2000"]}


def main() -> None:
    rows = []
    with ExitStack() as stack:
        links = [stack.enter_context(delayed_host(number, delay / 1e3, 0)) for number, delay in enumerate(DELAYS_MS, 1)]
        head = links[0][1]
        for _, gateway, words in links:
            subprocess.run([*words[:4], "ip", "route", "add", "default", "via", gateway], check=True)
        with socket.socket() as free:
            free.bind((head, 0))
            port = free.getsockname()[1]
        redis = subprocess.Popen(["redis-server", "--bind", head, "--port", str(port), "--save", "", "--protected-mode", "no"],
                                 stdout=subprocess.DEVNULL)
        stack.callback(redis.wait)
        stack.callback(redis.terminate)
        while socket.socket().connect_ex((head, port)):
            time.sleep(0.05)
        flags = ["--engine", "redis", "--option", f"address={head}:{port}", "--option", "flush=true", "--workload", "ycsb-b",
                 "--records", "10000", "--value-size", "100", "--warmup", "1", "--seconds", "5", "--format", "json"]
        places = {"same machine": [], **{f"{delay} ms away": words for delay, (_, _, words) in zip(DELAYS_MS, links)}}
        for loop, more in LOOPS.items():
            found = {place: [] for place in places}
            for _ in range(bench.pairs()):
                for place, words in places.items():
                    found[place].append(bench.run_json([*words, bench.BINARY, "kv", *flags, *more]))
            for place, documents in found.items():
                def middle(read) -> float:
                    return statistics.median(read(document) for document in documents)
                rows.append({"loop": loop, "client": place, "ops_per_s": middle(lambda one: one["throughput"]["mean"]),
                             "read_p50_us": middle(lambda one: one["latency_us"]["read"]["p50"]),
                             "read_p99_us": middle(lambda one: one["latency_us"]["read"]["p99"])})
                print(rows[-1], flush=True)
    bench.write("cluster_network", {"about": __doc__.strip(), "results": rows, "machine": bench.machine(bench.ROOT)})


if __name__ == "__main__":
    main()
