"""Recordings: the folders that runs leave behind, with their analysis."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

from manometer import _native
from manometer._native import Frame
from manometer.errors import RecordingError


@dataclass(frozen=True)
class Finding:
    """A rule's statement about a recording.

    Attributes:
        id: its kind, fixed: `phase-too-short`.
        severity: how much it matters.
        phase: the phase it is about, if it is about one.
        text: what it means and what to do.
    """

    id: str
    severity: Literal["info", "warning", "error"]
    phase: str | None
    text: str


class Recording:
    """The recording of one run, read as far as it is complete.

    A run that was cut off, by power or `kill -9`, opens as well: its `status` is "cut", what is missing of it
    is in `damage` and `findings`, and a phase that was not measured to its end is a gap.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Opens the recording in the folder `path`.

        Raises:
            RecordingError: it is none, its plan is damaged, or a newer version wrote it.
        """
        self._path = Path(path)
        self._native = _native.Recording.open(self._path)

    @property
    def path(self) -> Path:
        """Its folder."""
        return self._path

    @property
    def experiment(self) -> str:
        """The experiment file exactly as run, in TOML."""
        return self._native.experiment

    @cached_property
    def plan(self) -> dict[str, Any]:
        """The plan: workloads, phases, criterion, seed; `plan.json`."""
        return json.loads(self._native.plan())

    @cached_property
    def environment(self) -> dict[str, Any]:
        """The host, the device and our version; `environment.json`. What the host does not show is None."""
        return json.loads(self._native.environment()) or {}

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The analysis, as in `summary.json`, computed again from the recording."""
        return json.loads(self._native.summary())

    @property
    def status(self) -> Literal["complete", "interrupted", "failed", "cut"]:
        """How the run ended; "cut" where it has no end."""
        return self.summary["status"]

    @property
    def damage(self) -> list[str]:
        """What could not be read, in words; empty for a complete recording."""
        return self._native.damage

    @property
    def findings(self) -> list[Finding]:
        """The findings: read them before the numbers."""
        return _findings(self.summary["findings"])

    @property
    def phases(self) -> Frame:
        """The phases, a row each, warm-up left out.

        Columns: `phase`, `label`, `kind` (solo, baseline, pressure), `start_s` and `end_s` since the recording's
        begin, `steady`, `performance` with its 95 % interval (`performance_low`, `performance_high`) and `unit`,
        `samples` it comes from, the `reason` where something is null, and a column for each setting that the
        sweep or a phase changes (`writer.iodepth`).
        """
        return _native.phases([self._native], False)

    def pressure(self, neighbour: str | None = None) -> Frame:
        """The pressure of each phase with its 95 % interval: the share of ρ(w0) that is gone (Lange 2023, seed 000,
        definition 3).

        Columns: `phase`, `label`, `step` of the pressure scale from 1 (null where the phase could not be tested, as
        `scale_state` says: "tested" or "untested"), `pressure` (0 is no harm, 0.9 is nine tenths
        gone, below 0 is help), `pressure_low`, `pressure_high`, `reason` where one is null, and the settings.

        Args:
            neighbour: a neighbour's name: then what *it* loses against running alone, with its own performance.

        Raises:
            RecordingError: there is no such neighbour.
        """
        return _native.pressures([self._native], neighbour, False)

    def scale(self) -> list[list[str]]:
        """The pressure scale: the tested phases by growing pressure; those that do not differ significantly share a
        step. A phase that could not be tested is on none: `summary["untested"]` lists these with their reasons."""
        return self.summary["scale"]

    @property
    def sources(self) -> list[str]:
        """The names of the sample series, sorted: of workloads, engines, the host and its devices."""
        return self._native.sources()

    def samples(self, source: str) -> Frame:
        """The sample series `source`, a row for each interval.

        Columns: `t_ns` (when the interval ended, CLOCK_MONOTONIC), `t_s` (the same since the recording's begin), and
        float columns with their units; null is a gap. `metadata["cut"]` is "true" where the file ends early.

        Raises:
            RecordingError: there is no such series, or not even its head can be read.
        """
        return self._native.samples(source)

    def latency(
        self, operation: str, workload: str | None = None, *, by: Literal["interval", "phase"] = "interval"
    ) -> Frame:
        """The latencies of an operation, in microseconds, by sample interval or by phase.

        Columns: `begin_s` and `end_s`, or `phase` and `label`; then `requests`, `mean_us`, `p50_us`, `p90_us`,
        `p99_us`, `p999_us`, `max_us`; null where there was no request.

        Args:
            operation: `read`; with `.response` behind it from when requests were due, in an open loop.
            workload: the primary by default.
            by: one row for each of what.

        Raises:
            RecordingError: there are no such latencies; the text names those that there are.
        """
        if by not in ("interval", "phase"):
            raise RecordingError(f'by is {by!r}: write "interval" or "phase"')
        return self._native.latency(operation, workload, by == "phase")

    def __repr__(self) -> str:
        """Its experiment and its folder."""
        return f"<manometer.Recording: {self.plan['experiment']}, {self._path}>"


class Recordings(Sequence[Recording]):
    """Several recordings, in order: the runs of a sweep, or some of your own choice."""

    def __init__(self, recordings: Iterable[Recording], *, skipped: Iterable[Path] = ()) -> None:
        """A sequence of `recordings`; `skipped` are folders without one."""
        self._recordings = list(recordings)
        self._skipped = list(skipped)

    @overload
    def __getitem__(self, index: int) -> Recording: ...
    @overload
    def __getitem__(self, index: slice) -> Recordings: ...
    def __getitem__(self, index: int | slice) -> Recording | Recordings:
        """One of them, or a stretch of them."""
        if isinstance(index, slice):
            return Recordings(self._recordings[index])
        return self._recordings[index]

    def __len__(self) -> int:
        """How many there are."""
        return len(self._recordings)

    def __iter__(self) -> Iterator[Recording]:
        """One after the other."""
        return iter(self._recordings)

    def __repr__(self) -> str:
        """How many, and of which folders."""
        return f"<manometer.Recordings: {', '.join(str(one.path) for one in self._recordings)}>"

    @property
    def skipped(self) -> list[Path]:
        """Folders without a recording: runs that never began."""
        return list(self._skipped)

    @property
    def findings(self) -> list[Finding]:
        """What a reader of all together must know: what should be the same in them and is not."""
        return _findings(json.loads(_native.findings(natives(self))))

    @property
    def phases(self) -> Frame:
        """The phases of all: as `Recording.phases`, with the folder's name as `run` before them."""
        return _native.phases(natives(self), True)

    def pressure(self, neighbour: str | None = None) -> Frame:
        """The pressures of all: as `Recording.pressure`, with the folder's name as `run` before them.

        Raises:
            RecordingError: none of them has such a neighbour.
        """
        return _native.pressures(natives(self), neighbour, True)


def _findings(findings: list[dict[str, Any]]) -> list[Finding]:
    return [Finding(one["id"], one["severity"], one.get("phase"), one["text"]) for one in findings]


def natives(recordings: Iterable[Recording]) -> list[_native.Recording]:
    """Their compiled halves."""
    return [one._native for one in recordings]


def open(path: str | PathLike[str]) -> Recording | Recordings:
    """Opens a recording, or the recordings of a folder of runs (`runs/001`, `runs/002` …).

    Raises:
        RecordingError: there is none, one is damaged beyond reading, or a newer version wrote it.
    """
    path = Path(path)
    if not path.is_dir():
        raise RecordingError(f"{path} is no folder: a recording is the folder that a run left behind")
    runs, skipped = _native.recordings_in(path)
    if runs == [path]:
        return Recording(path)
    return Recordings((Recording(run) for run in runs), skipped=skipped)


def compare(*paths: str | PathLike[str], bound: float = 0.05) -> dict[str, Any]:
    """Tells whether recordings differ, phase by phase, by how much, and how sure that is.

    Args:
        paths: two are A and B, each a recording or a folder of repeats; three and more are a series in order.
        bound: differences of less than this share do not matter.

    Returns:
        What `manometer compare --format json` prints: for each phase the `ratio` of B to A with its 95 % interval
        and a `verdict` (same, different, unknown).

    Raises:
        CompareError: they have nothing in common, or one cannot be read.
    """
    return json.loads(_native.compare(paths, bound))
