"""Recordings, summaries and comparisons as tables, and the names of the package."""

from __future__ import annotations

from pathlib import Path

import manometer
import pytest


def test_a_recording_has_a_row_for_each_phase(recording: manometer.Recording) -> None:
    table = recording.to_polars()
    assert table["phase"].to_list() == ["w0", "w1", "w2"]
    assert table.columns[-3:] == ["pressure", "pressure_low", "pressure_high"]
    assert table["performance"].null_count() == 0
    assert list(recording.to_pandas().columns) == table.columns
    summary = recording.summary.to_polars()
    assert summary["pressure"].to_list() == pytest.approx(table["pressure"].to_list())
    assert len(recording.summary.to_pandas()) == 3


def test_a_sweep_has_the_rows_of_all_its_runs(sweep: manometer.Recordings) -> None:
    table = sweep.to_polars()
    assert table["run"].to_list() == ["001"] * 3 + ["002"] * 3
    assert len(table.unique("writer.block_size")) == 2
    assert len(sweep.to_pandas()) == 6
    assert manometer.Recordings([]).to_polars().is_empty()


def test_a_comparison_has_a_row_for_each_phase(sweep: manometer.Recordings) -> None:
    compared = manometer.compare(*(run.path for run in sweep))
    assert compared.to_polars()["id"].to_list() == [phase["id"] for phase in compared["phases"]]
    assert list(compared.to_pandas().columns) == compared.to_polars().columns


def test_a_notebook_shows_sentences_and_rows(recording: manometer.Recording, sweep: manometer.Recordings) -> None:
    compared = manometer.compare(*(run.path for run in sweep))
    for shown in (recording, recording.summary, sweep, compared):
        html = shown._repr_html_()
        assert html.startswith("<p>") and html.count("<tr>") == 1 + len(shown.to_polars())
    summary = manometer.Summary({**recording.summary, "headline": "1 < 2"})
    assert "<p>1 &lt; 2</p>" in summary._repr_html_()


def test_the_demo_is_written_once(tmp_path: Path) -> None:
    recording = manometer.demo(tmp_path / "demo")
    assert recording.status == "complete" and len(recording.to_polars()) == 4
    (tmp_path / "demo" / "here").touch()
    assert manometer.demo(tmp_path / "demo").path == recording.path and (tmp_path / "demo" / "here").exists()
    (tmp_path / "other").mkdir()
    with pytest.raises(manometer.RecordingError):
        manometer.demo(tmp_path / "other")


def test_no_name_of_python_is_hidden() -> None:
    for module in (manometer, manometer.trace, manometer.recycle, manometer.rlsm):
        assert "open" not in module.__all__ and callable(module.open)


def test_the_former_name_of_importing_warns() -> None:
    with pytest.warns(DeprecationWarning, match=r"manometer\.importing"):
        former = manometer.import_
    assert former is manometer.importing
