"""The queries of docs/export.md work, on a recording and on a sweep."""

from __future__ import annotations

import shutil
import sqlite3
from datetime import timezone
from pathlib import Path
from typing import Any

import duckdb
import manometer
import polars
import pytest
from scene import REPOSITORY

PAGE = (REPOSITORY / "docs" / "export.md").read_text()


def blocks(language: str) -> list[str]:
    return [part.split("```")[0] for part in PAGE.split(f"```{language}\n")[1:]]


@pytest.fixture
def folder(recording: manometer.Recording, sweep: manometer.Recordings, tmp_path: Path) -> Path:
    shutil.copytree(recording.path, tmp_path / "recording")
    shutil.copytree(sweep[0].path.parent, tmp_path / "sweep" / "runs")
    return tmp_path


def test_queries_of_duckdb(folder: Path, recording: manometer.Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    phases, series, runs, _ = (duckdb.sql(query) for query in blocks("sql"))
    assert [row[0] for row in phases.fetchall()] == recording.to_polars()["phase"].to_list()
    samples = series.fetchall()
    begun = recording.environment["clock"]["unix_ns"] / 1e9
    assert abs(samples[0][0].replace(tzinfo=timezone.utc).timestamp() - begun) < 3600 and samples[5][1] > 0
    assert len(runs.fetchall()) == 2
    assert "t_ns" in Path("device.csv").read_text()


def test_code_in_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    for block in blocks("python"):
        exec(block, names)
    assert polars.read_csv("device.csv").columns[0] == "t_ns"
    with sqlite3.connect("samples.db") as database:
        rows = database.execute('SELECT time, "read.requests" / length FROM "primary"').fetchall()
    database.close()
    begun = manometer.open("recording").environment["clock"]["unix_ns"] / 1e9
    assert rows and all(abs(time - begun) < 3600 for time, _ in rows)
