"""Frames go to other libraries as Arrow, with their units and without a copy."""

from __future__ import annotations

import manometer
import pandas
import polars
import pyarrow
import pytest


@pytest.fixture
def frame() -> manometer.Frame:
    return manometer.cache.simulate([1, 2, 1, 3, 1], ["lru", "fifo"], [1, 2])


def test_every_library_takes_a_frame(frame: manometer.Frame) -> None:
    rows = frame.rows()
    assert len(frame) == len(rows) == 4
    assert polars.DataFrame(frame).to_dicts() == rows
    assert pyarrow.table(frame).to_pylist() == rows
    assert list(pandas.DataFrame.from_arrow(frame).columns) == frame.column_names


def test_nothing_is_copied(frame: manometer.Frame) -> None:
    def address() -> int:
        return pyarrow.table(frame)["misses"].chunk(0).buffers()[1].address

    assert address() == address()
    # Both tables at once, so that one cannot lie where the other was.
    one, other = pyarrow.table(frame), pyarrow.table(frame)
    assert one["misses"].chunk(0).buffers()[1].address == other["misses"].chunk(0).buffers()[1].address


def test_units_travel_along(recording: manometer.Recording) -> None:
    frame = recording.latency("read")
    assert frame.units["p99_us"] == "us"
    assert pyarrow.table(frame).schema.field("p99_us").metadata[b"unit"] == b"us"
    assert "p99_us [us]" in repr(frame)
    samples = recording.samples("primary")
    assert samples.meanings["length"]
    assert samples.metadata == {"cut": "false"}


def test_an_empty_frame_keeps_its_columns() -> None:
    frame = manometer.cache.curves([])
    assert (len(frame), frame.rows()) == (0, [])
    assert polars.DataFrame(frame).columns == frame.column_names
