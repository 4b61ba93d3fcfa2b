"""The cache of paths: answers, permissions, changes, and a store in Python against which all of it is checked."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from manometer.backpath import Credentials, Entry, Found, PathCache
from manometer.errors import ManometerError, PathError

READER, STRANGER = Credentials(1000, 1000), Credentials(1001, 1001)
FILE = Entry(7, mode=0o644)


class Folders:
    """A file system as a dictionary from paths to entries."""

    def __init__(self) -> None:
        self.entries = {b"/": Entry(1, "directory", 0o755)}
        self.paths = {1: b"/"}
        self.last = 1
        self.asked = 0

    def add(self, path: bytes, kind: str = "file", mode: int = 0o755, target: bytes | None = None) -> None:
        self.last += 1
        self.entries[path] = Entry(self.last, kind, mode, target=target)  # type: ignore[arg-type]

    def root(self) -> Entry:
        self.asked += 1
        return self.entries[b"/"]

    def look_up(self, directory: Entry, name: bytes) -> Entry | None:
        self.asked += 1
        at = next(path for path, entry in self.entries.items() if entry.inode == directory.inode)
        return self.entries.get(at.rstrip(b"/") + b"/" + name)

    def rename(self, old: bytes, new: bytes) -> None:
        moved = {path: entry for path, entry in self.entries.items() if (path + b"/").startswith(old + b"/")}
        for path, entry in moved.items():
            del self.entries[path]
            self.entries[new + path[len(old) :]] = entry

    def chmod(self, path: bytes, mode: int) -> None:
        entry = self.entries[path]
        self.entries[path] = Entry(entry.inode, entry.kind, mode, target=entry.target)


def tree() -> Folders:
    folders = Folders()
    folders.add(b"/srv", "directory")
    folders.add(b"/srv/data", "directory")
    folders.add(b"/srv/data/7")
    folders.add(b"/link", "symlink", 0o777, b"srv/data")
    return folders


def insert(cache: PathCache, path: str, entry: Entry | None, who: Credentials = READER) -> bool:
    return cache.insert(path, entry, who, ticket=cache.ticket(path))


def test_it_finds_what_was_inserted_for_whom_it_was_inserted() -> None:
    cache = PathCache(capacity=1000)
    assert cache.lookup("/srv/7", READER) == Found("miss", b"", None)
    assert insert(cache, "/srv", Entry(2, "directory", 0o755)) and insert(cache, "/srv/7", FILE)
    assert insert(cache, "/srv/8", None)
    assert cache.lookup("/srv/7", READER) == Found("hit", b"/srv/7", FILE)
    assert cache.lookup(Path("/srv/7"), READER) == cache.lookup(b"/srv/7", READER)
    assert cache.lookup("/srv/8/9", READER) == Found("negative", b"/srv/8", None)
    assert cache.lookup("/srv/9/9", READER).answer == "prefix"
    assert cache.lookup("/srv/7", STRANGER).answer == "miss"
    assert cache.lookup("/srv/7", Credentials(1000, 1000, (5,))).answer == "miss"
    assert insert(cache, "/srv/7", FILE, Credentials(1, 1, (5, 6)))
    assert cache.lookup("/srv/7", Credentials(1, 1, (6, 5))).answer == "hit"
    assert (len(cache), cache.evictions) == (3, 0)


def test_every_field_comes_back() -> None:
    cache = PathCache()
    entry = Entry(9, "symlink", 0o777, 4, 5, 3, 1 << 40, b"to/\xff")
    insert(cache, "/link", entry)
    assert cache.lookup("/link", READER).entry == entry


def test_a_change_ends_what_was_known() -> None:
    cache = PathCache()
    insert(cache, "/srv/a", FILE)
    with cache.renaming("/srv", "/new"):
        assert cache.lookup("/srv/a", READER).answer == "miss"
        assert not insert(cache, "/srv/a", FILE), "what changes is not kept"
    assert cache.lookup("/srv/a", READER).answer == "miss"
    ticket = cache.ticket("/srv/a")
    with pytest.raises(ZeroDivisionError), cache.changing(entries=["/srv/a"]):
        raise ZeroDivisionError
    assert not cache.insert("/srv/a", FILE, READER, ticket=ticket), "the ticket is from before the change"
    assert insert(cache, "/srv/a", FILE), "a change ends also when it fails"
    with cache.changing_permissions("/srv"):
        pass
    assert cache.lookup("/srv/a", READER).answer == "miss", "whoever was allowed may not be any more"
    insert(cache, "/srv/a", FILE)
    cache.invalidate("/srv")
    assert cache.lookup("/srv/a", READER).answer == "miss"
    linked = Entry(8, links=2)
    assert insert(cache, "/one", linked) and insert(cache, "/two", linked)
    with cache.changing(inodes=[8]):
        pass
    assert cache.lookup("/one", READER).answer == "miss"


def test_wrong_requests_are_refused() -> None:
    cache = PathCache()
    for path in ["", "srv", "/srv/", "/srv/../a", "//srv"]:
        assert not insert(cache, path, FILE)
        assert cache.lookup(path, READER).answer == "miss"
        with pytest.raises(PathError, match="not canonical"):
            cache.invalidate(path)
    with pytest.raises(PathError, match="not canonical"), cache.renaming("/a", "b"):
        pytest.fail("it has not begun")
    assert insert(cache, "/a/x", FILE), "and is not open"
    for arguments in [{"capacity": 0}, {"capacity": 1 << 40}, {"capacity": -1}, {"grants": 7}, {"seed": 1 << 64}]:
        with pytest.raises(PathError):
            PathCache(**arguments)
    with pytest.raises(PathError, match="kind is 'pipe'"):
        insert(cache, "/p", Entry(1, "pipe"))  # type: ignore[arg-type]
    with pytest.raises(PathError, match="sys_admin"):
        cache.lookup("/p", Credentials(1, 1, (), frozenset({"sys_admin"})))  # type: ignore[arg-type]
    for credentials in [Credentials(-1, 1), Credentials(1, 1 << 32), Credentials(1, 1, (-5,))]:
        with pytest.raises(PathError, match="user or group"):
            cache.lookup("/p", credentials)
    with pytest.raises(OverflowError):
        insert(cache, "/p", Entry(-1))
    change = cache.renaming("/a", "/b")
    with change, pytest.raises(PathError, match="already"):
        change.__enter__()


def test_resolve_asks_only_for_what_it_does_not_know() -> None:
    cache, store = PathCache(), tree()
    found = cache.resolve("/srv/data/7", READER, store)
    assert (found.entry, found.path) == (store.entries[b"/srv/data/7"], b"/srv/data/7")
    assert found.look_ups == store.asked == 4, "the root and three names"
    again = cache.resolve("/srv/data/7", READER, store)
    assert (again.look_ups, again.probes, store.asked) == (0, 1, 4)
    assert cache.resolve("/link/7", READER, store).path == b"/srv/data/7"
    assert cache.resolve("/link", READER, store, follow_symlinks=False).entry.target == b"srv/data"
    assert cache.resolve("../data/7", READER, store, base="/srv/data").path == b"/srv/data/7"
    with cache.changing_permissions("/srv"):
        store.chmod(b"/srv", 0o700)
    with pytest.raises(PathError) as refused:
        cache.resolve("/srv/data/7", READER, store)
    assert isinstance(refused.value, OSError) and isinstance(refused.value, ManometerError)
    assert (refused.value.errno, refused.value.filename) == (errno.EACCES, "/srv/data/7")
    assert cache.resolve("/srv/data/7", Credentials.root(), store).entry.kind == "file"
    with pytest.raises(PathError) as missing:
        cache.resolve("/srv/nothing", Credentials.root(), store)
    assert missing.value.errno == errno.ENOENT


def test_an_exception_of_the_store_passes_through() -> None:
    class Broken(Folders):
        def look_up(self, directory: Entry, name: bytes) -> Entry | None:
            raise ConnectionError("gone")

    with pytest.raises(ConnectionError, match="gone"):
        PathCache().resolve("/a", READER, Broken())


def test_threads_share_a_cache() -> None:
    cache, store = PathCache(), tree()
    wrong: list[object] = []

    def ask() -> None:
        for _ in range(200):
            try:
                found = cache.resolve("/srv/data/7", READER, store)
                if found.entry.kind != "file":
                    wrong.append(found)
            except PathError as refused:
                wrong.append(refused)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        cache.invalidate("/srv")
    for thread in threads:
        thread.join()
    assert wrong == []


NAMES = st.sampled_from([b"a", b"b"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(lambda names: b"/" + b"/".join(names))


class AsFolders(RuleBasedStateMachine):
    """Does the same to a store with a cache and without one."""

    def __init__(self) -> None:
        super().__init__()
        self.cache, self.store = PathCache(capacity=16), Folders()

    @rule(path=PATHS, kind=st.sampled_from(["file", "directory"]), mode=st.sampled_from([0o755, 0o700]))
    def add(self, path: bytes, kind: str, mode: int) -> None:
        parent = self.store.entries.get(path.rpartition(b"/")[0] or b"/")
        if path not in self.store.entries and parent is not None and parent.kind == "directory":
            with self.cache.changing(entries=[path]):
                self.store.add(path, kind, mode)

    @rule(path=PATHS, mode=st.sampled_from([0o755, 0o700]))
    def chmod(self, path: bytes, mode: int) -> None:
        if path in self.store.entries:
            with self.cache.changing_permissions(path):
                self.store.chmod(path, mode)

    @rule(old=PATHS, new=PATHS)
    def rename(self, old: bytes, new: bytes) -> None:
        parent = self.store.entries.get(new.rpartition(b"/")[0] or b"/")
        is_free = new not in self.store.entries and parent is not None and parent.kind == "directory"
        if old in self.store.entries and is_free and not (new + b"/").startswith(old + b"/"):
            with self.cache.renaming(old, new):
                self.store.rename(old, new)

    @rule(path=PATHS, who=st.sampled_from([READER, STRANGER, Credentials.root()]))
    def ask(self, path: bytes, who: Credentials) -> None:
        def answer(cache: PathCache) -> object:
            try:
                found = cache.resolve(path, who, self.store)
            except PathError as refused:
                return refused.errno
            return (found.entry, found.path)

        expected = answer(PathCache(capacity=16))
        assert answer(self.cache) == expected
        assert answer(self.cache) == expected


def test_a_cache_changes_no_answer() -> None:
    test_case = AsFolders.TestCase
    test_case.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
    test_case("runTest").runTest()
