"""Draws a chart of recordings or rows as an Altair chart."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from os import PathLike
from typing import Any, TypeAlias

import altair as alt
from altair.typing import ChartType

from manometer import _native, _recording
from manometer._native import Frame
from manometer._recording import Recording, Recordings
from manometer.errors import ChartError

One: TypeAlias = Recording | str | PathLike[str]
"""A recording, or its directory."""
Many: TypeAlias = Recordings | Recording | str | PathLike[str] | Iterable[One]
"""Recordings, a directory of recordings, or one recording."""
Figures: TypeAlias = Frame | Sequence[Mapping[str, Any]]
"""The rows of a chart that shows no recording: a frame, or dictionaries."""

_Json: TypeAlias = "dict[str, _Json] | list[_Json] | str | float | bool | None"

# Width of charts that fill the page in the report, in pixels.
_WIDTH = 800
_LEGEND = {"columns": 3, "labelLimit": 320, "symbolOpacity": 1}


@lru_cache
def charts() -> dict[str, dict[str, Any]]:
    """Every chart by name: title, origin, caption, scope, columns."""
    return {chart["name"]: chart for chart in json.loads(_native.charts())}


@lru_cache
def _colours() -> dict[str, Any]:
    """The report's colours for a light background."""
    return json.loads(_native.colours())["light"]


def of_one(name: str, recording: One) -> ChartType:
    """The chart `name` of one recording."""
    return _of_recordings(name, [_one(recording)])


def of_many(name: str, recordings: Many) -> ChartType:
    """The chart `name` of one or more recordings."""
    return _of_recordings(name, _many(recordings))


def of_figures(name: str, rows: Figures) -> ChartType:
    """The chart `name` of `rows` with its columns."""
    wanted: list[str] = [column["name"] for column in charts()[name]["columns"]]
    values = rows.rows() if isinstance(rows, Frame) else [dict(row) for row in rows]
    for row in values:
        missing = [column for column in wanted if column not in row]
        if missing:
            raise ChartError(
                f"{name}: a row has no {', '.join(missing)}; the chart's columns are {', '.join(wanted)} "
                "(None is a gap)"
            )
    return _chart(name, values, "", [] if values else ["No rows were given."])


def _of_recordings(name: str, recordings: Sequence[Recording]) -> ChartType:
    drawn = json.loads(_native.draw(name, _recording.natives(recordings)))
    return _chart(name, drawn["rows"], drawn["alt_text"], drawn["notes"])


def _chart(name: str, rows: list[dict[str, Any]], alt_text: str, notes: list[str]) -> ChartType:
    spec: dict[str, Any] = json.loads(_native.chart_spec(name, len(rows), notes))
    if spec.get("width") == "container":
        spec["width"] = _WIDTH
    spec["data"] = {"name": name, "values": rows}
    spec.setdefault("title", charts()[name]["title"])
    spec["usermeta"] = {"notes": notes}
    spec["config"] = _config(spec, rows)
    if alt_text:
        spec["description"] = alt_text
    return alt.Chart.from_dict(spec)


def _config(spec: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    field = _ordered_field(spec) or "phase"
    ordered = {row[field] for row in rows if row.get(field) is not None}
    colours = _colours()
    series: list[str] = colours["series"]
    ink, ground = colours["ink"], colours["ground"]
    in_order = [ink, *series]
    return {
        "range": {
            "category": series,
            "ordinal": in_order if len(ordered) <= len(in_order) else colours["shades"],
        },
        "mark": {"color": series[0]},
        "rule": {"color": ink},
        "tick": {"color": ink},
        "text": {"color": ink},
        "style": {"halo": {"color": ground, "stroke": ground, "strokeWidth": 3, "strokeJoin": "round"}},
        "title": {"anchor": "start"},
        "view": {"stroke": None},
        "legend": _LEGEND,
    }


def _ordered_field(part: _Json) -> str | None:
    """The field of an ordered scale of colours."""
    if isinstance(part, dict):
        color = part.get("color")
        if isinstance(color, dict) and color.get("type") == "ordinal":
            return str(color["field"])
        return _first(part.values())
    return _first(part) if isinstance(part, list) else None


def _first(parts: Iterable[_Json]) -> str | None:
    return next((field for one in parts if (field := _ordered_field(one))), None)


def _one(recording: One) -> Recording:
    return recording if isinstance(recording, Recording) else Recording(recording)


def _many(recordings: Many) -> Sequence[Recording]:
    if isinstance(recordings, (str, PathLike)):
        opened = _recording.open(recordings)
        return [opened] if isinstance(opened, Recording) else opened
    if isinstance(recordings, Recording):
        return [recordings]
    return [_one(one) for one in recordings]
