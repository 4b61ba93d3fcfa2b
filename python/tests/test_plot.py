"""Charts: all of them, of something and of nothing, kept in three forms without a browser."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import altair as alt
import manometer
import pytest
from manometer import _native
from manometer.plot import _charts, _draw
from scene import REPOSITORY

CHARTS = sorted(_draw.charts().values(), key=lambda chart: chart["name"])


def drawn(chart: dict[str, Any], recording: manometer.Recording, sweep: manometer.Recordings) -> Any:
    function = getattr(manometer.plot, chart["name"].replace("-", "_"))
    if chart["scope"] == "figures":
        return function([dict.fromkeys((column["name"] for column in chart["columns"]), 1)])
    return function(recording) if chart["scope"] == "one" else function(sweep)


@pytest.mark.parametrize("chart", CHARTS, ids=lambda chart: chart["name"])
def test_every_chart_is_drawn_and_kept(
    chart: dict[str, Any], recording: manometer.Recording, sweep: manometer.Recordings, tmp_path: Path
) -> None:
    chart_object = drawn(chart, recording, sweep)
    assert isinstance(chart_object, alt.TopLevelMixin)
    chart_object.save(tmp_path / "chart.svg")
    assert "<svg" in (tmp_path / "chart.svg").read_text()
    spec = chart_object.to_dict()
    assert spec["description"]
    assert isinstance(spec["usermeta"]["notes"], list)


def test_rows_are_those_of_the_report(recording: manometer.Recording) -> None:
    rows = json.loads(_native.draw("pressure-scale", _draw._recording.natives([recording])))["rows"]
    assert [row["phase"] for row in sorted(rows, key=lambda row: row["phase"])] == ["w0", "w1", "w2"]
    spec = manometer.plot.pressure_scale(recording.path).to_dict()
    (values,) = spec["datasets"].values() if "datasets" in spec else [spec["data"]["values"]]
    assert values == rows


def test_definitions_are_those_of_the_folder() -> None:
    for chart in CHARTS:
        kept = json.loads((REPOSITORY / f"charts/{chart['name']}.vl.json").read_text())
        assert json.loads(_native.chart_spec(chart["name"], 1, [])) == kept
        alt.Chart.from_dict(kept)


def test_png_and_pdf_need_no_browser(recording: manometer.Recording, tmp_path: Path) -> None:
    chart = manometer.plot.pressure_scale(recording)
    chart.save(tmp_path / "chart.png")
    chart.save(tmp_path / "chart.pdf")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "chart.pdf").read_bytes().startswith(b"%PDF")


def test_a_chart_of_nothing_says_so(ycsb_text: Path, tmp_path: Path) -> None:
    bare = manometer.importing.ycsb(ycsb_text, out=tmp_path / "bare")
    assert isinstance(bare, manometer.Recording)
    chart = manometer.plot.levels(bare)
    notes = chart.to_dict()["usermeta"]["notes"]
    assert notes and notes[0].split()[0] in json.dumps(chart.to_dict()["description"])
    chart.save(tmp_path / "chart.svg")
    assert notes[0].split()[0] in (tmp_path / "chart.svg").read_text()
    with pytest.raises(manometer.RecordingError):
        manometer.plot.levels(tmp_path / "nowhere")


def test_figures_need_their_columns() -> None:
    for chart in CHARTS:
        if chart["scope"] == "figures":
            with pytest.raises(manometer.errors.ChartError, match=r"a row has no .*; the chart's columns are"):
                getattr(manometer.plot, chart["name"].replace("-", "_"))([{"nothing": 1}])


def test_functions_are_those_of_the_list() -> None:
    path = REPOSITORY / "python" / "tools" / "generate_plot.py"
    spec = importlib.util.spec_from_file_location("generate_plot", path)
    assert spec is not None and spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    current = (REPOSITORY / "python/manometer/plot/_charts.py").read_text()
    assert current == generator.module(), "run python/tools/generate_plot.py"
    assert all(getattr(_charts, name).__doc__ for name in _charts.__all__)
