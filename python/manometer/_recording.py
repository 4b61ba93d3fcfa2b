"""Recordings of runs, and their analysis."""

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
from manometer._table import Table
from manometer.errors import RecordingError


@dataclass(frozen=True)
class Finding:
    """A rule's statement about a recording.

    Attributes:
        id: the rule's stable id: `phase-too-short`.
        severity: its severity.
        phase: the phase that it concerns, if any.
        text: what it means and what to do.
        phases: the phases it is about, if it is about several.
        threatens: the conclusion that it threatens: all of the result, that it is about storage, the results of its
            phases, or the tail of latencies; None where it threatens nothing.
        strength: how strongly: a fatal threat rules the conclusion out, a serious one may have changed it, a minor one
            limits how far it can be generalised.

    >>> finding = manometer.demo().findings[0]
    >>> finding.severity in ("info", "warning", "error")
    True
    """

    id: str
    severity: Literal["info", "warning", "error"]
    phase: str | None
    text: str
    phases: tuple[str, ...] = ()
    threatens: Literal["result", "storage", "phase", "tail"] | None = None
    strength: Literal["fatal", "serious", "minor"] | None = None


@dataclass(frozen=True)
class Reason:
    """A finding that threatens a conclusion.

    Attributes:
        id: the rule's id: `cpu-saturated`.
        threatens: the conclusion that it threatens: all of the result, that it is about storage, the results of its
            phases, or the tail of latencies.
        strength: how strongly.
        allows: the best grade that it allows.
        phases: the phases it is about; empty if it is about the whole recording.
        clause: what happened, as a clause: "the processors were saturated".
        text: what it means and what to do.

    >>> reason = manometer.demo().verdict.reasons[0]
    >>> reason.id, reason.clause
    ('cpu-saturated', 'the processors were saturated')
    """

    id: str
    threatens: Literal["result", "storage", "phase", "tail"]
    strength: Literal["fatal", "serious", "minor"]
    allows: Literal["sound", "indicative", "void"]
    phases: tuple[str, ...]
    clause: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """What a result may be used for, and why.

    Attributes:
        grade: "sound": for conclusions; "indicative": as an indication that a repetition has to confirm; "void": for no
            conclusion about what was to be measured.
        reasons: what threatens the conclusion, the greatest threat first.
        about: the conclusion that it is about: "pressure", "performance" where nothing can be compared with a `w0`, or
            "nothing" where nothing was measured.

    >>> verdict = manometer.demo().verdict
    >>> verdict.grade, verdict.about
    ('void', 'pressure')
    """

    grade: Literal["sound", "indicative", "void"]
    reasons: tuple[Reason, ...]
    about: Literal["pressure", "performance", "nothing"] = "pressure"


class Summary(Table, dict[str, Any]):
    """The analysis of a recording, as in `summary.json`: a dictionary, and a table of its phases.

    >>> summary = manometer.demo().summary
    >>> summary["criterion"]["unit"]
    'ops/s'
    >>> summary.to_polars().columns[:3]
    ['phase', 'label', 'performance']
    """

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "phase": phase["id"],
                "label": phase["label"],
                **_estimate("performance", phase["performance"], "mean"),
                "unit": self["criterion"]["unit"],
                **_estimate("pressure", phase["pressure"], "value"),
            }
            for phase in self["phases"]
        ]

    def _sentences(self) -> list[str]:
        return [self["headline"]]


class Comparison(Table, dict[str, Any]):
    """What `compare` returns: a dictionary, and a table of the compared phases.

    >>> for out in ("before", "after"):
    ...     experiment = manometer.Experiment(
    ...         {
    ...             "name": "short",
    ...             "interval": "100ms",
    ...             "device": {"directory": "data"},
    ...             "primary": {"engine": "null", "workload": "ycsb-b", "records": 1000},
    ...             "plan": {"phase": "1s"},
    ...         }
    ...     )
    ...     _ = experiment.run(out, progress=False)
    >>> manometer.compare("before", "after").to_polars()["id"].to_list()
    ['w0']
    """

    def _rows(self) -> list[dict[str, Any]]:
        names = ("id", "label", "ratio", "ci_low", "ci_high", "verdict", "gate")
        return [{name: phase.get(name) for name in names} for phase in self["phases"]]

    def _sentences(self) -> list[str]:
        verdict = self["verdict"]
        reasons = "; ".join(reason["clause"] for reason in verdict["reasons"])
        return [f"B {self['b']} against A {self['a']}: {verdict['grade']}{': ' if reasons else ''}{reasons}."]


def _estimate(name: str, estimate: dict[str, Any] | None, value: str) -> dict[str, Any]:
    estimate = estimate or {}
    return {name: estimate.get(value), f"{name}_low": estimate.get("ci_low"), f"{name}_high": estimate.get("ci_high")}


class Recording(Table):
    """The recording of one run, as far as it is complete.

    As a table it has a row for each phase: the columns of `phases`, then the pressure.

    The recording of a run that was killed, or lost power, can be opened too: its `status` is "cut", `damage` and
    `findings` describe what is missing, and a phase that was not measured to its end is a gap.

    >>> recording = manometer.demo()
    >>> recording.status, recording.damage
    ('complete', [])
    >>> [row["label"] for row in recording.phases.rows()][:2]
    ['no neighbour', 'writer.iodepth = 1']
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        """Opens the recording in the directory `path`.

        Raises:
            RecordingError: the directory is not a recording, its plan is damaged, or a newer version wrote it.
        """
        self._path = Path(path)
        self._native = _native.Recording.open(self._path)

    @property
    def path(self) -> Path:
        """The directory of the recording."""
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
        """The host, the device and the version of Manometer; `environment.json`. Unknown facts are None."""
        return json.loads(self._native.environment()) or {}

    @cached_property
    def summary(self) -> Summary:
        """The analysis, as in `summary.json`, computed again from the recording."""
        return Summary(json.loads(self._native.summary()))

    @property
    def status(self) -> Literal["complete", "interrupted", "failed", "cut"]:
        """How the run ended; "cut" if the recording has no end."""
        return self.summary["status"]

    @property
    def damage(self) -> list[str]:
        """What could not be read, as text; empty for a complete recording."""
        return self._native.damage

    @property
    def headline(self) -> str:
        """The main result in a sentence, with its interval and what the verdict says of it."""
        return self.summary["headline"]

    @property
    def verdict(self) -> Verdict:
        """What the result may be used for, and why."""
        return _verdict(self.summary["verdict"])

    @property
    def goal(self) -> dict[str, Any] | None:
        """Whether the result meets the `[goal]` of its experiment, as in `summary.json`; None without a goal.

        `met` is None where that cannot be decided.
        """
        return self.summary.get("goal")

    @property
    def findings(self) -> list[Finding]:
        """The findings, the greatest threat first: read them before the numbers."""
        return _findings(self.summary["findings"])

    @property
    def phases(self) -> Frame:
        """The phases without the warm-up, one row each.

        Columns: `phase`, `label`, `kind` (solo, baseline, pressure), `start_s` and `end_s` since the start of
        the recording, `steady`, `performance` with its 95 % interval (`performance_low`, `performance_high`) and
        `unit`, the number of `samples`, the `reason` of null values, and a column for each setting that the sweep or
        a phase changes (`writer.iodepth`).
        """
        return _native.phases([self._native], False)

    def pressure(self, neighbour: str | None = None) -> Frame:
        """The pressure of each phase with its 95 % interval: the share of ρ(w0) lost (Lange 2023, def. 3).

        Columns: `phase`, `label`, `step` of the pressure scale from 1 (null where the phase could not be tested, as
        `scale_state` states: "tested" or "untested"), `pressure` (0 is none, 0.9 is nine tenths lost, below 0 is a
        gain), `pressure_low`, `pressure_high`, the `reason` of null values, and the settings.

        Args:
            neighbour: the name of a neighbour; then its own pressure, relative to its solo run, and its performance.

        Raises:
            RecordingError: there is no such neighbour.
        """
        return _native.pressures([self._native], neighbour, False)

    def scale(self) -> list[list[str]]:
        """The pressure scale: the tested phases by increasing pressure. Phases that do not differ significantly share a
        step. A phase that could not be tested is on no step: `summary["untested"]` lists these with their reasons."""
        return self.summary["scale"]

    @property
    def sources(self) -> list[str]:
        """The names of the sample series, sorted: workloads, engines, the host and its devices."""
        return self._native.sources()

    def samples(self, source: str) -> Frame:
        """The sample series `source`, one row per sample interval.

        Columns: `t_ns` (when the sample interval ended, CLOCK_MONOTONIC), `t_s` (since the start of the recording),
        and float columns with their units; null is a gap. `metadata["cut"]` is "true" if the file ends early.

        Raises:
            RecordingError: there is no such series, or its header cannot be read.
        """
        return self._native.samples(source)

    def latency(
        self, operation: str, workload: str | None = None, *, by: Literal["interval", "phase"] = "interval"
    ) -> Frame:
        """The latencies of an operation, in microseconds, by sample interval or by phase.

        Columns: `begin_s` and `end_s`, or `phase` and `label`; then `requests`, `mean_us`, `p50_us`, `p90_us`,
        `p99_us`, `p999_us`, `max_us`; null without requests.

        Args:
            operation: such as `read`; in an open loop `read.response` for response times, from when requests were due.
            workload: the primary by default.
            by: one row per sample interval or per phase.

        Raises:
            RecordingError: there are no such latencies; the text names those that exist.
        """
        if by not in ("interval", "phase"):
            raise RecordingError(f'by is {by!r}: write "interval" or "phase"')
        return self._native.latency(operation, workload, by == "phase")

    def _rows(self) -> list[dict[str, Any]]:
        return _with_pressures(self.phases, self.pressure())

    def _sentences(self) -> list[str]:
        return [self.headline]

    def __repr__(self) -> str:
        """Shows the experiment and the directory."""
        return f"<manometer.Recording: {self.plan['experiment']}, {self._path}>"


class Recordings(Table, Sequence[Recording]):
    """A sequence of recordings: the runs of a sweep, or any others.

    As a table it has a row for each phase of each: the columns of `phases`, then the pressure.

    >>> both = manometer.Recordings([manometer.demo("one"), manometer.demo("two")])
    >>> sorted({row["run"] for row in both.phases.rows()})
    ['one', 'two']
    """

    def __init__(self, recordings: Iterable[Recording], *, skipped: Iterable[Path] = ()) -> None:
        """Creates a sequence of `recordings`; `skipped` are directories without one."""
        self._recordings = list(recordings)
        self._skipped = list(skipped)

    @overload
    def __getitem__(self, index: int) -> Recording: ...
    @overload
    def __getitem__(self, index: slice) -> Recordings: ...
    def __getitem__(self, index: int | slice) -> Recording | Recordings:
        """One recording, or a slice."""
        if isinstance(index, slice):
            return Recordings(self._recordings[index])
        return self._recordings[index]

    def __len__(self) -> int:
        """The number of recordings."""
        return len(self._recordings)

    def __iter__(self) -> Iterator[Recording]:
        """The recordings in order."""
        return iter(self._recordings)

    def _rows(self) -> list[dict[str, Any]]:
        return _with_pressures(self.phases, self.pressure()) if self._recordings else []

    def _sentences(self) -> list[str]:
        return [self.headline] if self._recordings else []

    def __repr__(self) -> str:
        """Shows the directories."""
        return f"<manometer.Recordings: {', '.join(str(one.path) for one in self._recordings)}>"

    @property
    def skipped(self) -> list[Path]:
        """Directories without a recording: runs that did not start."""
        return list(self._skipped)

    @property
    def headline(self) -> str:
        """The main result of all together in a sentence: which of them loses most."""
        return json.loads(_native.runs_verdict(natives(self)))["headline"]

    @property
    def verdict(self) -> Verdict:
        """What all together may be used for, and why."""
        return _verdict(json.loads(_native.runs_verdict(natives(self)))["verdict"])

    @property
    def findings(self) -> list[Finding]:
        """Findings about all recordings together: conditions that should be equal and differ."""
        return _findings(json.loads(_native.findings(natives(self))))

    @property
    def phases(self) -> Frame:
        """The phases of all recordings, as `Recording.phases`, after a column `run` with the directory's name."""
        return _native.phases(natives(self), True)

    def pressure(self, neighbour: str | None = None) -> Frame:
        """The pressures of all recordings, as `Recording.pressure`, after a column `run` with the directory's name.

        Raises:
            RecordingError: no recording has such a neighbour.
        """
        return _native.pressures(natives(self), neighbour, True)


def _with_pressures(phases: Frame, pressures: Frame) -> list[dict[str, Any]]:
    """The rows of `phases`, each with its pressure."""

    def key(row: dict[str, Any]) -> tuple[Any, Any]:
        return row.get("run"), row["phase"]

    names = ("pressure", "pressure_low", "pressure_high")
    by_phase = {key(row): row for row in pressures.rows()}
    return [row | {name: by_phase.get(key(row), {}).get(name) for name in names} for row in phases.rows()]


def _findings(findings: list[dict[str, Any]]) -> list[Finding]:
    return [_finding(one) for one in findings]


def _finding(one: dict[str, Any]) -> Finding:
    threat: dict[str, Any] = one.get("threat") or {}
    return Finding(
        one["id"],
        one["severity"],
        one.get("phase"),
        one["text"],
        tuple(one.get("phases", ())),
        threat.get("to"),
        threat.get("strength"),
    )


def _verdict(verdict: dict[str, Any]) -> Verdict:
    reasons = [
        Reason(
            one["id"],
            one["to"],
            one["strength"],
            one["allows"],
            tuple(one.get("phases", ())),
            one["clause"],
            one["text"],
        )
        for one in verdict["reasons"]
    ]
    return Verdict(verdict["grade"], tuple(reasons), verdict["about"])


def natives(recordings: Iterable[Recording]) -> list[_native.Recording]:
    """The native objects of `recordings`."""
    return [one._native for one in recordings]


def open(path: str | PathLike[str]) -> Recording | Recordings:
    """Opens a recording, or the recordings of a directory of runs (`runs/001`, `runs/002` …).

    Raises:
        RecordingError: there is none, one cannot be read, or a newer version wrote it.

    >>> _ = manometer.demo("a-recording")
    >>> manometer.open("a-recording").status
    'complete'
    """
    path = Path(path)
    if not path.is_dir():
        raise RecordingError(f"{path} is not a directory: a recording is the directory that a run left behind")
    runs, skipped = _native.recordings_in(path)
    if runs == [path]:
        return Recording(path)
    return Recordings((Recording(run) for run in runs), skipped=skipped)


def demo(path: str | PathLike[str] = "demo") -> Recording:
    """Opens the recording that comes with the package; first writes it into the directory `path` if there is none.

    Raises:
        RecordingError: it cannot be written, or `path` is something else.

    >>> manometer.demo().sources[:3]
    ['conductor', 'cpu', 'cpu.cores']
    """
    if not Path(path).exists():
        _native.write_demo(path)
    return Recording(path)


def compare(*paths: str | PathLike[str], bound: float = 0.05) -> Comparison:
    """Compares recordings phase by phase: whether they differ, by how much, and with what confidence.

    Args:
        paths: two are A and B, each a recording or a directory of repeats; three or more are a series in order.
        bound: the smallest relative difference that matters.

    Returns:
        What `manometer compare --format json` prints: for each phase the `ratio` of B to A with its 95 % interval,
        a `verdict` (same, different, unknown) and a `gate` (no_worse, worse, undecided).

    Raises:
        CompareError: they have nothing in common, one is given twice, or one cannot be read.

    >>> for out in ("before", "after"):
    ...     experiment = manometer.Experiment(
    ...         {
    ...             "name": "short",
    ...             "interval": "100ms",
    ...             "device": {"directory": "data"},
    ...             "primary": {"engine": "null", "workload": "ycsb-b", "records": 1000},
    ...             "plan": {"phase": "1s"},
    ...         }
    ...     )
    ...     _ = experiment.run(out, progress=False)
    >>> compared = manometer.compare("before", "after")
    >>> {phase["verdict"] for phase in compared["phases"]} <= {"same", "different", "unknown"}
    True
    """
    return Comparison(json.loads(_native.compare(paths, bound)))
