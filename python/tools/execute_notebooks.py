#!/usr/bin/env python3
"""Executes the notebooks of the manual and writes them with their outputs: `make notebooks`.

What a reader of the page needs is kept: texts, tables, and charts as small pictures. Progress bars are not, nor who
executed it, when and where.
"""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
# The richest first; one is kept.
KINDS = ["image/png", "text/html", "text/plain"]
# A chart as a picture, half as sharp as a screen may be: a page without a network shows it.
SETUP = "import altair; altair.renderers.enable('png', ppi=72, scale_factor=1)"


def execute(path: Path) -> None:
    """Executes one notebook where it finds nothing, and stores it."""
    notebook = stored(path)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(SETUP))  # pyright: ignore[reportUnknownMemberType]
    with TemporaryDirectory() as empty:
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": empty}}).execute()
    del notebook.cells[0]
    number = 0
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            number += 1
            cell.execution_count = number
            cell.outputs = [shown(output, number) for output in cell.outputs if is_kept(output)]
    notebook.metadata.pop("widgets", None)
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.write(notebook, path)  # pyright: ignore[reportUnknownMemberType]


def stored(path: Path) -> Any:
    """The notebook in a file."""
    return nbformat.read(path, as_version=4)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def is_kept(output: Any) -> bool:
    """Whether an output is more than a progress bar."""
    if output.output_type == "stream":
        return output.name == "stdout"
    return output.output_type != "display_data" or "application/vnd.jupyter.widget-view+json" not in output.data


def shown(output: Any, number: int) -> Any:
    """The output in its richest kind."""
    if "data" in output:
        kind = next(kind for kind in KINDS if kind in output.data)
        output.data = {
            kind: output.data[kind],
            **({"text/plain": output.data["text/plain"]} if kind == KINDS[1] else {}),
        }
        output.metadata = {}
    if output.output_type == "execute_result":
        output.execution_count = number
    return output


if __name__ == "__main__":
    # The recording of the package, not the real data of whoever executes it.
    os.environ.pop("MANOMETER_DATA", None)
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        print(notebook.name, flush=True)
        execute(notebook)
