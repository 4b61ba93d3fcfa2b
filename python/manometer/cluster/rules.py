"""What the operator of a host lets experiments do there: the file of `manometer cluster host --rules`.

```toml
clients = 4                          # clients of a load that this host runs at once
directories = ["/data/traces"]       # directories and URLs whose files experiments, loads and traces may name
programs = ["fio"]                   # external programs that an experiment may start

[devices]
970evp250 = "/mnt/evp"               # the name of a device, and a directory on it for the experiments' data
```
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, cast

from manometer import _native
from manometer.errors import ClusterError

# Below each directory of a device; only the cluster's runs write there, so that they may replace what they find.
SUBDIRECTORY = "manometer-cluster"
CLIENTS_MAX = 1024
_CONTAINER_PROGRAMS = ("podman", "docker")
_KEYS = ("clients", "devices", "directories", "programs")


@dataclass(frozen=True)
class Rules:
    """What a host offers and allows.

    Attributes:
        devices: the directory of each device, by its name.
        directories: experiments, loads and traces may name files below these directories and URLs.
        programs: the external programs that experiments may start.
        clients: how many clients of a load the host runs at once.
        embedded: the host is a process of the experiment's own user on the same machine, and may do what the user may.
    """

    devices: Mapping[str, Path] = field(default_factory=dict[str, Path])
    directories: tuple[Path, ...] = ()
    programs: tuple[str, ...] = ()
    clients: int = 1
    embedded: bool = False

    def directory_of(self, device: Mapping[str, Any]) -> Path:
        """The data directory of an experiment with this `[device]` table."""
        if self.embedded:
            base = Path(str(device["directory"])).absolute()
        else:
            base = self.devices.get(device.get("name", ""), next(iter(self.devices.values())))
        return base / SUBDIRECTORY

    def refusals(self, experiment: Mapping[str, Any]) -> list[str]:
        """Why this host does not run `experiment` (the resolved file, as a dictionary); nothing if it does."""
        if self.embedded:
            return []
        found: list[str] = []
        name = experiment["device"].get("name")
        if not self.devices or (name is not None and name not in self.devices):
            found.append(f"the host has no device {name or 'for experiments'}")
        for table in workloads(experiment):
            found += (
                f"`{table.get('name', 'primary')}` starts {program}, which `programs` does not list"
                for program in _programs(table)
                if program not in self.programs
            )
        found += (
            f"`{table.get('name', 'primary')}` names `hosts`, but the cluster gives clients their places: leave it out"
            for table in workloads(experiment)
            if table.get("hosts")
        )
        outside = {path for table in workloads(experiment) for path in _paths(table) if not self._is_allowed(path)}
        found += (f"the experiment names {path}, which is not below `directories`" for path in sorted(outside))
        return found

    def job_refusals(self, job: Mapping[str, Any]) -> list[str]:
        """Why this host does not run a client of a load with this job; nothing if it does."""
        if self.embedded:
            return []
        if job.get("kind") not in ("kv", "replay") or job.get("clients"):
            return [f"a client sends requests to a store, and does not run {job.get('kind')}"]
        workload = {key: value for key, value in job.items() if key != "directory"}
        outside = {path for path in _paths(workload) if not self._is_allowed(path)}
        return [f"the load names {path}, which is not below `directories` of the host" for path in sorted(outside)]

    def url_refusals(self, urls: Sequence[str]) -> list[str]:
        """Why this host does not use these files of a trace; nothing if it does."""
        outside = [] if self.embedded else [url for url in urls if not self._is_allowed(url)]
        return [f"{url} is not below `directories` of the host" for url in outside]

    def _is_allowed(self, path: str) -> bool:
        pure = PurePosixPath(path)
        return ".." not in pure.parts and any(pure.is_relative_to(folder) for folder in self.directories)


def read(path: str | PathLike[str]) -> Rules:
    """Reads the rules in the file `path`.

    Raises:
        ClusterError: it cannot be read, or holds what rules cannot; every mistake at once.
    """
    try:
        document: dict[str, Any] = json.loads(_native.json_of_toml(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise ClusterError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ClusterError(f"{path}: {error}") from error
    mistakes = list(_mistakes(document))
    if mistakes:
        raise ClusterError("\n".join(f"{path}: {mistake}" for mistake in mistakes))
    return Rules(
        devices={name: Path(folder) for name, folder in document.get("devices", {}).items()},
        directories=tuple(Path(folder) for folder in document.get("directories", ())),
        programs=tuple(document.get("programs", ())),
        clients=document.get("clients", 1),
    )


def _mistakes(document: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"unknown key `{key}`: the keys are {', '.join(_KEYS)}" for key in document if key not in _KEYS)
    clients = document.get("clients", 1)
    if type(clients) is not int or not 0 <= clients <= CLIENTS_MAX:
        yield f"`clients` = {clients!r}: write a number from 0 to {CLIENTS_MAX}"
    for key in ("directories", "programs"):
        value = document.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, str) for one in cast("list[Any]", value)):
            yield f"`{key}` = {value!r}: write a list of texts"
    devices = document.get("devices", {})
    if not isinstance(devices, dict):
        yield '`devices` is a table: [devices], then NAME = "DIRECTORY"'
        return
    for name, folder in cast("dict[str, Any]", devices).items():
        if not isinstance(folder, str) or not Path(folder).is_dir():
            yield f"`devices.{name}` = {folder!r} is not a directory of this host"
    allowed = document.get("directories", [])
    for folder in cast("list[Any]", allowed) if isinstance(allowed, list) else []:
        if isinstance(folder, str) and not Path(folder).is_absolute() and "://" not in folder:
            yield f"`directories` has {folder!r}: write absolute paths, or URLs"


def workloads(experiment: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The tables of the workloads of an experiment, as a dictionary."""
    if "primary" in experiment:
        yield experiment["primary"]
    yield from experiment.get("neighbour", ())


def _programs(table: Mapping[str, Any]) -> Iterator[str]:
    if table.get("isolation") == "container":
        yield from (program for program in _CONTAINER_PROGRAMS[:1])
    if table.get("kind") != "command":
        return
    for key in ("command", "prepare"):
        command = table.get(key, ())
        words = shlex.split(command) if isinstance(command, str) else command
        yield from (str(word) for word in words[:1])


def _paths(value: Any) -> Iterator[str]:
    """Every word of a text in `value` that leads out of the directory of the run."""
    if isinstance(value, Mapping):
        for one in cast("Mapping[str, Any]", value).values():
            yield from _paths(one)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _paths(one)
    elif isinstance(value, str):
        for word in re.split(r"[\s=,;'\"]+", value):
            if "://" not in word and (word.startswith(("/", "~")) or ".." in PurePosixPath(word).parts):
                yield word
