from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import manometer
import pytest
from hosts import Processes
from manometer._program import program
from scene import REPOSITORY, SHORT, skip


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Lists skipped tests in addition to those of the crates, for the closing lines of `make test`."""
    file = os.environ.get("MANOMETER_SKIPPED_TESTS")
    if not (file and report.skipped and isinstance(report.longrepr, tuple)):
        return
    cause, _, detail = report.longrepr[2].removeprefix("Skipped: ").partition(": ")
    with Path(file).open("a") as skipped:
        skipped.write(f"{cause}\tpython::{report.nodeid}\t{' '.join(detail.split())}\n")


@pytest.fixture(scope="session", autouse=True)
def lock_directory(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Lets the workers of pytest-xdist run experiments at once on one disk: no test reads how fast they were."""
    os.environ["MANOMETER_LOCK_DIRECTORY"] = str(tmp_path_factory.mktemp("locks"))


@pytest.fixture(scope="session")
def needs_program() -> str:
    try:
        return program()
    except manometer.errors.ProgramError as error:
        skip("program", str(error))


@pytest.fixture(scope="session")
def recording(needs_program: str, tmp_path_factory: pytest.TempPathFactory) -> manometer.Recording:
    folder = tmp_path_factory.mktemp("short")
    changes = {"device.directory": str(folder / "data")}
    recorded = manometer.Experiment(SHORT, changes=changes).run(folder / "recording", progress=False)
    assert isinstance(recorded, manometer.Recording)
    return recorded


@pytest.fixture(scope="session")
def sweep(needs_program: str, tmp_path_factory: pytest.TempPathFactory) -> manometer.Recordings:
    folder = tmp_path_factory.mktemp("sweep")
    text = SHORT + '[sweep]\n"writer.block_size" = ["4KiB", "8KiB"]\n'
    changes = {"device.directory": str(folder / "data")}
    recorded = manometer.Experiment(text, changes=changes).run(folder / "recordings", progress=False)
    assert isinstance(recorded, manometer.Recordings)
    return recorded


@pytest.fixture
def ycsb_text() -> Path:
    return REPOSITORY / "crates/manometer-workload/src/command/parser/samples/ycsb-java.txt"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    try:
        started.scheduler()
        yield started
    finally:
        started.end()
