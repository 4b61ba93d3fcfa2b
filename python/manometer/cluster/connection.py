"""The connection to a cluster, or a cluster of processes on this machine."""

# Dask is only partly typed.
# pyright: basic
from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client, Nanny, Scheduler
from distributed.deploy.spec import SpecCluster
from distributed.security import Security

from manometer.cluster import host as hosts
from manometer.cluster import security as certificates
from manometer.cluster.address import CONNECT_S, checked_address
from manometer.cluster.host import HostPlugin, version_resource
from manometer.cluster.rules import Rules
from manometer.errors import ClusterError

LOCAL_MAX = 256
# Defaults: the files and variables with which Dask is configured have precedence.
CONFIGURATION: Mapping[str, Any] = {
    # A host whose process answers nothing for so long is lost, and its work goes to another.
    "distributed.scheduler.worker-ttl": "60s",
    # The pages of Dask: not served, and their port only on the loopback address.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    # Samples of the workers' stacks disturb what is measured.
    "distributed.worker.profile.enabled": False,
    "distributed.comm.retry.count": 2,
    "distributed.comm.timeouts.connect": f"{CONNECT_S}s",
}
# A port of the loopback address that the system chooses.
NO_PAGES = "127.0.0.1:0"


@dataclass(frozen=True)
class HostState:
    """A host as the scheduler sees it."""

    name: str
    address: str
    resources: Mapping[str, float]

    def can(self, needs: Mapping[str, float]) -> bool:
        """Whether it has all that work needs."""
        return all(self.resources.get(name, 0) >= amount for name, amount in needs.items())

    @property
    def version(self) -> str:
        """Its version of Manometer."""
        found = (name.removeprefix("manometer:") for name in self.resources if name.startswith("manometer:"))
        return next(found, "none")


def hosts_of(client: Client) -> list[HostState]:
    """The hosts that are there now, by name.

    Raises:
        ClusterError: the scheduler does not answer.
    """
    try:
        workers = client.scheduler_info(n_workers=-1)["workers"]
    except (OSError, TimeoutError, ValueError) as error:
        raise gone() from error
    return sorted(
        (HostState(str(one["name"]), address, one.get("resources", {})) for address, one in workers.items()),
        key=lambda one: one.name,
    )


def check_versions(found: list[HostState]) -> None:
    """Refuses hosts with another version of Manometer.

    Raises:
        ClusterError: there are some; they are named.
    """
    others = [f"{one.name} has {one.version}" for one in found if version_resource() not in one.resources]
    if others:
        raise ClusterError(
            f"this is Manometer {hosts.version()}, but {', '.join(others)}: install one version everywhere, since "
            "results of different versions cannot be compared"
        )


def gone() -> ClusterError:
    """The error that the scheduler was lost."""
    return ClusterError("the scheduler does not answer: start it again, then continue with --resume", 1)


@contextmanager
def connect(
    scheduler: str | None = None, *, local: int | None = None, security: str | PathLike[str] | None = None
) -> Generator[Client, None, None]:
    """Connects to the scheduler at an address, or starts a cluster of `local` processes on this machine for the block.

    Args:
        scheduler: such as `tls://head:8786`.
        local: the number of processes; the first one runs experiments on the directory that the file names, all of them
            read traces and load stores.
        security: the directory of the cluster's certificates.

    Raises:
        ClusterError: no scheduler answers, or the request makes no sense.
    """
    if (scheduler is None) == (local is None):
        raise ClusterError("give the address of a scheduler, or a number of local processes: one of both")
    dask.config.update_defaults(CONFIGURATION)
    if local is not None:
        with _local_cluster(local) as cluster, Client(cluster, set_as_default=False) as client:
            yield client
        return
    assert scheduler is not None
    loaded = None if security is None else certificates.load(security)
    address = checked_address(scheduler, loaded)
    try:
        client = Client(address, security=loaded, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError) as error:
        hint = "; that of one with certificates begins with tls://" if loaded is None else ""
        raise ClusterError(f"no scheduler answers at {address}: {error or 'time-out'}{hint}") from error
    with client:
        yield client


def _local_cluster(count: int) -> SpecCluster:
    if not 1 <= count <= LOCAL_MAX:
        raise ClusterError(f"{count} local processes: write a number from 1 to {LOCAL_MAX}")
    kernel = hosts.kernel()

    def spec(number: int) -> dict[str, Any]:
        rules = Rules(clients=1, embedded=True)
        resources = hosts.resources(rules, kernel)
        # They share the device: one run at a time.
        if number == 1:
            resources["device"] = 1
        options = {**worker_options(rules, resources), "security": security, "host": "127.0.0.1"}
        return {"cls": Nanny, "options": {**options, "silence_logs": logging.CRITICAL}}

    # Encrypted and authenticated although it is local: other users of the machine could connect, too.
    security = Security.temporary()
    options = {"host": "127.0.0.1", "port": 0, "security": security, "protocol": "tls://", "dashboard": False}
    return SpecCluster(
        scheduler={"cls": Scheduler, "options": {**options, "dashboard_address": NO_PAGES}},
        workers={f"local-{number}": spec(number) for number in range(1, count + 1)},
        security=security,
        silence_logs=True,
    )


def worker_options(rules: Rules, resources: Mapping[str, float], certificates: Path | None = None) -> dict[str, Any]:
    """The options of the Dask worker of a host. One task at a time: a second would disturb what the first measures."""
    return {
        "nthreads": 1,
        "resources": dict(resources),
        "plugins": (HostPlugin(rules, certificates),),
        "dashboard": False,
        "dashboard_address": NO_PAGES,
        # What a task needs is the program's memory, not the worker's.
        "memory_limit": 0,
        "config": dict(CONFIGURATION),
    }
