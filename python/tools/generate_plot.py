#!/usr/bin/env python3
"""Writes python/manometer/plot/_charts.py: a function for each chart, so that editors know them.

`make docs` runs it, with the package installed, whenever the list of charts changes.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from manometer.plot._draw import charts

OUT = Path(__file__).parents[1] / "manometer" / "plot" / "_charts.py"
HEAD = '''"""A function for each chart. Written by python/tools/generate_plot.py; change the charts instead."""

from __future__ import annotations

from altair.typing import ChartType

from manometer.plot._draw import {names}
'''
OF = {
    "one": ("recording: One", "of_one", "recording", "recording: a recording, or its directory."),
    "many": ("recordings: Many", "of_many", "recordings", "recordings: several, their directory, or one."),
    "figures": ("rows: Figures", "of_figures", "rows", "rows: a frame, or dictionaries, with the columns below."),
}
RAISES = {
    "one": "RecordingError: the recording cannot be read.",
    "many": "RecordingError: a recording cannot be read.",
    "figures": "ChartError: a row lacks a column.",
}


def function_name(chart: dict[str, Any]) -> str:
    """The chart's name as Python writes it."""
    return chart["name"].replace("-", "_")


def function(chart: dict[str, Any]) -> str:
    """The function of one chart."""
    parameter, draw, argument, about = OF[chart["scope"]]
    body = [f'"""{chart["title"]}.', "", *wrapped(chart["caption"])]
    if chart["origin"]:
        body += ["", *wrapped(f"After {chart['origin']}.")]
    body += ["", "Args:", f"    {about}"]
    if chart["columns"]:
        body += ["", "Columns of its rows:"]
        for column in chart["columns"]:
            unit = f" [{column['unit']}]" if column["unit"] else ""
            body += wrapped(f"{column['name']}{unit}: {column['meaning']}", "    ")
    body += ["", "Raises:", f"    {RAISES[chart['scope']]}", "", *example(chart), '"""']
    body += [f'return {draw}("{chart["name"]}", {argument})']
    head = f"def {function_name(chart)}({parameter}) -> ChartType:"
    return "\n".join([head, *(f"    {line}".rstrip() for line in body)])


def example(chart: dict[str, Any]) -> list[str]:
    """An example that runs on the recording of the package."""
    name, given = function_name(chart), "manometer.demo()"
    before: list[str] = []
    if chart["scope"] == "figures":
        given = "rows"
        before = [">>> rows = []  # a frame, or dictionaries with the columns above"]
        if chart["name"] == "cache-curves":
            before = [">>> rows = manometer.cache.curves([1, 2, 3, 1, 2, 3])"]
    return [*before, f'>>> manometer.plot.{name}({given}).to_dict()["data"]["name"]', f"'{chart['name']}'"]


def wrapped(text: str, indent: str = "") -> list[str]:
    """The text in lines of a docstring."""
    further = indent + "    " * bool(indent)
    return textwrap.wrap(text.replace("\\", "\\\\"), 110, initial_indent=indent, subsequent_indent=further)


def module() -> str:
    """The whole file."""
    all_charts = sorted(charts().values(), key=function_name)
    scopes = {chart["scope"] for chart in all_charts}
    types = {"one": "One", "many": "Many", "figures": "Figures"}
    names = sorted(types[scope] for scope in scopes) + sorted(OF[scope][1] for scope in scopes)
    listed = "\n".join(f'    "{function_name(chart)}",' for chart in all_charts)
    functions = "\n\n\n".join(function(chart) for chart in all_charts)
    return f"{HEAD.format(names=', '.join(names))}\n__all__ = [\n{listed}\n]\n\n\n{functions}\n"


if __name__ == "__main__":
    OUT.write_text(module())
