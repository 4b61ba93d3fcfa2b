"""The package as installed: types, documentation, no sources next to the tests."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path
from types import ModuleType
from typing import Any

import manometer
import pytest
from scene import REPOSITORY

MODULES: list[ModuleType] = [
    manometer,
    manometer.backpath,
    manometer.cache,
    manometer.errors,
    manometer.events,
    manometer.importing,
    manometer.plot,
    manometer.recycle,
    manometer.rlsm,
    manometer.trace,
]


def test_it_is_the_installed_one() -> None:
    assert REPOSITORY not in Path(inspect.getfile(manometer)).parents
    assert metadata.version("manometer")
    assert resources.files("manometer").joinpath("py.typed").is_file()
    assert resources.files("manometer").joinpath("_native.pyi").is_file()


def documented(module: ModuleType) -> list[tuple[str, Any]]:
    own = [
        (f"{module.__name__}.{name}", thing)
        for name, thing in vars(module).items()
        if not name.startswith("_") and (inspect.isclass(thing) or inspect.isfunction(thing))
        if str(thing.__module__).startswith("manometer")
    ]
    methods = [
        (f"{path}.{name}", method)
        for path, thing in own
        if inspect.isclass(thing)
        for name, method in vars(thing).items()
        if not name.startswith("_") and (inspect.isfunction(method) or isinstance(method, property))
    ]
    return own + methods


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_everything_public_is_documented(module: ModuleType) -> None:
    assert module.__doc__
    assert [path for path, thing in documented(module) if not thing.__doc__] == []


def test_charts_are_imported_only_when_asked_for() -> None:
    with pytest.raises(AttributeError, match="no attribute 'plots'"):
        _ = manometer.plots  # pyright: ignore[reportAttributeAccessIssue]
    code = "import sys, manometer; print('altair' in sys.modules); manometer.plot; print('altair' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert output.split() == ["False", "True"]


def test_charts_without_altair_say_how_to_install_it() -> None:
    code = "import sys, manometer; sys.modules['altair'] = None; manometer.plot"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "ImportError: charts are drawn by Altair" in done.stderr
    assert "pip install 'manometer[plot]'" in done.stderr
