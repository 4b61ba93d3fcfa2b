"""The database as a dictionary: against a dictionary, and its refusals."""

from __future__ import annotations

from pathlib import Path

import manometer
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from manometer.errors import DatabaseError

KEYS = st.binary(max_size=3)
VALUES = st.binary(max_size=40)


class AsDictionary(RuleBasedStateMachine):
    """Does the same to a database and to a dictionary."""

    folder: Path

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.place = tempfile.TemporaryDirectory(dir=self.folder)
        self.db = manometer.rlsm.open(self.place.name, sync="never", memtable_bytes=65_536)
        self.plain: dict[bytes, bytes] = {}
        self.snapshots: list[tuple[manometer.rlsm.Snapshot, dict[bytes, bytes]]] = []

    def teardown(self) -> None:
        self.db.close()
        self.place.cleanup()

    @rule(key=KEYS, value=VALUES)
    def put(self, key: bytes, value: bytes) -> None:
        self.db[key] = value
        self.plain[key] = value

    @rule(key=KEYS)
    def take(self, key: bytes) -> None:
        if key in self.plain:
            del self.db[key]
        else:
            with pytest.raises(KeyError):
                del self.db[key]
        self.plain.pop(key, None)

    @rule(low=KEYS, high=KEYS)
    def take_range(self, low: bytes, high: bytes) -> None:
        if low < high:
            self.db.delete_range(low, high)
            self.plain = {key: value for key, value in self.plain.items() if not low <= key < high}

    @rule(puts=st.dictionaries(KEYS, VALUES), takes=st.lists(KEYS), fails=st.booleans())
    def batch(self, puts: dict[bytes, bytes], takes: list[bytes], fails: bool) -> None:
        after = {key: value for key, value in {**self.plain, **puts}.items() if key not in takes}
        try:
            with self.db.batch() as batch:
                for key, value in puts.items():
                    batch[key] = value
                for key in takes:
                    del batch[key]
                assert len(batch) == len(puts) + len(takes)
                if fails:
                    raise ZeroDivisionError
        except ZeroDivisionError:
            return
        self.plain = after

    @rule()
    def flush(self) -> None:
        self.db.flush()

    @rule()
    def snapshot(self) -> None:
        self.snapshots.append((self.db.snapshot(), dict(self.plain)))

    @precondition(lambda self: len(self.snapshots) == 0)
    @rule()
    def reopen(self) -> None:
        self.db.close()
        self.db = manometer.rlsm.open(self.place.name, sync="never", memtable_bytes=65_536)

    @rule(low=KEYS, high=KEYS, prefix=KEYS)
    def ranges(self, low: bytes, high: bytes, prefix: bytes) -> None:
        items = sorted(self.plain.items())
        assert list(self.db.range(low, high)) == [item for item in items if low <= item[0] < high]
        assert list(self.db.range(low)) == [item for item in items if low <= item[0]]
        assert list(self.db.prefix(prefix)) == [item for item in items if item[0].startswith(prefix)]

    @invariant()
    def is_the_same(self) -> None:
        for mapping, plain in [(self.db, self.plain), *self.snapshots]:
            items = sorted(plain.items())
            assert list(mapping.items()) == items
            assert list(mapping) == [key for key, _ in items]
            assert list(mapping.values()) == [value for _, value in items]
            for key in [b"", b"a", *list(plain)[:3]]:
                assert (key in mapping, mapping.get(key)) == (key in plain, plain.get(key))


def test_it_is_a_dictionary(tmp_path: Path) -> None:
    AsDictionary.folder = tmp_path
    test_case = AsDictionary.TestCase
    test_case.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
    test_case("runTest").runTest()


def test_many_pairs_come_in_order(tmp_path: Path) -> None:
    with manometer.rlsm.open(tmp_path / "db", sync="never") as db:
        with db.batch() as batch:
            for number in range(2000):
                batch[b"%05d" % number] = b"v%d" % number
        pairs = list(db.items())
        assert pairs == [(b"%05d" % number, b"v%d" % number) for number in range(2000)]
        assert db.get(b"none", b"default") == b"default"
        with pytest.raises(KeyError):
            db[b"none"]
        db.compact()
        assert db.stats()["level1_entries"] == 2000
        db.backup(tmp_path / "backup")
    with manometer.rlsm.open(tmp_path / "backup", read_only=True) as copy:
        assert list(copy.items()) == pairs
        with pytest.raises(DatabaseError, match="read-only"):
            copy[b"a"] = b"b"


def test_a_batch_that_fails_keeps_its_writes(tmp_path: Path) -> None:
    manometer.rlsm.open(tmp_path / "db").close()
    with manometer.rlsm.open(tmp_path / "db", read_only=True) as db:
        batch = db.batch()
        batch[b"key"] = b"value"
        with pytest.raises(DatabaseError), batch:
            pass
        assert len(batch) == 1
        with pytest.raises(ZeroDivisionError), batch:
            raise ZeroDivisionError
        assert len(batch) == 0, "what an exception ended is not written by a block after it"


def test_it_refuses_wrong_requests(tmp_path: Path) -> None:
    db = manometer.rlsm.open(tmp_path / "db", sync=0.5, cache_bytes=1 << 20)
    with pytest.raises(DatabaseError, match="open elsewhere"):
        manometer.rlsm.open(tmp_path / "db")
    with pytest.raises(DatabaseError, match=r"65,?535"):
        db[b"k" * 65_536] = b""
    with pytest.raises(TypeError):
        db["text"] = b""  # pyright: ignore[reportArgumentType]
    snapshot, batch = db.snapshot(), db.batch()
    batch[b"a"] = b"b"
    db.close()
    db.close()
    for call in [lambda: db.get(b"a"), lambda: snapshot.get(b"a"), lambda: batch.__exit__(None, None, None), db.flush]:
        with pytest.raises(DatabaseError, match="closed"):
            call()
    assert len(batch) == 1, "what was not written is still there"
    with pytest.raises(DatabaseError, match="memtable_bytes"):
        manometer.rlsm.open(tmp_path / "other", memtable_bytes=1)
    for sync in ["sometimes", 0, -1.0]:
        with pytest.raises(DatabaseError, match="seconds above 0"):
            manometer.rlsm.open(tmp_path / "other", sync=sync)  # pyright: ignore[reportArgumentType]
    with pytest.raises(DatabaseError):
        manometer.rlsm.open(tmp_path / "nowhere", read_only=True)


def test_damage_is_found(tmp_path: Path) -> None:
    with manometer.rlsm.open(tmp_path / "db") as db:
        for number in range(1000):
            db[b"%d" % number] = bytes(100)
        db.compact()
    assert manometer.rlsm.verify(tmp_path / "db") == []
    largest = max((tmp_path / "db").iterdir(), key=lambda path: path.stat().st_size)
    content = bytearray(largest.read_bytes())
    content[len(content) // 2] ^= 0xFF
    largest.write_bytes(content)
    assert manometer.rlsm.verify(tmp_path / "db") != []
