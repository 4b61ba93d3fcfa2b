"""A load by many clients: one replay, divided over the hosts of a cluster."""

# Dask is only partly typed.
# pyright: basic
from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from os import PathLike

from manometer._program import program
from manometer.cluster.connection import HostState, check_versions, connect, hosts_of
from manometer.errors import ClusterError

CLIENTS_MAX = 64


def replay(
    words: Sequence[str],
    clients: int,
    *,
    scheduler: str | None = None,
    local: int | None = None,
    security: str | PathLike[str] | None = None,
) -> int:
    """Replays a trace by so many clients on the hosts of a cluster, which begin at the same time.

    Args:
        words: the trace and the flags of `manometer replay`, without `--processes` and `--on`.
        clients: the number of clients; each gets the requests of some keys, or of some clients of the trace.
        scheduler: the address of the cluster's scheduler.
        local: instead of it, a cluster of this many processes on this machine.
        security: the directory of the cluster's certificates.

    Returns:
        The exit status of `manometer replay`, which prints the result.

    Raises:
        ClusterError: the cluster has too few places, or another version of Manometer.
    """
    if not 1 <= clients <= CLIENTS_MAX:
        raise ClusterError(f"{clients} clients: write a number from 1 to {CLIENTS_MAX}")
    if wrong := [word for word in words if word.partition("=")[0] in ("--processes", "--on")]:
        raise ClusterError(f"{wrong[0]}: the cluster divides the clients over its hosts; leave it out")
    if local is not None:
        # Here a tunnel would only add its delay: the same processes, the same barrier.
        return subprocess.run([program(), "replay", *words, "--processes", str(clients)]).returncode
    with connect(scheduler, local=local, security=security) as client:
        found = hosts_of(client)
        check_versions(found)
    places = client_places(found, clients)
    on = [word for place in places for word in ("--on", client_command(place.address, security))]
    return subprocess.run([program(), "replay", *words, "--processes", str(clients), *on]).returncode


def client_places(found: list[HostState], clients: int, taken: Mapping[str, int] | None = None) -> list[HostState]:
    """A host for each client: each host in turn, as long as it has places. `taken` are those of other loads by address.

    Raises:
        ClusterError: there are too few.
    """
    taken = taken or {}
    left = {host.address: int(host.resources.get("client", 0)) - taken.get(host.address, 0) for host in found}
    if sum(left.values()) < clients:
        offers = ", ".join(f"{host.name}: {left[host.address]}" for host in found) or "no hosts"
        raise ClusterError(
            f"{clients} clients need as many places, but the hosts have fewer ({offers}): raise `clients` in "
            "their rules"
        )
    places: list[HostState] = []
    while True:
        for host in found:
            if len(places) == clients:
                return places
            if left[host.address] > 0:
                left[host.address] -= 1
                places.append(host)


def client_command(address: str, security: str | PathLike[str] | None) -> str:
    """The command that leads to the host at `address`."""
    words = [sys.executable, "-m", "manometer.cluster", "at", address]
    return shlex.join([*words, *(["--security", str(security)] if security is not None else [])])
