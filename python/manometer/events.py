"""The events of a run in progress."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from manometer._recording import Finding

__all__ = [
    "Ended",
    "Event",
    "Failed",
    "Finding",
    "Note",
    "PhaseBegun",
    "Preparing",
    "Ready",
    "RunBegun",
    "Sample",
    "Tick",
]


@dataclass(frozen=True)
class RunBegun:
    """A run begins: number `run` of `runs`, the settings of the sweep, the recording and the approximate length.

    >>> line = '{"event":"run","run":1,"runs":2,"settings":{},"path":"runs/001","seconds":60.0}'
    >>> manometer.events.parse(line).runs
    2
    """

    run: int
    runs: int
    settings: dict[str, Any]
    path: Path
    seconds: float


@dataclass(frozen=True)
class Preparing:
    """A workload prepares its database or files: `done` of `total`.

    >>> manometer.events.parse('{"event":"preparing","workload":"primary","what":"loading","done":1,"total":4}').total
    4
    """

    workload: str
    what: str
    done: int
    total: int


@dataclass(frozen=True)
class Ready:
    """A workload is prepared.

    >>> manometer.events.parse('{"event":"ready","workload":"primary"}')
    Ready(workload='primary')
    """

    workload: str


@dataclass(frozen=True)
class PhaseBegun:
    """A phase begins; its length in seconds includes settling.

    >>> manometer.events.parse('{"event":"phase","id":"w0","label":"alone","seconds":30.0}').id
    'w0'
    """

    id: str
    label: str
    seconds: float


@dataclass(frozen=True)
class Sample:
    """A workload's last sample: its performance in `unit`, and the 99th percentile of its latency.

    >>> manometer.events.parse('{"event":"rate","workload":"primary","rate":5.0,"unit":"ops/s","p99_us":null}')
    Sample(workload='primary', rate=5.0, unit='ops/s', p99_us=None)
    """

    workload: str
    rate: float
    unit: str
    p99_us: float | None


@dataclass(frozen=True)
class Tick:
    """A sample interval has passed; the seconds left.

    >>> manometer.events.parse('{"event":"beat","phase_left_s":1.0,"run_left_s":9.0}').run_left_s
    9.0
    """

    phase_left_s: float
    run_left_s: float


@dataclass(frozen=True)
class Ended:
    """A workload ended by itself before the end of the plan.

    >>> manometer.events.parse('{"event":"ended","workload":"writer","text":"status 0"}').workload
    'writer'
    """

    workload: str
    text: str


@dataclass(frozen=True)
class Failed:
    """A workload failed.

    >>> manometer.events.parse('{"event":"failed","workload":"writer","text":"no space left"}').text
    'no space left'
    """

    workload: str
    text: str


@dataclass(frozen=True)
class Note:
    """Any other line of the program.

    >>> manometer.events.parse("Preparing ...")
    Note(text='Preparing ...')
    """

    text: str


if TYPE_CHECKING:
    Beat: TypeAlias = Tick


def __getattr__(name: str) -> type[Tick]:
    """`Beat` is the name of `Tick` before 0.2."""
    if name == "Beat":
        warnings.warn("`manometer.events.Beat` is deprecated: use `Tick`", DeprecationWarning, stacklevel=2)
        return Tick
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


Event: TypeAlias = RunBegun | Preparing | Ready | PhaseBegun | Sample | Tick | Finding | Ended | Failed | Note
"""Any event of a run."""

_KINDS: dict[str, type[Preparing | Ready | PhaseBegun | Sample | Tick | Ended | Failed]] = {
    "preparing": Preparing,
    "ready": Ready,
    "phase": PhaseBegun,
    "rate": Sample,
    "beat": Tick,
    "ended": Ended,
    "failed": Failed,
}


def parse(line: str) -> Event:
    """Parses a line of the program's standard error; any line that is not an event is a note."""
    try:
        fields: dict[str, Any] = json.loads(line)
        kind = fields.pop("event")
        if kind == "finding":
            return Finding(fields["id"], fields["severity"], fields.get("phase"), fields["text"])
        if kind == "run":
            fields["path"] = Path(fields["path"])
            return RunBegun(**fields)
        return _KINDS[kind](**fields)
    except (ValueError, TypeError, KeyError, AttributeError):
        return Note(line)
