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


def test_notebooks_are_kept_without_outputs() -> None:
    assert len(NOTEBOOKS) == 5
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text())["cells"]
        kept = [cell for cell in cells if cell["cell_type"] == "code" and (cell["outputs"] or cell["execution_count"])]
        assert kept == [], f"{path.name}: clear its outputs"
