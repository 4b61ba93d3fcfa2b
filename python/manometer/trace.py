"""Traces: recorded sequences of requests, in 28 formats, plain or compressed.

Each call reads the trace again; memory does not grow with it. The manual lists the formats (docs/traces.md),
including that of KV-replay (Boza 2018, chapter 4).
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

__all__ = ["Info", "Sizes", "Trace", "Written"]


class Sizes(TypedDict):
    """The sizes of requests in bytes.

    >>> from pathlib import Path
    >>> _ = Path("trace.csv").write_text("time_s,key,value_size,op\\n0,1,100,get\\n2,1,100,put\\n")
    >>> manometer.trace.open("trace.csv").info()["value_size"]["sum"]
    200.0
    """

    min: int
    mean: float
    max: int
    sum: float
    samples: int


class Info(TypedDict):
    """The totals of a trace. What it does not contain is None.

    `span_s` is in seconds; `footprint_bytes` is the size of all keys with their values, or the number of different
    bytes of devices. `standard_errors` has an entry for each estimate; beyond 4 million keys their number is one.
    `damage` names the damage that ended the trace; all else covers the requests before it.

    >>> from pathlib import Path
    >>> _ = Path("trace.csv").write_text("time_s,key,value_size,op\\n0,1,100,get\\n2,1,100,put\\n")
    >>> info = manometer.trace.open("trace.csv").info()
    >>> info["requests"], info["keys"], info["span_s"]
    (2, 1, 2.0)
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
    """The number of requests written, the format, and the number of requests that lost each field.

    >>> from pathlib import Path
    >>> _ = Path("trace.csv").write_text("time_s,key,value_size,op\\n0,1,100,get\\n2,1,100,put\\n")
    >>> manometer.trace.open("trace.csv").convert("trace.parquet")
    {'requests': 2, 'format': 'parquet', 'losses': {}}
    """

    requests: int
    format: str
    losses: dict[str, int]


class Trace:
    """A trace in a file, or a slice of one.

    It is an Arrow stream: `polars.DataFrame(trace)` reads all of it, `batches` reads it in batches. Columns: `time_ns`
    since the trace's zero, `op`, `key` (a number, or the hash of its text), `key_text`, `key_size` and `value_size` in
    bytes, `client`, `ttl_s`, `offset` in bytes, `device`, `succeeded`; null if the trace has no value.

    >>> from pathlib import Path
    >>> _ = Path("trace.csv").write_text("time_s,key,value_size,op\\n0,1,100,get\\n2,1,100,put\\n")
    >>> trace = manometer.trace.open("trace.csv")
    >>> [(row["op"], row["key"]) for row in trace.head().rows()]
    [('get', 1), ('put', 1)]
    >>> import polars
    >>> polars.DataFrame(trace.slice(from_s=1))["op"].to_list()
    ['put']
    """

    def __init__(self, native: _native.Trace) -> None:
        """Created by `open`."""
        self._native = native

    @property
    def path(self) -> Path:
        """The file of the trace."""
        return self._native.path

    @property
    def format(self) -> str:
        """The format, as given or recognised by the content."""
        return self._native.format

    def info(self) -> Info:
        """Reads the trace once and returns its totals.

        Raises:
            TraceError: the file cannot be read. Damage is part of the result instead.
        """
        return json.loads(self._native.info())

    def head(self, requests: int = 10) -> Frame:
        """Returns the first requests, and reads hardly more.

        Raises:
            TraceError: the file cannot be read. Damage among them is a `DamagedTraceWarning`.
        """
        frame, damage = self._native.head(requests)
        warn_of(damage, self)
        return frame

    def slice(self, *, from_s: float = 0.0, seconds: float | None = None, requests: int | None = None) -> Trace:
        """Returns a slice with unchanged times. Reads nothing yet.

        Args:
            from_s: start with the first request this many seconds after the trace's first.
            seconds: end before the first request this long after the start.
            requests: the largest number of requests.

        Raises:
            TraceError: a time is negative.
        """
        return Trace(self._native.slice(from_s, seconds, requests))

    def batches(self, rows: int = 65_536, *, key_texts: bool = False) -> Iterator[Frame]:
        """All requests, in batches of `rows`.

        Args:
            rows: the rows of each frame except the last.
            key_texts: keep the texts of keys, which takes memory for every key.

        Raises:
            TraceError: at the damage of the trace, after all rows before it.
        """
        return self._native.batches(rows, key_texts)

    def __iter__(self) -> Iterator[Frame]:
        """All requests, in frames of 65,536 rows."""
        return self.batches()

    def convert(self, out: str | PathLike[str], *, format: str | None = None, key_texts: bool = True) -> Written:
        """Writes the trace to a new file, up to any damage, which is a `DamagedTraceWarning`.

        Args:
            out: a new file; an existing one is never replaced.
            format: parquet, oracle-general, kv-replay, csv or fio-iolog; by default as the file's name shows.
            key_texts: write keys as their texts, which takes memory for every key.

        Raises:
            TraceError: the file exists, cannot be written, or a request does not fit its format.
        """
        written = json.loads(self._native.convert(out, format, key_texts))
        warn_of(written.pop("damage"), self)
        return written

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """All requests as an Arrow stream, read as it is consumed."""
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Shows the format and the file."""
        return f"<manometer.trace.Trace: {self.format}, {self.path}>"


def native(trace: Trace) -> _native.Trace:
    """The native object of `trace`."""
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
        path: the file, plain or compressed with gzip, zstd, lz4 or xz.
        format: the format; by default recognised by the content.
        columns: the columns of a CSV file, by number from 0 or by name: `time_ms=0,key=1,value_size=3,op=5`.
        delimiter: the delimiter of a CSV file; a comma by default.
        time_unit: the unit of times in CSV and KV-replay: s, ms, us or ns.

    Raises:
        TraceError: the file does not exist, or its format is unknown.

    >>> from pathlib import Path
    >>> _ = Path("trace.csv").write_text("time_s,key,value_size,op\\n0,1,100,get\\n2,1,100,put\\n")
    >>> manometer.trace.open("trace.csv").format
    'csv'
    """
    return Trace(_native.open_trace(path, format, columns, delimiter, time_unit))
