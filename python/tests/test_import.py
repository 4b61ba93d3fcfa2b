"""Other tools' files become recordings."""

from __future__ import annotations

from pathlib import Path

import manometer
import pytest
from manometer.errors import ImportFileError
from scene import real_data


def test_one_file_is_a_recording_and_several_are_runs(ycsb_text: Path, tmp_path: Path) -> None:
    one = manometer.importing.ycsb(ycsb_text, out=tmp_path / "one")
    assert isinstance(one, manometer.Recording)
    assert one.path == tmp_path / "one"
    (phase,) = one.phases.rows()
    # 79,946 operations in 4 s.
    assert phase["performance"] == pytest.approx(20_000, rel=0.02)
    both = manometer.importing.ycsb(ycsb_text, ycsb_text, out=tmp_path / "both")
    assert isinstance(both, manometer.Recordings) and len(both) == 2
    assert isinstance(manometer.open(tmp_path / "both"), manometer.Recordings)
    assert [row["run"] for row in both.phases.rows()] == ["001", "002"]


def test_a_refused_import_leaves_nothing(ycsb_text: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nothing of YCSB\n")
    formats = manometer.importing
    for tool in [formats.ycsb, formats.db_bench, formats.fio, formats.storiks, formats.resctl_bench]:
        with pytest.raises(ImportFileError, match="text"):
            tool(tmp_path / "text", out=tmp_path / tool.__name__)
        assert not (tmp_path / tool.__name__).exists()
    with pytest.raises(ImportFileError, match="nowhere"):
        manometer.importing.ycsb(tmp_path / "nowhere", out=tmp_path / "out")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(ImportFileError, match="not empty"):
        manometer.importing.ycsb(ycsb_text, out=tmp_path / "full")


def test_the_authors_recordings_have_the_slides_scale(tmp_path: Path) -> None:
    path = real_data("storiks/icpe2021/ycsb_wb,at3_bs512_directio.out.xz")
    recording = manometer.importing.storiks(path, out=tmp_path / "slides")
    assert isinstance(recording, manometer.Recording)
    pressures = [row["pressure"] for row in recording.pressure().rows()]
    assert pressures[0] == 0.0 and max(pressures) > 0.5


def test_flags_become_an_experiment() -> None:
    path = real_data("storiks/exp_01-ycsb_workloadb.flags")
    assert "[primary]" in manometer.importing.flags(path)
