"""One run of an experiment on a host: the task that Dask places."""

# Dask is only partly typed.
# pyright: basic
from __future__ import annotations

import copy
import io
import json
import tarfile
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from distributed import get_worker

from manometer import _native, events
from manometer._experiment import Experiment, Run
from manometer._program import command
from manometer.cluster.host import Host, is_wanted, report, this_host
from manometer.cluster.load import client_command
from manometer.cluster.rules import workloads
from manometer.errors import ExperimentError, ManometerError, ProgramError

Outcome = Literal["complete", "failed", "refused", "stopped"]
# How long an interrupted run may take to complete its recording before it is killed, in seconds.
_ENDING_S = 60.0
# How often the watch looks whether the run is still wanted, in seconds.
_LOOK_S = 1.0


@dataclass(frozen=True)
class Order:
    """A run to do.

    Attributes:
        work: the set that it belongs to.
        id: its number in the set, such as `003`.
        experiment: the resolved file.
        silence_s: a run that reports nothing for so long hangs, and is ended.
        budget_bytes: what may be written to the device; None if unlimited.
        written_elsewhere: the bytes that the set had other hosts write to the device of this name, by host.
        places: the addresses of the hosts of its clients, for all workloads that have some, one after the other.
    """

    work: str
    id: str
    experiment: dict[str, Any]
    silence_s: float
    budget_bytes: int | None
    written_elsewhere: dict[str, int]
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunResult:
    """What came of a run.

    Attributes:
        archive: the recording as a tar file, also of a failed or stopped run; empty where nothing was recorded.
        written_bytes: what the host ever wrote to the device from its directory; None if unknown.
    """

    id: str
    host: str
    outcome: Outcome
    text: str
    archive: bytes
    seconds: float
    written_bytes: int | None


def perform(order: Order) -> RunResult:
    """Performs the run on this host, within its rules, and returns the recording."""
    host, begin = this_host(), time.monotonic()

    def result(outcome: Outcome, text: str, archive: bytes = b"", written: int | None = None) -> RunResult:
        return RunResult(order.id, host.name, outcome, text, archive, time.monotonic() - begin, written)

    refusals = host.rules.refusals(order.experiment)
    if refusals:
        return result("refused", "; ".join(refusals))
    directory = host.rules.directory_of(order.experiment["device"])
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return result("refused", f"{directory}: {error.strerror}")
    report({"work": order.work, "run": order.id, "event": "begins"})
    with tempfile.TemporaryDirectory(prefix="manometer-", dir=get_worker().local_directory) as scratch:
        file, out = Path(scratch, "experiment.toml"), Path(scratch, "recording")
        file.write_text(_native.toml_of_json(json.dumps(_for_host(order, host, directory))), encoding="utf-8")
        outcome, text = _run(order, host, file, out)
        _add_host(out, host, order)
        return result(outcome, text, _archive(out), _written(directory))


def _for_host(order: Order, host: Host, directory: Path) -> dict[str, Any]:
    """The experiment with the directory of this host, and what other hosts left of the budget."""
    device = {**order.experiment["device"], "directory": str(directory)}
    if order.budget_bytes is not None:
        spent = sum(written for other, written in order.written_elsewhere.items() if other != host.name)
        # A budget of zero is no budget that a file can have; one byte is as little.
        device["write_budget"] = max(1, order.budget_bytes - spent)
    experiment = copy.deepcopy({**order.experiment, "device": device})
    places = iter(order.places)
    for table in workloads(experiment):
        if table.get("clients") and order.places:
            table["hosts"] = [client_command(next(places), host.security) for _ in range(table["clients"])]
    return experiment


def _run(order: Order, host: Host, file: Path, out: Path) -> tuple[Outcome, str]:
    """Runs the program to its end, unless the command ends the set or the run falls silent."""
    try:
        started = Experiment(file).start(out, replace=True, wait=True, progress=False)
        with started as run, _Watch(run, order, host) as watch:
            for event in run:
                watch.handle(event)
    except ExperimentError as error:
        return "refused", str(error)
    except ProgramError as error:
        return "failed", str(error)
    if watch.reason:
        return "failed", watch.reason
    return ("stopped", "stopped by the command that started it") if watch.is_stopped else ("complete", "")


class _Watch(threading.Thread):
    """Watches a run: passes on what it reports, and ends it when it hangs or nobody waits for it."""

    def __init__(self, run: Run, order: Order, host: Host) -> None:
        super().__init__(daemon=True, name=f"watch of run {order.id}")
        self.run_, self.order, self.host, self.worker = run, order, host, get_worker()
        self.key = self.worker.get_current_task()
        self.last_event_s, self.over = time.monotonic(), threading.Event()
        self.ended_at: float | None = None
        self.is_stopped, self.reason = False, ""

    def __enter__(self) -> _Watch:
        """Begins to watch."""
        self.host.hold(self.order.work, self.end)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends."""
        self.over.set()
        self.host.release(self.order.work, self.end)

    def handle(self, event: events.Event) -> None:
        """Reports the progress of the run."""
        self.last_event_s = time.monotonic()
        about = {"work": self.order.work, "run": self.order.id}
        match event:
            case events.PhaseBegun(id=phase):
                report({**about, "event": "phase", "phase": phase})
            case events.Preparing(workload=workload, what=what) if event.done == 0:
                report({**about, "event": "phase", "phase": f"{what} of {workload}"})
            case events.Tick(run_left_s=left_s) if int(left_s) % 10 == 0:
                report({**about, "event": "left", "left_s": left_s})
            case events.Note(text=text) if text.startswith("waiting:"):
                report({**about, "event": "phase", "phase": "waits for the disk"})
            case _:
                pass

    def end(self) -> None:
        """Ends the run on request of the command that started it."""
        self.is_stopped = True
        self._interrupt()

    def _interrupt(self) -> None:
        if self.ended_at is None:
            self.ended_at = time.monotonic()
            self.run_.stop()

    def run(self) -> None:
        """Looks every second."""
        while not self.over.wait(_LOOK_S):
            if not is_wanted(self.worker, self.key):
                self.end()
            silent_s = time.monotonic() - self.last_event_s
            if silent_s > self.order.silence_s and not self.reason:
                self.reason = f"the run reported nothing for {silent_s:.0f} s and was ended"
                self._interrupt()
            if self.ended_at is not None and time.monotonic() - self.ended_at > _ENDING_S:
                self.run_.stop(at_once=True)


def _add_host(out: Path, host: Host, order: Order) -> None:
    """Adds the host and the number of the run to `environment.json`."""
    path = out / "environment.json"
    if path.exists():
        environment = json.loads(path.read_text(encoding="utf-8"))
        environment["cluster"] = {"host": host.name, "run": order.id}
        _native.write_document(out, path.name, json.dumps(environment, indent=2) + "\n")


def _archive(out: Path) -> bytes:
    if not out.is_dir():
        return b""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=1) as tar:
        tar.add(out, arcname=".")
    return archive.getvalue()


def _written(directory: Path) -> int | None:
    try:
        return command("doctor", directory)["written_bytes"]
    except ManometerError:
        return None
