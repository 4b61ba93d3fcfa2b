"""What a recording holds and says, and what opens as none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import manometer
import pytest


def test_a_recording_says_what_its_summary_says(recording: manometer.Recording) -> None:
    summary = json.loads((recording.path / "summary.json").read_text())
    assert recording.summary == summary
    assert recording.status == "complete"
    assert recording.damage == []
    assert recording.scale() == summary["scale"]
    assert [finding.id for finding in recording.findings] == [finding["id"] for finding in summary["findings"]]
    plan = json.loads((recording.path / "plan.json").read_text())
    assert recording.plan == {name: value for name, value in plan.items() if name != "format"}
    assert recording.environment == json.loads((recording.path / "environment.json").read_text())
    assert 'name = "short"' in recording.experiment


def test_a_recording_has_a_headline_and_a_verdict(recording: manometer.Recording) -> None:
    verdict = recording.verdict
    assert recording.headline == recording.summary["headline"]
    assert verdict.grade == recording.summary["verdict"]["grade"]
    assert [reason.id for reason in verdict.reasons] == [one["id"] for one in recording.summary["verdict"]["reasons"]]
    # Phases of half a second have no confidence interval.
    short = next(reason for reason in verdict.reasons if reason.id == "phase-too-short")
    assert (short.threatens, short.strength, short.allows) == ("phase", "serious", "indicative")
    assert short.phases and short.text.startswith("Too short for a confidence interval")
    finding = next(finding for finding in recording.findings if finding.id == "phase-too-short")
    assert (finding.threatens, finding.strength) == ("phase", "serious")
    assert recording.goal is None


def test_runs_have_a_headline_and_a_verdict_together(sweep: manometer.Recordings) -> None:
    # Half-second phases: indicative, or void where the host is busy.
    beginnings = {"indicative": ("Indicative: ",), "void": ("Void: ", "Not a storage result: ")}
    assert sweep.headline.startswith(beginnings[sweep.verdict.grade])


def test_phases_have_their_settings_and_pressures(recording: manometer.Recording) -> None:
    phases = recording.phases.rows()
    assert [row["phase"] for row in phases] == ["w0", "w1", "w2"]
    assert [row["writer.iodepth"] for row in phases][1:] == [1.0, 4.0]
    by_summary = [phase["performance"]["mean"] for phase in recording.summary["phases"]]
    assert [row["performance"] for row in phases] == by_summary
    pressures = recording.pressure().rows()
    assert pressures[0]["pressure"] == 0.0
    assert all(row["pressure"] is not None or row["reason"] for row in pressures)
    own = recording.pressure("writer").rows()
    assert [row["phase"] for row in own] == ["w1", "w2"]
    assert all(row["unit"] == "MiB/s" and row["performance"] > 0 for row in own)
    assert all(row["pressure"] is None and row["reason"] for row in own), "it was not measured alone"


def test_samples_and_latencies_are_whole(recording: manometer.Recording) -> None:
    assert {"primary", "writer", "cpu"} <= set(recording.sources)
    rows = recording.samples("primary").rows()
    assert [row["t_ns"] for row in rows] == sorted(row["t_ns"] for row in rows)
    assert abs((rows[-1]["t_ns"] - rows[0]["t_ns"]) / 1e9 - (rows[-1]["t_s"] - rows[0]["t_s"])) < 1e-6
    intervals, phases = recording.latency("read"), recording.latency("read", by="phase")
    assert all(row["p50_us"] <= row["p99_us"] <= row["max_us"] for row in intervals.rows() if row["requests"])
    known = [phase["latency_us"]["read"]["p99"] for phase in recording.summary["phases"]]
    assert [row["p99_us"] for row in phases.rows()] == pytest.approx(known)
    assert len(recording.latency("write", "writer")) > 0


def test_runs_are_named_apart(recording: manometer.Recording, tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copytree(recording.path, tmp_path / name / "recording")
    both = manometer.Recordings(manometer.Recording(tmp_path / name / "recording") for name in ("a", "b"))
    assert {row["run"] for row in both.phases.rows()} == {"a/recording", "b/recording"}


def test_what_is_not_there_is_named_with_what_is(recording: manometer.Recording) -> None:
    with pytest.raises(manometer.RecordingError, match=r"no samples of `disk`; it has .*primary"):
        recording.samples("disk")
    with pytest.raises(manometer.RecordingError, match="no latencies of `scan` of `primary`; there are those of read"):
        recording.latency("scan")
    with pytest.raises(manometer.RecordingError, match="no neighbour `reader`; there is writer"):
        recording.pressure("reader")


def test_a_folder_of_runs_opens_as_all_of_them(sweep: manometer.Recordings) -> None:
    out = sweep[0].path.parents[1]
    opened = manometer.open(out)
    assert isinstance(opened, manometer.Recordings)
    assert [one.path for one in opened] == [one.path for one in sweep]
    assert {row["writer.block_size"] for row in opened.pressure().rows()} == {"4KiB", "8KiB"}
    assert {row["run"] for row in opened.phases.rows()} == {one.path.name for one in opened}
    assert len(opened[:1]) == 1 and opened.skipped == []
    assert all(finding.text for finding in opened.findings)
    (out / "runs" / "999").mkdir()
    try:
        again = manometer.open(out)
        assert isinstance(again, manometer.Recordings)
        assert [path.name for path in again.skipped] == ["999"]
    finally:
        (out / "runs" / "999").rmdir()


@pytest.fixture
def copy(recording: manometer.Recording, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recording.path, tmp_path / "copy"))


def test_no_recording_is_refused(tmp_path: Path, copy: Path) -> None:
    with pytest.raises(manometer.RecordingError, match="is not a directory"):
        manometer.open(tmp_path / "nowhere")
    with pytest.raises(manometer.RecordingError, match="is not a directory"):
        manometer.open(copy / "plan.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(manometer.RecordingError, match="neither a recording"):
        manometer.open(tmp_path / "empty")
    (copy / "plan.json").write_text('{"experiment":')
    with pytest.raises(manometer.RecordingError, match=r"plan\.json was changed or damaged"):
        manometer.open(copy)


def test_a_recording_of_a_newer_version_is_refused_by_name(copy: Path) -> None:
    for name, key, value in [("plan.json", "format", 7), ("environment.json", "manometer", "7.3.1")]:
        document = json.loads((copy / name).read_text())
        (copy / name).write_text(json.dumps({**document, key: value}))
    with pytest.raises(manometer.RecordingError, match=r"format 7, written by Manometer 7\.3\.1"):
        manometer.open(copy)


def test_a_cut_recording_opens_and_says_so(copy: Path) -> None:
    events = (copy / "events.jsonl").read_text().splitlines(keepends=True)
    (copy / "events.jsonl").write_text("".join(events[:-1]) + events[-1][:10])
    log = copy / "latency" / "primary.hlog"
    log.write_bytes(log.read_bytes()[:-20])
    recording = manometer.open(copy)
    assert isinstance(recording, manometer.Recording)
    assert recording.status == "cut"
    assert "events.jsonl: the end of the run is missing" in recording.damage
    assert recording.latency("read").metadata["cut"] == "true"
    (copy / "samples" / "primary.parquet").write_bytes(b"PAR1")
    with pytest.raises(manometer.RecordingError, match=r"primary\.parquet"):
        recording.samples("primary")


def test_recordings_are_compared(recording: manometer.Recording, sweep: manometer.Recordings, tmp_path: Path) -> None:
    one, other = (run.path for run in sweep)
    compared = manometer.compare(one, other, bound=0.5)
    assert [phase["id"] for phase in compared["phases"]] == [phase["id"] for phase in sweep[0].summary["phases"]]
    assert all(phase["verdict"] in {"same", "different", "unknown"} for phase in compared["phases"])
    with pytest.raises(manometer.errors.CompareError, match="bound"):
        manometer.compare(one, other, bound=2)
    with pytest.raises(manometer.errors.CompareError, match="the same recording"):
        manometer.compare(one, one)
    with pytest.raises(manometer.errors.CompareError, match="neither a recording"):
        manometer.compare(recording.path, tmp_path)
