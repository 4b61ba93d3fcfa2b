"""The processes of a cluster that stay: its scheduler, and the worker of each host."""

# Dask is only partly typed.
# pyright: basic
from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import dask.config
from distributed import Nanny, Scheduler, Status

from manometer.cluster import host as hosts
from manometer.cluster import security as certificates
from manometer.cluster.address import checked_address
from manometer.cluster.connection import CONFIGURATION, NO_PAGES, worker_options
from manometer.cluster.rules import Rules
from manometer.errors import ClusterError

PORT = 8786
# How long a host waits before it looks for a lost scheduler again, in seconds.
AGAIN_S = 5.0
# How long the worker of a host may take to close before it is killed, in seconds.
CLOSING_S = 10.0


def serve_scheduler(listen: str = f"127.0.0.1:{PORT}", security: str | PathLike[str] | None = None) -> None:
    """Runs the scheduler of a cluster until it is interrupted. It listens on the address `listen` and nowhere else.

    Raises:
        ClusterError: the address needs certificates, or is in use.
    """
    loaded = None if security is None else certificates.load(security)
    protocol, _, rest = checked_address(listen, loaded).partition("://")
    place, _, port = rest.rpartition(":")

    async def serve() -> None:
        options: dict[str, Any] = {"dashboard": False, "dashboard_address": NO_PAGES, "protocol": f"{protocol}://"}
        try:
            async with Scheduler(host=place, port=int(port), security=loaded, **options) as scheduler:
                print(f"scheduler at {scheduler.address}", flush=True)
                await _interrupted()
        except (OSError, RuntimeError) as error:
            # Dask raises its own error, with the system's as the cause.
            cause = error if isinstance(error, OSError) else error.__cause__
            raise ClusterError(f"{listen}: {getattr(cause, 'strerror', None) or cause or error}") from error

    dask.config.update_defaults(CONFIGURATION)
    asyncio.run(serve())


def serve_host(
    scheduler: str,
    rules: Rules,
    *,
    name: str | None = None,
    listen: str | None = None,
    security: str | PathLike[str] | None = None,
    scratch: str | PathLike[str] | None = None,
) -> None:
    """Runs a host of the cluster until it is interrupted. When the scheduler is lost, it looks for it again.

    Args:
        scheduler: the scheduler's address.
        rules: what the host offers and allows.
        name: its name in the cluster; by default that of the machine.
        listen: the address on which it listens; by default the one from which it reaches the scheduler.
        security: the directory of the cluster's certificates.
        scratch: a directory for recordings until they are fetched; by default a new one below the temporary directory.

    Raises:
        ClusterError: the address needs certificates.
    """
    loaded = None if security is None else certificates.load(security)
    address = checked_address(scheduler, loaded)
    directory = None if security is None else Path(security).absolute()
    options = worker_options(rules, hosts.resources(rules, hosts.kernel()), directory)
    options |= {
        "silence_logs": logging.CRITICAL,
        "name": name or os.uname().nodename,
        "host": listen,
        "security": loaded,
    }
    if scratch is not None:
        options["local_directory"] = str(scratch)

    async def serve() -> None:
        interrupted = asyncio.ensure_future(_interrupted())
        while not interrupted.done():
            try:
                async with _closing(await Nanny(address, **options)) as nanny:
                    print(f"host {nanny.name} at {address}", file=sys.stderr, flush=True)
                    lost = asyncio.ensure_future(_until_closed(nanny))
                    await asyncio.wait({interrupted, lost}, return_when=asyncio.FIRST_COMPLETED)
                    lost.cancel()
            except (OSError, TimeoutError, RuntimeError, ValueError) as error:
                # Dask raises these for a name that is taken, and for a scheduler that does not answer.
                reason = str(_root(error))
                if "name taken" in reason:
                    reason = f"there is a host of the name {options['name']} already: another one with --name"
                print(f"manometer: {address}: {reason}", file=sys.stderr, flush=True)
            if not interrupted.done():
                print(f"manometer: trying {address} again", file=sys.stderr, flush=True)
                await asyncio.wait({interrupted}, timeout=AGAIN_S)

    dask.config.update_defaults(CONFIGURATION)
    asyncio.run(serve())


@asynccontextmanager
async def _closing(nanny: Nanny) -> AsyncIterator[Nanny]:
    """Closes the host's worker within a limit: one whose process is just being started again does not close."""
    try:
        yield nanny
    finally:
        with suppress(TimeoutError):
            await asyncio.wait_for(nanny.close(), CLOSING_S)


def _root(error: BaseException) -> BaseException:
    """The error with which it began."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


async def _until_closed(nanny: Nanny) -> None:
    while nanny.status not in (Status.closed, Status.failed):
        await asyncio.sleep(0.2)


async def _interrupted() -> None:
    event = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, event.set)
    await event.wait()
