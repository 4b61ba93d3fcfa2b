"""Traces: read, cut, converted, damaged."""

from __future__ import annotations

from pathlib import Path

import manometer
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st
from manometer.errors import DamagedTraceWarning, TraceError

HEAD = "time_s,key,value_size,op\n"


def written(path: Path, rows: list[tuple[int, int, int]]) -> manometer.trace.Trace:
    path.write_text(HEAD + "".join(f"{time},{key},{size},get\n" for time, key, size in rows))
    return manometer.trace.open(path)


@pytest.fixture
def trace(tmp_path: Path) -> manometer.trace.Trace:
    return written(tmp_path / "trace.csv", [(second, second % 7, 100) for second in range(1000)])


def test_a_trace_says_what_it_holds(trace: manometer.trace.Trace) -> None:
    info = trace.info()
    assert (info["requests"], info["keys"], info["span_s"], info["format"]) == (1000, 7, 999.0, "csv")
    assert info["operations"] == {"get": 1000}
    assert info["damage"] is None
    rows = trace.head(3).rows()
    assert [(row["time_ns"], row["op"], row["key"], row["value_size"]) for row in rows] == [
        (second * 10**9, "get", second, 100) for second in range(3)
    ]
    assert rows[0]["client"] is None, "what a trace lacks is null"


def test_a_trace_is_one_stream_and_many_batches(trace: manometer.trace.Trace) -> None:
    whole = polars.DataFrame(trace)
    parts = [polars.DataFrame(frame) for frame in trace.batches(300)]
    assert [len(part) for part in parts] == [300, 300, 300, 100]
    assert polars.concat(parts).drop("key_text").equals(whole.drop("key_text"))
    assert sum(len(frame) for frame in trace) == 1000


def test_a_stretch_can_be_cut_again(trace: manometer.trace.Trace) -> None:
    stretch = trace.slice(from_s=100, seconds=50).slice(requests=20)
    seconds = polars.DataFrame(stretch)["time_ns"].to_list()
    assert seconds == [second * 10**9 for second in range(100, 120)]
    with pytest.raises(TraceError, match="seconds is -1"):
        trace.slice(seconds=-1)


def test_a_trace_becomes_another_format(trace: manometer.trace.Trace, tmp_path: Path) -> None:
    out = tmp_path / "trace.parquet"
    written = trace.slice(requests=10).convert(out)
    assert written == {"requests": 10, "format": "parquet", "losses": {}}
    frame, file = polars.DataFrame(manometer.trace.open(out)), polars.read_parquet(out)
    assert frame.equals(file.select(frame.columns))
    # What a replay sends beyond the requests' fields; this trace has none of it.
    details = file.drop(frame.columns)
    assert details.columns == ["scan_length", "scan_end", "scan_backward", "command", "joined"]
    assert details.null_count().row(0) == (len(file),) * 5
    with pytest.raises(TraceError, match="exists"):
        trace.convert(out)
    with pytest.raises(TraceError, match="says no format"):
        trace.convert(tmp_path / "trace.unknown")
    assert trace.convert(tmp_path / "trace", format="oracle-general", key_texts=False)["requests"] == 1000


def test_a_damaged_trace_is_read_up_to_there(trace: manometer.trace.Trace) -> None:
    with trace.path.open("a") as file:
        file.write("1000,x,y,\n2000,1,1,get\n")
    damaged = manometer.trace.open(trace.path)
    info = damaged.info()
    assert info["requests"] == 1000 and info["damage"] is not None and "line 1002" in info["damage"]
    batches = damaged.batches(600)
    assert [len(next(batches)), len(next(batches))] == [600, 400]
    with pytest.raises(TraceError, match="line 1002"):
        next(batches)
    assert list(batches) == []
    with pytest.raises(Exception, match="line 1002"):
        polars.DataFrame(damaged)
    with pytest.warns(DamagedTraceWarning, match="line 1002"):
        assert len(damaged.head(2000)) == 1000
    with pytest.warns(DamagedTraceWarning, match="only what came before"):
        assert damaged.convert(trace.path.with_suffix(".parquet"))["requests"] == 1000


def test_no_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="nowhere"):
        manometer.trace.open(tmp_path / "nowhere")
    (tmp_path / "empty").touch()
    with pytest.raises(TraceError, match="empty"):
        manometer.trace.open(tmp_path / "empty")
    with pytest.raises(TraceError, match="there is no format `tape`"):
        manometer.trace.open(tmp_path / "empty", format="tape")


@given(rows=st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 2**63), st.integers(0, 2**40)), min_size=1))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int]]) -> None:
    trace = written(tmp_path_factory.mktemp("rows") / "trace.csv", rows)
    read = [(row["time_ns"] // 10**9, row["key"], row["value_size"]) for frame in trace for row in frame.rows()]
    assert read == rows
