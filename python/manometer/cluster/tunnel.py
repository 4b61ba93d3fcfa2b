"""A worker process of a load on another host: its standard input and output, over the connection of the cluster.

`manometer replay --on COMMAND` starts its processes by a command that leads to another host, such as `ssh`. Here the
command leads through the cluster: no other port, and the same certificates.
"""

# Dask is only partly typed.
# pyright: basic
from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from os import PathLike
from typing import Any

from distributed import Status, Worker
from distributed.comm.core import Comm, CommClosedError, connect

from manometer._program import program
from manometer.cluster import security as certificates
from manometer.cluster.address import CONNECT_S, checked_address
from manometer.cluster.rules import Rules
from manometer.errors import ClusterError

OPERATION = "manometer_worker"
# The longest line of a message, in bytes: that of an outcome with its histograms.
LINE_MAX = 64 << 20
# How long a process may take to end after its client has gone, in seconds.
_ENDING_S = 10.0


def open_tunnels(worker: Worker, rules: Rules) -> None:
    """Has `worker` start processes of loads, as many at a time as `rules` allow."""
    places = asyncio.Semaphore(rules.clients)

    async def serve(comm: Comm) -> Status:
        if places.locked():
            await comm.write({"error": f"the host runs {rules.clients} clients already: `clients` in its rules"})
            return Status.dont_reply
        async with places:
            try:
                await _serve(comm, worker, rules)
            except CommClosedError:
                pass
        return Status.dont_reply

    worker.handlers[OPERATION] = serve


async def _serve(comm: Comm, worker: Worker, rules: Rules) -> None:
    """Runs one process until its client has gone or its output ends."""
    job = json.loads(await _line(comm))
    refusals = rules.job_refusals(job)
    if refusals:
        await comm.write({"error": "; ".join(refusals)})
        return
    # Whatever an embedded engine writes stays below the directory of the worker.
    job["directory"] = worker.local_directory
    words = [program(), "worker"]
    process = await asyncio.create_subprocess_exec(*words, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=LINE_MAX)
    try:
        await _send(process, json.dumps(job))
        controls = asyncio.ensure_future(_pass_controls(comm, process))
        assert process.stdout is not None
        while line := await process.stdout.readline():
            await comm.write({"line": line.decode().rstrip("\n")})
        controls.cancel()
        await comm.write({"ended": await process.wait()})
    finally:
        await _end(process)


async def _pass_controls(comm: Comm, process: Process) -> None:
    """Passes lines on until the client has gone; then the process reads the end of its input, and ends."""
    try:
        while True:
            await _send(process, await _line(comm))
    except (CommClosedError, BrokenPipeError, ConnectionResetError):
        assert process.stdin is not None
        process.stdin.close()


async def _line(comm: Comm) -> str:
    message: Any = await comm.read()
    return str(message["line"])


async def _send(process: Process, line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n".encode())
    await process.stdin.drain()


async def _end(process: Process) -> None:
    if process.stdin is not None:
        process.stdin.close()
    try:
        await asyncio.wait_for(process.wait(), _ENDING_S)
    except TimeoutError:
        process.kill()
        await process.wait()


def lead_to(address: str, security: str | PathLike[str] | None) -> int:
    """Is the worker process on the host at `address`, for the program that started this one: passes lines both ways.

    Returns:
        The exit status of the process.

    Raises:
        ClusterError: the host cannot be reached or refuses.
    """
    loaded = None if security is None else certificates.load(security)
    checked = checked_address(address, loaded)
    arguments: dict[str, Any] = loaded.get_connection_args("client") if loaded else {}
    return asyncio.run(_lead_to(checked, arguments))


async def _lead_to(address: str, arguments: dict[str, Any]) -> int:
    try:
        comm = await connect(address, timeout=CONNECT_S, **arguments)
    except OSError as error:
        raise ClusterError(f"the host at {address} cannot be reached: {error}", 1) from error
    reader = asyncio.StreamReader(limit=LINE_MAX)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await comm.write({"op": OPERATION, "reply": False})
    controls = asyncio.ensure_future(_read_controls(reader, comm))
    try:
        while True:
            message: Any = await comm.read()
            if "error" in message:
                raise ClusterError(message["error"], 1)
            if "ended" in message:
                return int(message["ended"])
            os.write(sys.stdout.fileno(), f"{message['line']}\n".encode())
    except CommClosedError as error:
        raise ClusterError(f"the host at {address} was lost", 1) from error
    finally:
        controls.cancel()
        comm.abort()


async def _read_controls(reader: asyncio.StreamReader, comm: Comm) -> None:
    while line := await reader.readline():
        await comm.write({"line": line.decode().rstrip("\n")})
    # The program that started this one has gone: so does the process on the host.
    comm.abort()
