"""Hosts behind a network with a delay, with clocks of their own."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hosts import PATIENCE_S, until
from manometer import cluster
from network import delayed_host, missing
from scene import skip

pytestmark = pytest.mark.usefixtures("needs_program")

# The delay of each host's link in seconds, and how far its clock is ahead.
HOSTS = [(0.002, 1000), (0.02, 50_000)]


def answers(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0


def test_clocks_are_known_across_a_delay_and_the_network_is_in_every_latency(tmp_path: Path) -> None:
    if lacking := missing():
        skip("root", lacking)
    certificates = cluster.initialise(tmp_path / "certificates")
    module = [sys.executable, "-m", "manometer.cluster"]
    security = ["--security", str(certificates)]
    rules = tmp_path / "host.toml"
    rules.write_text(f'directories = ["{tmp_path}"]\n')
    trace = tmp_path / "trace.csv"
    lines = [f"{number * 2},key-{number % 100},get,10\n" for number in range(1000)]
    trace.write_text("".join(["time_ms,key,op,value_size\n", *lines]))
    columns = ["--columns", "time_ms=0,key=1,op=2,value_size=3"]
    with ExitStack() as stack:

        def start(name: str, words: list[str]) -> Path:
            log = tmp_path / f"{name}.log"
            with log.open("w") as file:
                process = subprocess.Popen(words, stdout=file, stderr=file, start_new_session=True)
            stack.callback(process.wait, PATIENCE_S)
            stack.callback(lambda: os.killpg(process.pid, signal.SIGTERM))
            return log

        links = [stack.enter_context(delayed_host(number, *one)) for number, one in enumerate(HOSTS, 1)]
        # One address that all hosts reach, as that of a scheduler's machine is.
        head = links[0][1]
        for _, gateway, words in links:
            subprocess.run([*words[:4], "ip", "route", "add", "default", "via", gateway], check=True)
        log = start("scheduler", [*module, "scheduler", "--listen", f"{head}:0", *security])
        scheduler = ["--scheduler", until(lambda: re.search(r"at (tls://\S+)", log.read_text()))[1], *security]
        for number, (own, _, words) in enumerate(links):
            host = [*words, *module, "host", "--name", f"host-{number}", "--listen", own, "--rules", str(rules)]
            log = start(f"host-{number}", [*host, *scheduler])
            until(lambda log=log: "host host-" in log.read_text())

        def replayed(*words: str) -> dict[str, Any]:
            command = [*module, "replay", "--clients", "2", *scheduler, "--", str(trace), *columns, *words]
            done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        document = replayed("--engine", "null")
        for clock, (delay_s, ahead_s) in zip(document["clocks"], HOSTS, strict=True):
            assert clock["source"] == "round-trip"
            for offset in ("offset_us", "offset_after_us"):
                assert abs(clock[offset] - ahead_s * 1e6) <= clock["within_us"], clock
            assert clock["within_us"] >= delay_s * 1e6, "half a round trip"
        assert document["start_skew_us"]["within"] >= HOSTS[1][0] * 2e6
        assert document["requests"] == 1000

        with socket.socket() as free:
            free.bind((head, 0))
            port = free.getsockname()[1]
        server = ["redis-server", "--bind", head, "--port", str(port), "--save", "", "--protected-mode", "no"]
        start("redis", server)
        until(lambda: answers(head, port))
        document = replayed("--engine", "redis", "--option", f"address={head}:{port}", "--load")
        read = document["latency_us"]["read"]
        assert read["p50"] >= 2 * HOSTS[0][0] * 1e6, "no answer is faster than the network"
