"""The notebooks of the manual: executed from start to end, each in a separate directory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from scene import DATA, REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "docs" / "notebooks").glob("*.ipynb"))
# A notebook that hangs must not hang the tests.
PATIENCE_S = 600


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs(path: Path, needs_program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MANOMETER_DATA", os.fspath(DATA))
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=PATIENCE_S, resources={"metadata": {"path": os.fspath(tmp_path)}}).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_its_outputs(path: Path) -> None:
    assert path.stat().st_size < 400_000, "charts are small pictures"
    text = path.read_text()
    # Where somebody executed it; that a chart is elsewhere.
    assert [place for place in ("/tmp/", "/home/", "/root/", "/Users/", "/work", "https://cdn") if place in text] == []
    code = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), "make notebooks"
    outputs = [output for cell in code for output in cell["outputs"]]
    assert len(outputs) >= len(code) / 2
    assert {output["output_type"] for output in outputs} <= {"execute_result", "display_data", "stream"}
    assert not any(output.get("name") == "stderr" for output in outputs)


def test_there_are_notebooks_with_charts() -> None:
    assert len(NOTEBOOKS) == 5
    charts = [path.stem for path in NOTEBOOKS if "image/png" in path.read_text()]
    assert len(charts) >= 4, charts
