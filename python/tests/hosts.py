"""Schedulers and hosts on the loopback address."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
from manometer import cluster

# How long a process may take to be where a test waits for it, in seconds.
PATIENCE_S = 90


def command_of(process: psutil.Process) -> list[str]:
    """The words that began a process; none of one that has ended."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def until(what: Callable[[], Any]) -> Any:
    """What `what` gives once it is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := what()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)
    return found


class Processes:
    """A scheduler and hosts, as an operator starts them."""

    def __init__(self, home: Path) -> None:
        self.home, self.certificates = home, cluster.initialise(home / "certificates")
        self.started: dict[str, subprocess.Popen[str]] = {}
        self.clients: list[subprocess.Popen[str]] = []
        self.address = ""

    def scheduler(self, port: str = "0") -> None:
        self.address = self._start("scheduler", "scheduler", "--listen", f"127.0.0.1:{port}")

    def host(self, name: str, *words: str) -> None:
        self._start(name, "host", "--scheduler", self.address, "--name", name, "--listen", "127.0.0.1", *words)

    def _start(self, name: str, *words: str) -> str:
        """Starts a process, and returns the address that it says."""
        command = [sys.executable, "-m", "manometer.cluster", *words, "--security", str(self.certificates)]
        # A host whose process is stopped is lost after two seconds instead of a minute.
        environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "2s"}
        # On one disk, as on machines of their own: no test reads how fast they were.
        environment["MANOMETER_LOCK_DIRECTORY"] = str(self.home / f"{name}.locks")
        (self.home / f"{name}.locks").mkdir(exist_ok=True)
        path = self.home / f"{name}.log"
        with path.open("w") as log:
            self.started[name] = subprocess.Popen(command, stdout=log, stderr=log, text=True, env=environment)
        return until(lambda: re.search(r"at (tls://\S+)", path.read_text()))[1]

    def worker(self, name: str) -> psutil.Process:
        """The process that works for the host, below the one that guards it."""
        children = psutil.Process(self.started[name].pid).children(recursive=True)
        return next(one for one in children if "spawn_main" in " ".join(command_of(one)))

    def run(self, out: Path, text: str, **options: Any) -> Any:
        return cluster.run(text, out, scheduler=self.address, security=self.certificates, **options)

    def client(self, out: Path, text: str, *words: str) -> subprocess.Popen[str]:
        """A client of its own process."""
        file = out.with_suffix(".toml")
        file.write_text(text)
        command = [sys.executable, "-m", "manometer.cluster", "run", str(file), "--out", str(out), *words]
        command += ["--scheduler", self.address, "--security", str(self.certificates)]
        self.clients.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return self.clients[-1]

    def end(self) -> None:
        """Ends all of them, also the clients of a test that failed before it waited for them."""
        for client in self.clients:
            client.kill()
            client.wait(PATIENCE_S)
            assert client.stderr is not None
            client.stderr.close()
        for process in self.started.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in self.started.values():
            process.wait(PATIENCE_S)


def free_ports(count: int) -> list[int]:
    """Ports that are free, as is each plus 10000, where a node of Redis Cluster has its bus.

    Linux gives none of them to connections: its own begin at 32768.
    """
    found: list[int] = []
    for port in range(12000 + os.getpid() * 37 % 9000, 22000):
        with socket.socket() as own, socket.socket() as bus:
            try:
                own.bind(("127.0.0.1", port))
                bus.bind(("127.0.0.1", port + 10000))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            break
    return found


@contextmanager
def redis_cluster(home: Path, nodes: int) -> Iterator[int]:
    """A Redis Cluster of so many nodes on the loopback address: the port of the first."""
    ports = free_ports(nodes)
    with ExitStack() as stack:
        for port in ports:
            directory = _folder(home / f"node-{port}")
            options = [
                "--port",
                port,
                "--dir",
                directory,
                "--cluster-enabled",
                "yes",
                "--save",
                "",
                "--bind",
                "127.0.0.1",
            ]
            node = subprocess.Popen(["redis-server", *map(str, options)], stdout=subprocess.DEVNULL)
            stack.callback(node.wait)
            stack.callback(node.terminate)
        addresses = [f"127.0.0.1:{port}" for port in ports]

        def cli(*words: str) -> str:
            return subprocess.run(["redis-cli", "-p", str(ports[0]), *words], capture_output=True, text=True).stdout

        for port in ports:
            until(lambda port=port: "PONG" in cli("-p", str(port), "ping"))
        cli("--cluster", "create", *addresses, "--cluster-yes")
        until(lambda: "cluster_state:ok" in cli("cluster", "info"))
        yield ports[0]


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
