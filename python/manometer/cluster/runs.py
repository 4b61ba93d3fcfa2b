"""The runs of an experiment over the hosts of a cluster."""

# Dask is only partly typed.
# pyright: basic
from __future__ import annotations

import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, cast

from distributed import Client, Future
from distributed.scheduler import KilledWorker

from manometer import _recording
from manometer._experiment import Experiment
from manometer._program import command
from manometer._recording import Recording, Recordings
from manometer.cluster._set import PlannedRun, RunSet, planned_runs
from manometer.cluster._table import Table
from manometer.cluster.connection import HostState, check_versions, connect, gone, hosts_of
from manometer.cluster.host import TOPIC, stop_here
from manometer.cluster.load import client_places
from manometer.cluster.perform import Order, RunResult, perform
from manometer.errors import ClusterError, ManometerError

_T = TypeVar("_T")
# How often hosts are looked for, in seconds.
LOOK_S = 1.0
# A run that reports nothing for so long hangs, in seconds; creating a large database reports every tenth of it.
SILENCE_S = 1800.0
# How long stopped runs may take to complete their recordings, in seconds.
_STOPPING_S = 90.0


def run(
    source: str | PathLike[str] | Mapping[str, Any],
    out: str | PathLike[str],
    *,
    scheduler: str | None = None,
    local: int | None = None,
    security: str | PathLike[str] | None = None,
    changes: Mapping[str, Any] | None = None,
    resume: bool = False,
    silence_s: float = SILENCE_S,
) -> Recording | Recordings:
    """Runs an experiment on the hosts of a cluster, each run on a host that has the device and the kernel it names.

    ```python
    manometer.cluster.run("sweep.toml", "results/sweep", scheduler="tls://head:8786", security="certificates")
    ```

    Args:
        source: the experiment, as for `manometer.Experiment`.
        out: the directory of all recordings: `runs/001`, `runs/002` …
        scheduler: the address of the cluster's scheduler.
        local: instead of it, a cluster of this many processes on this machine.
        security: the directory of the cluster's certificates.
        changes: changed values, as with `--set`.
        resume: continue in `out` with the runs that are not complete.
        silence_s: a run that reports nothing for so many seconds hangs, and is ended.

    Returns:
        The recordings of all runs.

    Raises:
        ExperimentError: the experiment is invalid; nothing was started.
        ClusterError: no host can do a run, versions differ, or a run failed; the complete ones are in `out`.
    """
    plan = Experiment(source, changes=changes).plan(elsewhere=True)
    with connect(scheduler, local=local, security=security) as client:
        planned = planned_runs(plan)
        if not resume:
            # Before anything is written.
            _check(hosts_of(client), planned, local is not None)
        runs = RunSet(Path(out), planned, resume)
        try:
            _Dispatch(client, runs, silence_s, local is not None).run()
        finally:
            runs.close()
    command("report", out)
    return _recording.open(out)


class _Dispatch:
    """Hands the runs of a set to hosts, at most as many at a time as hosts can do them."""

    def __init__(self, client: Client, runs: RunSet, silence_s: float, is_local: bool) -> None:
        self._client, self._set, self._silence_s, self._is_local = client, runs, silence_s, is_local
        self._work = uuid.uuid4().hex
        left = runs.left()
        # The runs that need the same, in order; each kind is looked at as a whole, however many there are.
        self._waiting: dict[_Needs, deque[PlannedRun]] = {}
        for run in left:
            self._waiting.setdefault(_needs(run), deque()).append(run)
        # How many runs under way need the same resources.
        self._busy: Counter[_Resources] = Counter()
        self._under_way: dict[Future, PlannedRun] = {}
        self._ended: SimpleQueue[Future] = SimpleQueue()
        self._events: SimpleQueue[dict[str, Any]] = SimpleQueue()
        self._failed: list[RunResult] = []
        # What each host wrote to each device, as far as its results say.
        self._written: dict[str, dict[str, int]] = {}
        # How many hosts can do each kind of run, and the kinds that had none.
        self._able: dict[_Needs, int] = {}
        self._without_host: set[_Needs] = set()
        # The addresses of the clients' hosts, by the run under way.
        self._places: dict[str, tuple[str, ...]] = {}
        seconds = {run.id: run.seconds for run in runs.runs}
        self._table = Table([run.id for run in left], seconds, len(runs.runs) - len(left))

    def run(self) -> None:
        """Does all runs that are left.

        Raises:
            ClusterError: a run failed, or cannot be done.
        """
        left = [run for runs in self._waiting.values() for run in runs]
        _check(hosts_of(self._client), left, self._is_local)
        self._client.subscribe_topic(TOPIC, lambda event: self._events.put(event[1]))
        try:
            self._run_all()
        except BaseException:
            self._stop()
            raise
        finally:
            self._table.close()
            self._client.unsubscribe_topic(TOPIC)
        if self._failed:
            lines = [f"run {one.id} {one.outcome} on {one.host}: {one.text}" for one in self._failed]
            raise ClusterError("\n".join([*lines, "--resume tries them again"]), 1)

    def _run_all(self) -> None:
        found: list[HostState] = []
        looked_at = -LOOK_S
        while self._waiting or self._under_way:
            if time.monotonic() - looked_at >= LOOK_S:
                found, looked_at = hosts_of(self._client), time.monotonic()
                self._able = {needs: sum(host.can(dict(needs.resources)) for host in found) for needs in self._waiting}
                self._warn_of_waiting()
            self._submit(found)
            for event in _all_of(self._events):
                if event.get("work") == self._work:
                    self._table.handle(event)
            for future in _all_of(self._ended, LOOK_S / 10):
                self._take_back(future)
            self._table.draw(one.name for one in found)

    def _warn_of_waiting(self) -> None:
        for needs, runs in self._waiting.items():
            if self._able[needs] == 0 and needs not in self._without_host:
                self._without_host.add(needs)
                self._table.note(f"run {runs[0].id} waits: no host has {', '.join(_words(runs[0]))} now")

    def _submit(self, found: list[HostState]) -> None:
        """Submits runs to the hosts that are free for them: one at a time for a device whose budget is limited."""
        for needs, runs in list(self._waiting.items()):
            limit = self._able[needs] if needs.is_unlimited else min(self._able[needs], 1)
            while runs and self._busy[needs.resources] < limit:
                places = self._place_clients(found, needs.clients)
                if places is None:
                    break
                self._submit_one(runs.popleft(), places)
            if not runs:
                del self._waiting[needs]

    def _place_clients(self, found: list[HostState], clients: int) -> tuple[str, ...] | None:
        """The addresses of the hosts of so many clients; None while others have their places."""
        # The clients of an embedded host are processes of the run itself: a tunnel would only add its delay.
        if clients == 0 or self._is_local:
            return ()
        taken = Counter(address for places in self._places.values() for address in places)
        try:
            return tuple(host.address for host in client_places(found, clients, taken))
        except ClusterError:
            return None

    def _submit_one(self, run: PlannedRun, places: tuple[str, ...]) -> None:
        written = self._written.get(run.device or "", {})
        self._places[run.id] = places
        order = Order(self._work, run.id, run.experiment, self._silence_s, run.budget_bytes, written, places)
        key = f"run-{run.id}-{self._work}"
        future = self._client.submit(perform, order, key=key, resources=run.needs, pure=False)
        self._under_way[future] = run
        self._busy[_needs(run).resources] += 1
        future.add_done_callback(self._ended.put)

    def _take_back(self, future: Future) -> None:
        run = self._under_way.pop(future)
        self._busy[_needs(run).resources] -= 1
        self._places.pop(run.id)
        if future.status == "cancelled":
            raise gone()
        error = cast("BaseException | None", future.exception())
        if error is None:
            result = future.result()
            self._set.keep(result)
        else:
            result = RunResult(run.id, *_place_and_reason(error), b"", 0.0, None)
        future.release()
        if result.written_bytes is not None:
            self._written.setdefault(run.device or "", {})[result.host] = result.written_bytes
        if result.outcome != "complete":
            self._failed.append(result)
        self._table.end(run.id, result.host, result.outcome, result.text)

    def _stop(self) -> None:
        """Ends the runs that are under way, and keeps what they recorded."""
        try:
            self._client.run(stop_here, self._work, on_error="ignore")
            for future, run in self._under_way.items():
                result = future.result(timeout=_STOPPING_S)
                self._set.keep(result)
                self._table.end(run.id, result.host, result.outcome, result.text)
        except Exception as error:
            # The error that stopped the set is the one to show.
            self._table.note(f"not all runs ended in order: {error or type(error).__name__}")


def _place_and_reason(error: BaseException) -> tuple[str, Any, str]:
    if isinstance(error, KilledWorker):
        return str(error.last_worker.name), "failed", "the host's process died several times during this run"
    text = str(error) if isinstance(error, ManometerError) else f"{type(error).__name__}: {error}"
    return "its host", "failed", text


def _check(found: list[HostState], planned: list[PlannedRun], is_local: bool) -> None:
    """Refuses runs that the hosts which are there cannot do.

    Raises:
        ClusterError: no host has what a run needs, there are too few places for clients, or a version differs.
    """
    check_versions(found)
    kinds = {_needs(run): run for run in planned}
    lacking = [run for run in kinds.values() if not any(host.can(run.needs) for host in found)]
    if lacking:
        wanted = sorted({", ".join(_words(run)) for run in lacking})
        offers = "; ".join(f"{host.name}: {offer(host)}" for host in found) or "there are no hosts"
        raise ClusterError(f"no host has {'; none has '.join(wanted)} ({offers})")
    if not is_local:
        client_places(found, max((needs.clients for needs in kinds), default=0))


_Resources = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class _Needs:
    """What runs of one kind need."""

    resources: _Resources
    is_unlimited: bool
    clients: int


def _needs(run: PlannedRun) -> _Needs:
    return _Needs(tuple(sorted(run.needs.items())), run.budget_bytes is None, run.clients)


def _all_of(queue: SimpleQueue[_T], patience_s: float = 0.0) -> Iterator[_T]:
    """What is in a queue now; waits for the first a while."""
    try:
        yield queue.get(timeout=patience_s) if patience_s else queue.get_nowait()
        while True:
            yield queue.get_nowait()
    except Empty:
        return


def _words(run: PlannedRun) -> list[str]:
    """What a run needs, for people."""
    device = "a device to measure" if run.device is None else f"the device {run.device}"
    kernel = run.experiment["device"].get("kernel")
    return [device, *([f"the kernel {kernel}"] if kernel else [])]


def offer(host: HostState) -> str:
    """What a host has, for people: its devices and the release of its kernel."""
    kernels = [name.removeprefix("kernel:") for name in host.resources if name.startswith("kernel:")]
    devices = [name.removeprefix("device:") for name in host.resources if name.startswith("device:")]
    if not devices:
        devices = ["the device of the file" if "device" in host.resources else "no device"]
    return ", ".join([*devices, *(f"kernel {one}" for one in sorted(kernels, key=len)[-1:])])
