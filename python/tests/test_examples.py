"""Every public function and class has an example in its documentation, and the examples run, without the clone."""

from __future__ import annotations

import doctest
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import manometer
import pytest
from test_package import MODULES


def public(module: ModuleType) -> dict[str, Any]:
    """The functions and classes that a module offers; `open` hides Python's own and is in no list."""
    names = {*getattr(module, "__all__", vars(module)), "open"}
    things = {name: vars(module)[name] for name in sorted(names & vars(module).keys()) if not name.startswith("_")}
    return {
        f"{module.__name__}.{name}": thing
        for name, thing in things.items()
        if (inspect.isclass(thing) or inspect.isfunction(thing)) and thing.__module__.startswith("manometer")
    }


THINGS = {name: thing for module in MODULES for name, thing in public(module).items()}
METHODS = {
    f"{name}.{method.__name__}": method
    for name, thing in THINGS.items()
    if inspect.isclass(thing)
    for _, method in inspect.getmembers(thing, inspect.isfunction)
    if ">>>" in (method.__doc__ or "")
}


def test_there_is_an_example_of_everything() -> None:
    assert len(THINGS) > len(MODULES)
    assert [name for name, thing in THINGS.items() if ">>>" not in (thing.__doc__ or "")] == []


@pytest.mark.parametrize("name", [*THINGS, *METHODS])
@pytest.mark.usefixtures("needs_program")
def test_an_example_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    thing = THINGS.get(name) or METHODS[name]
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(thing) or "", {"manometer": manometer}, name, None, None)
    said: list[str] = []
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert results.attempted > 0 and results.failed == 0, "".join(said)
