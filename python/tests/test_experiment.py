"""Experiments from Python: planned, run, followed, stopped, refused."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import manometer
import pytest
from manometer import events
from scene import SHORT

DICTIONARY: dict[str, Any] = {
    "name": "short",
    "interval": "100ms",
    "device": {"directory": "data"},
    "primary": {"engine": "null", "workload": "ycsb-b", "records": 1000},
    "neighbour": [{"name": "writer", "kind": "io", "file_size": "4MiB", "write_ratio": 0.5}],
    "plan": {"warmup": "300ms", "phase": "600ms", "vary": {"writer.iodepth": [1, 4]}},
}

pytestmark = pytest.mark.usefixtures("needs_program")


@pytest.fixture
def experiment(tmp_path: Path) -> manometer.Experiment:
    return manometer.Experiment(SHORT, changes={"device.directory": str(tmp_path / "data")})


def test_a_plan_tells_what_would_run(experiment: manometer.Experiment, tmp_path: Path) -> None:
    plan = experiment.plan()
    (run,) = plan["runs"]
    assert [phase["id"] for phase in run["plan"]["phases"]][-3:] == ["w0", "w1", "w2"]
    assert run["duration_s"] > 0
    assert not (tmp_path / "data").exists(), "nothing was started"


def test_a_file_a_text_and_a_dictionary_are_one_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "short.toml"
    path.write_text(SHORT)
    changes = {"device.directory": str(tmp_path / "data"), "plan.phase": "2s"}
    sources = [path, str(path), SHORT, DICTIONARY]
    plans = [manometer.Experiment(source, changes=changes).plan()["runs"] for source in sources]
    assert all(plan == plans[0] for plan in plans)
    assert not list(tmp_path.glob(".manometer-*"))


def test_events_come_as_they_happen(experiment: manometer.Experiment, tmp_path: Path) -> None:
    with experiment.start(tmp_path / "out", progress=False) as run:
        received = list(run)
    assert isinstance(received[0], events.RunBegun) and received[0].runs == 1
    assert [event.id for event in received if isinstance(event, events.PhaseBegun)][-3:] == ["w0", "w1", "w2"]
    samples = [event for event in received if isinstance(event, events.Sample)]
    assert {sample.workload for sample in samples} == {"primary", "writer"}
    assert {sample.unit for sample in samples} == {"ops/s", "MiB/s"}
    assert isinstance(run.recording, manometer.Recording) and run.recording.status == "complete"


def test_a_block_that_is_left_ends_the_run(tmp_path: Path) -> None:
    changes = {"device.directory": str(tmp_path / "data"), "plan.phase": "600s"}
    experiment = manometer.Experiment(SHORT, changes=changes)
    with experiment.start(tmp_path / "out", progress=False) as run:
        for event in run:
            if isinstance(event, events.Sample):
                break
    recording = run.recording
    assert isinstance(recording, manometer.Recording) and recording.status == "interrupted"


def test_an_exception_ends_the_run_and_is_not_replaced(tmp_path: Path) -> None:
    changes = {"device.directory": str(tmp_path / "data"), "plan.phase": "600s"}
    experiment = manometer.Experiment(SHORT, changes=changes)
    with pytest.raises(ZeroDivisionError), experiment.start(tmp_path / "out", progress=False) as run:
        for event in run:
            if isinstance(event, events.PhaseBegun):
                raise ZeroDivisionError
    assert isinstance(run.recording, manometer.Recording) and run.recording.status == "interrupted"


def test_a_slow_listener_holds_nothing_up(tmp_path: Path) -> None:
    changes = {"device.directory": tmp_path / "data", "interval": "10ms", "plan.phase": "3s"}
    experiment = manometer.Experiment(SHORT, changes=changes)
    with experiment.start(tmp_path / "out", progress=False) as run:
        first = next(iter(run))
        # All output until the end is more than a pipe holds.
        while isinstance(first, events.Event) and not ended(tmp_path / "out"):
            time.sleep(0.1)
        received = list(run)
    assert isinstance(received[-1], events.Ended | events.Note | events.Tick | events.Sample)
    assert isinstance(run.recording, manometer.Recording) and run.recording.status == "complete"


def test_the_former_name_of_a_tick_is_deprecated() -> None:
    with pytest.warns(DeprecationWarning, match="use `Tick`"):
        assert events.Beat is events.Tick


def ended(out: Path) -> bool:
    return '"finished"' in (out / "events.jsonl").read_text() if (out / "events.jsonl").exists() else False


def test_a_run_without_a_reader_ends(tmp_path: Path, needs_program: str) -> None:
    (tmp_path / "short.toml").write_text(SHORT.replace('phase = "600ms"', 'phase = "600s"'))
    words = [needs_program, "run", "short.toml", "--out", "out", "--progress", "json"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
        assert run.stderr is not None
        run.stderr.readline()
        run.stderr.close()
        run.wait(timeout=120)
    recording = manometer.open(tmp_path / "out")
    assert isinstance(recording, manometer.Recording) and recording.status == "interrupted"


def test_events_are_read_within_the_block(experiment: manometer.Experiment, tmp_path: Path) -> None:
    with pytest.raises(manometer.errors.ExperimentError, match="within its block"):
        next(iter(experiment.start(tmp_path / "out", progress=False)))
    with pytest.raises(manometer.errors.ExperimentError, match="changes have"):
        manometer.Experiment(SHORT, changes={"name": None}).plan()


def test_a_wrong_setting_is_refused_with_its_line(tmp_path: Path, experiment: manometer.Experiment) -> None:
    wrong = manometer.Experiment(SHORT.replace('workload = "ycsb-b"', 'workloed = "ycsb-b"'))
    with pytest.raises(manometer.errors.ExperimentError, match="workloed"):
        wrong.plan()
    with pytest.raises(manometer.errors.ExperimentError, match="workloed"):
        wrong.run(tmp_path / "out", progress=False)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(manometer.errors.ExperimentError, match="not empty"):
        experiment.run(tmp_path / "full", progress=False)
    with pytest.raises(manometer.errors.ExperimentError, match=r"nowhere\.toml"):
        _ = manometer.Experiment(tmp_path / "nowhere.toml").text
    with pytest.raises(manometer.errors.ExperimentError, match="not an experiment"):
        manometer.Experiment({"name": object()})


def test_a_failed_workload_is_an_error(tmp_path: Path) -> None:
    patterns = {"op": "^(?<count>[0-9]+) ops"}
    failing = {"name": "failing", "kind": "command", "command": ["sh", "-c", "exit 3"], "parser": "regex"}
    text = {**DICTIONARY, "neighbour": [{**failing, "patterns": patterns}], "plan": {"phase": "600ms"}}
    experiment = manometer.Experiment(text, changes={"device.directory": str(tmp_path / "data")})
    with pytest.raises(manometer.errors.ProgramError, match="failing failed") as caught:
        experiment.run(tmp_path / "out", progress=False)
    assert caught.value.status == 1
    recording = manometer.open(tmp_path / "out")
    assert isinstance(recording, manometer.Recording) and recording.status == "failed"


def test_a_missing_program_is_an_error_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, experiment: manometer.Experiment, tmp_path: Path
) -> None:
    monkeypatch.setenv("MANOMETER_PROGRAM", "no-such-program")
    with pytest.raises(manometer.errors.ProgramError, match="'no-such-program', which MANOMETER_PROGRAM names"):
        experiment.plan()
    with pytest.raises(manometer.errors.ProgramError, match="cargo install"):
        experiment.run(tmp_path / "out")


def test_commands_give_their_document(tmp_path: Path) -> None:
    (tmp_path / "trace.csv").write_text("time_s,key,op\n1,2,get\n")
    assert manometer.command("trace", "info", tmp_path / "trace.csv")["requests"] == 1
    with pytest.raises(manometer.errors.ProgramError, match="nowhere") as caught:
        manometer.command("trace", "info", tmp_path / "nowhere")
    assert caught.value.status == 2


def test_lines_that_are_no_events_are_notes() -> None:
    for line in ["", "text", "[1]", "3", '{"event":"unknown"}', '{"event":"ready","more":1}', '{"event":"run"}']:
        assert events.parse(line) == events.Note(line)
    line = '{"event":"rate","workload":"p","rate":5.0,"unit":"ops/s","p99_us":null}'
    assert events.parse(line) == events.Sample("p", 5.0, "ops/s", None)
    finding = '{"event":"finding","id":"a","severity":"info","text":"b"}'
    assert events.parse(finding) == manometer.Finding("a", "info", None, "b")
