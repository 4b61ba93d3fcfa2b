"""A host of a cluster: what it is, and the state that its Dask worker holds for the work that it gets."""

# Dask is only partly typed.
# pyright: basic
from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from dask.typing import Key
from distributed import Worker, get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from manometer._program import command
from manometer.cluster.rules import Rules
from manometer.cluster.tunnel import open_tunnels
from manometer.errors import ClusterError, ProgramError

PLUGIN = "manometer"
# The topic of what hosts report while they work.
TOPIC = "manometer"
# Letters and digits of a disk's model make the name of a device that its operator did not name.
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


def version() -> str:
    """The version of this package, which is that of the program."""
    return installed_version("manometer")


def resources(rules: Rules, kernel: str) -> dict[str, float]:
    """What a host is, as Dask resources: its devices, its kernel with every beginning of its release, the clients of
    a load that it runs, and the version of Manometer, so that work never reaches a host with another one.
    """
    beginnings = [kernel[: match.start()] for match in re.finditer(r"[.-]", kernel)]
    names = [f"kernel:{release}" for release in (*beginnings, kernel)]
    names += [f"device:{name}" for name in rules.devices]
    found: dict[str, float] = dict.fromkeys([*names, version_resource()], 1)
    if rules.devices:
        found["device"] = 1
    if rules.clients:
        found["client"] = rules.clients
    return found


def version_resource() -> str:
    """The resource that every host with this version of Manometer has."""
    return f"manometer:{version()}"


def kernel() -> str:
    """The release of the kernel, as `manometer doctor` finds it."""
    return str(command("doctor", "/")["environment"]["host"]["kernel"])


def device_name(directory: Path) -> str:
    """A name for the device below `directory`: its model as `manometer doctor` finds it, or its name in the kernel.

    Raises:
        ClusterError: the directory is on no block device, or does not exist.
    """
    try:
        device = command("doctor", directory)["environment"]["device"]
    except ProgramError as error:
        raise ClusterError(str(error)) from error
    if device is None:
        raise ClusterError(f"{directory} is on no block device: name a directory on the device to measure")
    return _NOT_IN_NAMES.sub("-", str(device["model"] or device["name"]).lower()).strip("-")


@dataclass
class Host:
    """The host that this process is in the cluster."""

    name: str
    rules: Rules
    # The directory of the cluster's certificates, by which this host reaches others.
    security: Path | None = None
    # What ends each piece of work that is under way, by the set of runs that it belongs to.
    _stops: dict[str, set[Callable[[], None]]] = field(default_factory=dict[str, set[Callable[[], None]]])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def hold(self, work: str, stop: Callable[[], None]) -> None:
        """Has `stop` called if the command ends `work`."""
        with self._lock:
            self._stops.setdefault(work, set()).add(stop)

    def release(self, work: str, stop: Callable[[], None]) -> None:
        """Undoes `hold`."""
        with self._lock:
            self._stops.get(work, set()).discard(stop)

    def stop(self, work: str) -> None:
        """Ends what is under way of `work`."""
        with self._lock:
            stops = list(self._stops.get(work, ()))
        for stop in stops:
            stop()


class HostPlugin(WorkerPlugin):
    """Makes a Dask worker a host."""

    name = PLUGIN

    def __init__(self, rules: Rules, security: Path | None = None) -> None:
        """The host keeps `rules`, and reaches others by the certificates in `security`."""
        self.rules = rules
        self.security = security
        self.host: Host | None = None

    def setup(self, worker: Worker) -> None:
        """Called by Dask in the process of the worker."""
        self.host = Host(str(worker.name), self.rules, self.security)
        open_tunnels(worker, self.rules)


def host_of(worker: Worker) -> Host:
    """The host that `worker` is.

    Raises:
        ClusterError: the worker was not started by `manometer cluster host`.
    """
    plugin = worker.plugins.get(PLUGIN)
    if not isinstance(plugin, HostPlugin) or plugin.host is None:
        raise ClusterError(
            f"the Dask worker {worker.name} is no host of Manometer: start it with `manometer cluster host`, which "
            "knows what experiments may do there"
        )
    return plugin.host


def this_host() -> Host:
    """The host on which this task runs."""
    return host_of(get_worker())


def is_wanted(worker: Worker, key: Key) -> bool:
    """Whether the cluster still waits for the result of `key`: the command is connected and did not cancel it."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state not in ("cancelled", "released", "forgotten")


def stop_here(work: str, dask_worker: Worker) -> None:
    """Ends what this host does of `work`; for `Client.run`."""
    host_of(dask_worker).stop(work)


def report(event: dict[str, Any]) -> None:
    """Publishes what this host does to the watchers of the cluster."""
    worker = get_worker()
    worker.log_event(TOPIC, {"host": str(worker.name), "pid": os.getpid(), **event})
