"""Traces: recorded sequences of requests, of 28 formats, plain or compressed.

Each call reads the trace again, in memory that does not grow with it; what is cut out of it
is read through the cut. Formats are in the manual (docs/traces.md), KV-replay's among them (Boza 2018, seed 003,
chapter 4).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import TypedDict

from manometer import _native
from manometer._native import Frame
from manometer.errors import DamagedTraceWarning

__all__ = ["Info", "Sizes", "Trace", "Written", "open"]


class Sizes(TypedDict):
    """The sizes in bytes of the requests that have one."""

    min: int
    mean: float
    max: int
    sum: float
    samples: int


class Info(TypedDict):
    """The totals of a trace. What it does not contain is None.

    `span_s` is in seconds, `footprint_bytes` the bytes of all keys with their values, or the different bytes of
    devices. `standard_errors` has an entry for each number that is an estimate, as keys are beyond 4 million.
    `damage` says from where on the trace makes no sense; all else is of the requests before.
    """

    requests: int
    keys: int
    span_s: float | None
    footprint_bytes: int | None
    operations: dict[str, int]
    clients: int | None
    key_size: Sizes | None
    value_size: Sizes | None
    times_backward: int
    times_absent: int
    failed: int | None
    standard_errors: dict[str, float]
    format: str
    skipped: int
    damage: str | None


class Written(TypedDict):
    """The written requests, the format, and the number of requests that lost a field in it."""

    requests: int
    format: str
    losses: dict[str, int]


class Trace:
    """A trace in a file, or a stretch of one.

    As Arrow it is a stream of rows: `polars.DataFrame(trace)` reads it whole, `batches` piece by piece. Columns:
    `time_ns` since the trace's own zero, `op`, `key` (a number, or the hash of its text), `key_text`, `key_size` and
    `value_size` in bytes, `client`, `ttl_s`, `offset` in bytes, `device`, `succeeded`; null where the trace has none.
    """

    def __init__(self, native: _native.Trace) -> None:
        """Made by `open`."""
        self._native = native

    @property
    def path(self) -> Path:
        """Its file."""
        return self._native.path

    @property
    def format(self) -> str:
        """Its format, as given or as found by its content."""
        return self._native.format

    def info(self) -> Info:
        """Reads it once and returns its totals.

        Raises:
            TraceError: the file cannot be read. Damage is part of the result instead.
        """
        return json.loads(self._native.info())

    def head(self, requests: int = 10) -> Frame:
        """The first requests; reads hardly more than it gives.

        Raises:
            TraceError: the file cannot be read. Damage among them is warned of (`DamagedTraceWarning`).
        """
        frame, damage = self._native.head(requests)
        warn_of(damage, self)
        return frame

    def slice(self, *, from_s: float = 0.0, seconds: float | None = None, requests: int | None = None) -> Trace:
        """A stretch of it, at its own times; nothing is read yet.

        Args:
            from_s: it begins with the first request so many seconds after the trace's first.
            seconds: it ends before the first request so long after that.
            requests: it has at most so many requests.

        Raises:
            TraceError: a time is below 0.
        """
        return Trace(self._native.slice(from_s, seconds, requests))

    def batches(self, rows: int = 65_536, *, key_texts: bool = False) -> Iterator[Frame]:
        """All requests, so many rows at a time.

        Args:
            rows: of each frame but the last.
            key_texts: keep the texts of keys, which takes memory for every key.

        Raises:
            TraceError: when it comes to where the trace is damaged; all rows before were given.
        """
        return self._native.batches(rows, key_texts)

    def __iter__(self) -> Iterator[Frame]:
        """All requests, in frames of 65,536 rows."""
        return self.batches()

    def convert(self, out: str | PathLike[str], *, format: str | None = None, key_texts: bool = True) -> Written:
        """Writes it to a new file, up to where it is damaged (which is warned of).

        Args:
            out: a new file; an existing one is never replaced.
            format: parquet, oracle-general, kv-replay, csv or fio-iolog, where the name does not say it.
            key_texts: write keys as their texts, which takes memory for every key.

        Raises:
            TraceError: the file is there already, cannot be written, or a request does not fit its format.
        """
        written = json.loads(self._native.convert(out, format, key_texts))
        warn_of(written.pop("damage"), self)
        return written

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All requests as a stream of Arrow; read as it is consumed."""
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Its format and its file."""
        return f"<manometer.trace.Trace: {self.format}, {self.path}>"


def native(trace: Trace) -> _native.Trace:
    """Its compiled half."""
    return trace._native


def warn_of(damage: str | None, trace: Trace) -> None:
    """Warns of damage, if there is any."""
    if damage is not None:
        warnings.warn(f"{trace.path}: {damage}; only what came before was read", DamagedTraceWarning, stacklevel=3)


def open(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    columns: str | None = None,
    delimiter: str | None = None,
    time_unit: str | None = None,
) -> Trace:
    """Opens a trace in a file.

    Args:
        path: plain, or compressed by gzip, zstd, lz4 or xz.
        format: where the content is not to decide.
        columns: what the columns of a CSV file mean, by number from 0 or by name: `time_ms=0,key=1,value_size=3,op=5`.
        delimiter: the separator; a comma by default.
        time_unit: of times in CSV and KV-replay: s, ms, us or ns.

    Raises:
        TraceError: there is no such file, or its format is unknown.
    """
    return Trace(_native.open_trace(path, format, columns, delimiter, time_unit))
