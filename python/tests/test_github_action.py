"""The GitHub action: it runs an experiment, comments on the pull request and ends with the gate's exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from scene import REPOSITORY, SHORT

SCRIPT = REPOSITORY / "tools" / "github_action.py"
# Keeps its arguments and the comment.
GH = '#!/bin/sh\nwhile [ "$1" != --body-file ]; do echo "$1" >> words; shift; done\ncp "$2" comment.md\n'


def act(folder: Path, program: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Runs the action's script in `folder` as a pull request's job does, with a `gh` that keeps the comment."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "gh").write_text(GH)
    (folder / "bin" / "gh").chmod(0o755)
    (folder / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
    inputs = yaml.safe_load((REPOSITORY / "action.yml").read_text())["inputs"]
    defaults = {name: str(one.get("default", "")) for name, one in inputs.items() if name != "token"}
    given = defaults | {"experiment": "short.toml", "program": program} | settings
    environment = {f"MANOMETER_{name.upper().replace('-', '_')}": value for name, value in given.items()}
    environment |= {"GITHUB_EVENT_PATH": "event.json", "GITHUB_REPOSITORY": "a/b", "GITHUB_STEP_SUMMARY": "summary.md"}
    environment["PATH"] = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, SCRIPT], cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "short.toml").write_text(SHORT)
    return tmp_path


def test_it_comments_the_verdict(folder: Path, needs_program: str) -> None:
    done = act(folder, needs_program)
    assert done.returncode == 0, done.stderr
    comment = (folder / "comment.md").read_text()
    assert comment.startswith("### ") and "**Verdict: " in comment and "| w2 writer.iodepth = 4 | " in comment
    assert "Gate: passed." in comment and (folder / "summary.md").read_text() == comment
    words = (folder / "words").read_text().split()
    assert words == ["pr", "comment", "7", "--repo", "a/b", "--edit-last", "--create-if-none"]


def test_it_compares_with_a_baseline(folder: Path, needs_program: str) -> None:
    assert act(folder, needs_program, out="before").returncode == 0
    done = act(folder, needs_program, out="after", baseline="before", bound="50%")
    assert done.returncode in (0, 3, 4), done.stderr
    comment = (folder / "comment.md").read_text()
    assert "**Against the baseline, by at most 50%:** " in comment and "| phase | ratio | gate |" in comment
    # Phases of less than a second decide nothing.
    undecided = {"out": "third", "baseline": "before", "bound": "0.01%", "allow-undecided": "true"}
    assert act(folder, needs_program, **undecided).returncode in (0, 3)


def test_it_fails_where_the_experiment_is_wrong(folder: Path, needs_program: str) -> None:
    done = act(folder, needs_program, experiment="none.toml")
    assert done.returncode == 2 and "none.toml" in done.stderr
    assert not (folder / "comment.md").exists()


def test_every_input_reaches_the_script() -> None:
    action = yaml.safe_load((REPOSITORY / "action.yml").read_text())
    (step,) = action["runs"]["steps"]
    used = {value.removeprefix("${{ inputs.").removesuffix(" }}") for value in step["env"].values()}
    assert used == set(action["inputs"])
    script = SCRIPT.read_text()
    for name in step["env"]:
        assert name == "GH_TOKEN" or name.removeprefix("MANOMETER_") in script
