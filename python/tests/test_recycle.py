"""Files larger than memory as arrays: against a bytearray, and what ends, forks and fails."""

from __future__ import annotations

import errno
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import manometer
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manometer import recycle
from manometer.errors import ManometerError, RecycleError

PAGE = 4096
# So little that almost every access recycles a page.
LEAST = 4 * PAGE


def filled(folder: Path, pages: int = 40, name: str = "file") -> Path:
    path = folder / name
    path.write_bytes(np.arange(pages * PAGE // 4, dtype="<u4").tobytes())
    return path


def test_an_array_shows_the_file_and_changes_it(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with recycle.open(path, "r+", memory=LEAST) as mapping:
        assert len(mapping) == 40 * PAGE
        numbers = mapping.array("<u4")
        assert (numbers == np.arange(40 * PAGE // 4)).all()
        numbers[::1024] = 7
        mapping.sync()
        assert np.fromfile(path, "<u4")[::1024].tolist() == [7] * 40
        rows = mapping.array("<u4", shape=(-1, 512), offset=PAGE)
        assert rows.shape == (78, 512)
        assert mapping.array("u1", shape=3, offset=2).tolist() == [0, 0, 1]
        with pytest.raises(ValueError):
            mapping.array("<u4", shape=40 * PAGE)
        assert mapping.counters()["pages_recycled"] > 40
        del numbers, rows


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["read", "write", "view", "assign", "sync", "advise", "resize"]),
        st.integers(0, 30 * PAGE),
        st.integers(1, 3 * PAGE),
        st.integers(0, 255),
    ),
    max_size=60,
)


@settings(max_examples=40, deadline=None)
@given(steps=_STEPS, policy=st.sampled_from(["cor", "fr", "fp"]), pages=st.integers(4, 9))
def test_it_agrees_with_a_bytearray(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, int, int]], policy: Any, pages: int
) -> None:
    path = filled(tmp_path_factory.mktemp("model"), 20)
    plain = bytearray(path.read_bytes())
    with recycle.open(path, "r+", memory=pages * PAGE, policy=policy) as mapping:
        for verb, offset, length, byte in steps:
            end = min(offset + length, len(plain))
            start = min(offset, end)
            if verb == "read":
                assert mapping.read(start, end - start) == plain[start:end]
            elif verb == "write":
                mapping.write(start, bytes([byte]) * (end - start))
                plain[start:end] = bytes([byte]) * (end - start)
            elif verb == "view":
                assert mapping.view()[start:end] == plain[start:end]
            elif verb == "assign":
                mapping.view()[start:end] = bytes([byte]) * (end - start)
                plain[start:end] = bytes([byte]) * (end - start)
            elif verb == "sync":
                mapping.sync(start, end)
                assert path.read_bytes()[start:end] == plain[start:end]
            elif verb == "advise":
                mapping.advise(["normal", "random", "sequential", "will_need", "dont_need"][byte % 5], start, end)  # pyright: ignore[reportArgumentType]
            else:
                mapping.resize(offset)
                plain = plain[:offset].ljust(offset, b"\0")
    assert path.read_bytes() == plain


def test_a_mapping_with_views_is_neither_closed_nor_resized(tmp_path: Path) -> None:
    mapping = recycle.open(filled(tmp_path), "r+", memory=LEAST)
    part = mapping.array("<u4")[5:9]
    for refused in (mapping.close, lambda: mapping.resize(0)):
        with pytest.raises(BufferError, match="delete its 1 views"):
            refused()
    assert part.tolist() == [5, 6, 7, 8]
    del part
    mapping.resize(PAGE)
    mapping.close()
    mapping.close()
    for closed in (mapping.view, mapping.sync, lambda: len(mapping), lambda: mapping.read(0, 1)):
        with pytest.raises(RecycleError, match="closed"):
            closed()


def test_a_view_keeps_its_mapping(tmp_path: Path) -> None:
    path = filled(tmp_path)
    view = recycle.open(path, "r+", memory=LEAST).view()
    gc.collect()
    assert view[4 * 1024 : 4 * 1024 + 4] == (1024).to_bytes(4, "little")
    view[0] = 9
    del view
    gc.collect()
    assert path.read_bytes()[0] == 9, "what was changed is written when nobody has it any more"
    recycle.open(path, "r+").close()


def test_a_file_opened_to_read_is_not_changed(tmp_path: Path) -> None:
    with recycle.open(filled(tmp_path), memory=LEAST) as mapping:
        assert not mapping.writable
        assert mapping.view().readonly
        array = mapping.array()
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        for refused in (lambda: mapping.write(0, b"x"), lambda: mapping.write(40 * PAGE, b"x")):
            with pytest.raises(RecycleError):
                refused()
        del array


def test_a_new_file_has_its_size(tmp_path: Path) -> None:
    with recycle.open(tmp_path / "new", "w+", size=3 * PAGE + 5) as mapping:
        assert len(mapping) == 3 * PAGE + 5
        mapping.view()[-1] = 1
    assert (tmp_path / "new").read_bytes() == bytes(3 * PAGE + 4) + b"\1"
    with recycle.open(tmp_path / "empty", "w+", size=0) as mapping:
        assert len(mapping.view()) == 0 and mapping.array().shape == (0,)
    with pytest.raises(ValueError, match="size"):
        recycle.open(tmp_path / "new", size=5)


def test_a_new_file_replaces_an_old_one_only_where_nothing_is_wrong(tmp_path: Path) -> None:
    path, absent = filled(tmp_path), tmp_path / "absent"
    before = path.read_bytes()
    # Neither ext4 nor tmpfs has files of 2^63 - 1 bytes, and no address space has room for them.
    wrong: list[dict[str, Any]] = [
        {"policy": "best"},
        {"faults": "never"},
        {"memory": PAGE},
        {"memory": 1 << 62},
        {"memory": -1},
        {"read_ahead": -1},
        {"size": -1},
        {"size": (1 << 63) - 1},
        {"size": 1 << 63},
        {"size": 1 << 64},
    ]
    for options in wrong:
        for file in (path, absent):
            with pytest.raises(RecycleError):
                recycle.open(file, "w+", **{"size": 5, **options})
        assert path.read_bytes() == before and not absent.exists()
    with recycle.open(path), pytest.raises(RecycleError, match="share one region"):
        recycle.open(path, "w+", size=5)
    assert path.read_bytes() == before
    with recycle.open(path, "w+", size=5) as mapping:
        assert mapping.read(0, 5) == bytes(5)
    assert path.read_bytes() == bytes(5)


@pytest.mark.parametrize("mode", ["", "rb", "a", "w", "r+b", "x"])
def test_a_mode_that_there_is_not_is_refused(tmp_path: Path, mode: Any) -> None:
    path = filled(tmp_path)
    with pytest.raises(ValueError, match=r"'r', 'r\+', 'w\+'"):
        recycle.open(path, mode)
    assert path.stat().st_size == 40 * PAGE


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in [(tmp_path, "directory"), (tmp_path / "pipe", "pipe"), ("/dev/zero", "character device")]:
        with pytest.raises(RecycleError, match=f"{path}: it is a {kind}"):
            recycle.open(path)
    with pytest.raises(RecycleError):
        recycle.open(tmp_path, "w+", size=1)


def test_places_and_lengths_are_numbers_of_bytes(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with recycle.open(path, "r+", memory=LEAST) as mapping:
        wrong: list[tuple[str, Callable[[], object]]] = [
            ("offset", lambda: mapping.read(-1, 1)),
            ("length", lambda: mapping.read(0, -1)),
            ("offset", lambda: mapping.write(-1, b"x")),
            ("start", lambda: mapping.sync(-1)),
            ("end", lambda: mapping.advise("random", 0, -1)),
            ("length", lambda: mapping.resize(-1)),
            ("length", lambda: mapping.resize(1 << 64)),
        ]
        for name, call in wrong:
            with pytest.raises(RecycleError, match=f"`{name}` is "):
                call()
        with pytest.raises(RecycleError, match="failed"):
            mapping.resize(1 << 63)
        assert len(mapping) == 40 * PAGE
    assert path.stat().st_size == 40 * PAGE


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    path = filled(tmp_path)
    wrong: list[tuple[str, Callable[[], object]]] = [
        ("No such file", lambda: recycle.open(tmp_path / "absent")),
        ("too small", lambda: recycle.open(path, memory=PAGE)),
        ("fifo", lambda: recycle.open(path, replacement="fifo")),  # pyright: ignore[reportArgumentType]
        ("policy", lambda: recycle.open(path, policy="")),  # pyright: ignore[reportArgumentType]
    ]
    for text, call in wrong:
        with pytest.raises(RecycleError, match=text):
            call()
    with recycle.open(path) as mapping:
        with pytest.raises(RecycleError, match="not within"):
            mapping.read(40 * PAGE - 1, 2)
        with pytest.raises(RecycleError, match="not within"):
            mapping.read(0, 1 << 60)
        with pytest.raises(RecycleError, match="dont_need"):
            mapping.advise("never")  # pyright: ignore[reportArgumentType]
        with pytest.raises(RecycleError, match="share one region"):
            recycle.open(path, "r+")
    assert issubclass(RecycleError, ManometerError)


def test_a_system_call_on_absent_bytes_is_refused_and_a_copy_is_not(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with recycle.open(path, memory=LEAST) as mapping, open(tmp_path / "copy", "wb", buffering=0) as copy:
        with pytest.raises(OSError) as refused:
            copy.write(mapping.view()[8 * PAGE :])
        assert refused.value.errno == errno.EFAULT
        copy.write(mapping.read(0, 40 * PAGE))
        del refused
        gc.collect()
    assert (tmp_path / "copy").read_bytes() == path.read_bytes()


def test_threads_share_a_mapping(tmp_path: Path) -> None:
    wrong: list[str] = []
    with recycle.open(filled(tmp_path), "r+", memory=8 * PAGE) as mapping:

        def work(me: int) -> None:
            numbers = mapping.array("<u4")
            for place in range(me, 40 * 1024, 509 * 4):
                numbers[place] += 1
                if int.from_bytes(mapping.read(4 * place, 4), "little") != place + 1:
                    wrong.append(f"{place} of thread {me}")

        threads = [threading.Thread(target=work, args=(me,)) for me in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def python(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)


def test_what_was_changed_is_written_when_the_interpreter_ends(tmp_path: Path) -> None:
    path = filled(tmp_path)
    code = """
import sys
from manometer import recycle
mapping = recycle.open(sys.argv[1], "r+", memory=16384)
kept = mapping.array()
kept[::4096] = 5
"""
    ended = python(code, path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert set(path.read_bytes()[::PAGE]) == {5}


def test_a_forked_child_says_so_and_leaves_the_parents_mapping(tmp_path: Path) -> None:
    path = filled(tmp_path)
    code = """
import os, sys
from manometer import recycle
from manometer.errors import RecycleError
mapping = recycle.open(sys.argv[1], "r+", memory=16384, policy="cor")
array = mapping.array()
array[0] = 5
child = os.fork()
if child == 0:
    try:
        mapping.read(0, 1)
    except RecycleError as error:
        assert "child" in str(error)
        for file in sys.argv[1:]:   # its parent's, which the parent writes, and another
            with recycle.open(file, memory=16384) as own:
                assert own.read(4, 4) == bytes([1, 0, 0, 0])
        sys.exit(7)   # and ends what it inherited
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
touching = os.fork()
if touching == 0:
    array[4096]
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(touching, 0)[1]))
assert array[1::4096].sum() == sum(i * 1024 // 256 % 256 for i in range(40))
del array
mapping.close()
"""
    ended = python(code, path, filled(tmp_path, name="other"))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert int(ended.stdout) == -signal.SIGSEGV
    assert path.read_bytes()[0] == 5


def test_a_shortened_file_is_an_error_of_reads(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with recycle.open(path, memory=LEAST) as mapping:
        os.truncate(path, 4 * PAGE)
        assert mapping.read(PAGE, 4) == (1024).to_bytes(4, "little")
        with pytest.raises(RecycleError, match="truncated"):
            mapping.read(9 * PAGE, 4)


def test_it_is_part_of_the_package() -> None:
    assert manometer.recycle is recycle
