"""The runs of a set and their directory: what is planned, what is done, and what comes home."""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from manometer.cluster.host import version, version_resource
from manometer.cluster.perform import RunResult
from manometer.cluster.rules import workloads
from manometer.errors import ClusterError

FILE = "cluster.json"
_FORMAT = 1


@dataclass(frozen=True)
class PlannedRun:
    """One run of a set.

    Attributes:
        experiment: the resolved file.
        settings: what the sweep gives this run.
        seconds: its length by its plan, without preparation.
    """

    id: str
    experiment: dict[str, Any]
    settings: dict[str, Any]
    seconds: float
    budget_bytes: int | None

    @property
    def device(self) -> str | None:
        """The name of the device that it needs; None for any."""
        return self.experiment["device"].get("name")

    @property
    def clients(self) -> int:
        """The clients of its workloads for which the cluster has to find places."""
        return sum(clients_of(self.experiment).values())

    @property
    def needs(self) -> dict[str, float]:
        """The Dask resources that a host must have for it."""
        kernel = self.experiment["device"].get("kernel")
        needs = ["device" if self.device is None else f"device:{self.device}", version_resource()]
        return dict.fromkeys([*needs, *([f"kernel:{kernel}"] if kernel else [])], 1)


def clients_of(experiment: Mapping[str, Any]) -> dict[str, int]:
    """How many clients share each workload, by its name, where the file does not name their hosts."""
    shared = (table for table in workloads(experiment) if table.get("clients") and not table.get("hosts"))
    return {table.get("name", "primary"): table["clients"] for table in shared}


def planned_runs(plan: Mapping[str, Any]) -> list[PlannedRun]:
    """The runs in a plan, as `Experiment.plan` gives it.

    Raises:
        ClusterError: whether a run is needed depends on the runs before it.
    """
    if any("stop" in run["experiment"].get("sweep", {}) for run in plan["runs"]):
        raise ClusterError(
            "`sweep.stop` decides after each run whether the next one is needed, but a cluster does them at once: give "
            "the number of `sweep.repeats` instead"
        )
    return [
        PlannedRun(f"{number:03}", run["experiment"], run["settings"], run["duration_s"], run["write_budget_bytes"])
        for number, run in enumerate(plan["runs"], 1)
    ]


class RunSet:
    """A set of runs in its directory, which this process holds until `close`."""

    def __init__(self, out: Path, runs: list[PlannedRun], resume: bool) -> None:
        """Creates the directory, or with `resume` continues in it.

        Raises:
            ClusterError: it holds other runs, another process uses it, or it cannot be written.
        """
        self.out, self.runs = out, runs
        description = _describe(runs)
        path = out / FILE
        try:
            if resume:
                _check_same(path, description)
            elif out.is_dir() and any(out.iterdir()):
                raise ClusterError(f"{out} is not empty: name another directory, or continue its runs with --resume")
            (out / "runs").mkdir(parents=True, exist_ok=True)
            if not path.exists():
                _write(path, json.dumps(description, indent=1).encode())
            self._lock = os.open(path, os.O_RDONLY)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._lock)
            raise ClusterError(f"{out} is in use by another process") from error
        except OSError as error:
            raise ClusterError(f"{error.filename or out}: {error.strerror}") from error

    def close(self) -> None:
        """Lets other processes use the directory."""
        os.close(self._lock)

    def left(self) -> list[PlannedRun]:
        """The runs whose recording is not complete."""
        return [run for run in self.runs if not (self.out / "runs" / run.id).exists()]

    def keep(self, result: RunResult) -> None:
        """Puts the recording of a run into the directory: into `runs` if it is complete, else into `set-aside`."""
        if not result.archive:
            return
        part = self.out / f".{result.id}.part"
        shutil.rmtree(part, ignore_errors=True)
        with tarfile.open(fileobj=io.BytesIO(result.archive), mode="r:gz") as tar:
            # Refuses links and paths that lead out of the directory.
            tar.extractall(part, filter="data")
        for path in part.rglob("*"):
            _sync(path)
        home = self.out / "runs" / result.id if result.outcome == "complete" else self._aside(result)
        home.parent.mkdir(exist_ok=True)
        part.rename(home)
        _sync(home.parent)

    def _aside(self, result: RunResult) -> Path:
        why = "failed" if result.outcome == "failed" else "interrupted"
        aside = self.out / "set-aside"
        number = next(number for number in range(1, 1 << 20) if not (aside / f"{result.id}.{why}-{number}").exists())
        return aside / f"{result.id}.{why}-{number}"


def _describe(runs: list[PlannedRun]) -> dict[str, Any]:
    """The set without its write budgets, which may be raised before it is continued."""

    def measured(experiment: dict[str, Any]) -> dict[str, Any]:
        device = {key: value for key, value in experiment["device"].items() if key != "write_budget"}
        return {**experiment, "device": device}

    entries = [{"id": run.id, "settings": run.settings, "experiment": measured(run.experiment)} for run in runs]
    return {"format": _FORMAT, "manometer": version(), "runs": entries}


def _check_same(path: Path, description: dict[str, Any]) -> None:
    try:
        before: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ClusterError(f"{path.parent} holds no runs of a cluster: leave out --resume") from None
    except ValueError as error:
        raise ClusterError(f"{path} is damaged: {error}") from error
    before = cast("dict[str, Any]", before) if isinstance(before, dict) else {}
    if before.get("format") != _FORMAT:
        raise ClusterError(f"{path} is of another version of Manometer")
    if before.get("manometer") != description["manometer"]:
        raise ClusterError(
            f"{path.parent} was begun by version {before.get('manometer')} of Manometer, this is "
            f"{description['manometer']}: continue with the same version, or begin anew"
        )
    if before.get("runs") != json.loads(json.dumps(description["runs"])):
        raise ClusterError(
            f"{path.parent} holds the runs of another experiment, or the file or a --set has changed since: begin "
            "anew in another directory"
        )


def _write(path: Path, content: bytes) -> None:
    """Writes the whole file or none of it."""
    part = path.with_suffix(".part")
    part.write_bytes(content)
    _sync(part)
    part.rename(path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
