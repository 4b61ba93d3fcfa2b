"""The cache of paths `backpath`: a path is looked up from its end, with one probe at any depth when it is warm
(Song 2018, section 3.2).

```python
cache = manometer.backpath.PathCache(capacity=100_000)
reader = manometer.backpath.Credentials(uid=1000, gid=1000)

found = cache.resolve("/srv/archive/7", reader, store)   # looks up in `store` what the cache lacks
found.entry.inode, found.look_ups                        # 4 look-ups, the next time none

with cache.changing_permissions("/srv"):                 # name each change before it happens
    store.chmod("/srv", 0o700)
```

Paths are `str`, `bytes` or path-like; `str` is encoded as by `os.fsencode`. All threads may use a cache at once.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, TypeAlias

from manometer import _native
from manometer.errors import PathError

__all__ = [
    "Capability",
    "Change",
    "Credentials",
    "Entry",
    "Found",
    "PathCache",
    "Resolved",
    "Store",
    "StorePath",
    "Ticket",
]

StorePath: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
"""A path of a store; what is not bytes is encoded as by `os.fsencode`."""

Capability: TypeAlias = Literal["dac_override", "dac_read_search", "fowner", "chown"]
"""A capability of Linux that matters to paths."""

Ticket: TypeAlias = _native.Ticket
"""What `PathCache.ticket` remembers from before a look-up."""

_KINDS: tuple[Literal["file", "directory", "symlink"], ...] = ("file", "directory", "symlink")
_CAPABILITIES: tuple[Capability, ...] = ("dac_override", "dac_read_search", "fowner", "chown")


@dataclass(frozen=True)
class Credentials:
    """Who looks up. Equal credentials share what they were granted; different ones never do.

    >>> manometer.backpath.Credentials(uid=1000, gid=1000) == manometer.backpath.Credentials(1000, 1000)
    True
    """

    uid: int
    """The user."""
    gid: int
    """The group."""
    groups: tuple[int, ...] = ()
    """The supplementary groups, in any order."""
    capabilities: frozenset[Capability] = frozenset()
    """What they may do beyond user and groups, as in `capabilities(7)`."""

    @staticmethod
    def root() -> Credentials:
        """User 0, group 0, all capabilities."""
        return Credentials(0, 0, (), frozenset(_CAPABILITIES))

    def _who(self) -> tuple[int, int, tuple[int, ...], int]:
        unknown = self.capabilities.difference(_CAPABILITIES)
        if unknown:
            raise PathError(22, f"unknown capabilities {sorted(unknown)}: those of {', '.join(_CAPABILITIES)}")
        for number in (self.uid, self.gid, *self.groups):
            if not 0 <= number < 1 << 32:
                raise PathError(22, f"user or group {number}: 0 or above, and below 2**32")
        bits = sum(1 << place for place, name in enumerate(_CAPABILITIES) if name in self.capabilities)
        return (self.uid, self.gid, tuple(self.groups), bits)


@dataclass(frozen=True)
class Entry:
    """What is at the end of a path.

    >>> manometer.backpath.Entry(1, "directory", mode=0o755).kind
    'directory'
    """

    inode: int
    """The object's number, the same for all its names."""
    kind: Literal["file", "directory", "symlink"] = "file"
    """What it is; everything that is no directory and no symbolic link is a file."""
    mode: int = 0o644
    """Its permissions: the lower twelve bits of `st_mode`."""
    uid: int = 0
    """Its owner."""
    gid: int = 0
    """Its group."""
    links: int = 1
    """How many names it has. An object with several is kept once, and found by each."""
    size: int = 0
    """Its size in bytes."""
    target: bytes | None = None
    """Where a symbolic link leads."""

    def _tuple(self) -> tuple[int, int, int, int, int, int, int, bytes | None]:
        if self.kind not in _KINDS:
            raise PathError(22, f"kind is {self.kind!r}: one of {', '.join(_KINDS)}")
        kind = _KINDS.index(self.kind)
        return (self.inode, kind, self.mode, self.uid, self.gid, self.links, self.size, self.target)


def _entry(values: tuple[int, int, int, int, int, int, int, bytes | None]) -> Entry:
    inode, kind, mode, uid, gid, links, size, target = values
    return Entry(inode, _KINDS[kind], mode, uid, gid, links, size, target)


class Store(Protocol):
    """The slow side: whoever knows the directories. Exceptions pass through `PathCache.resolve`.

    >>> class Names:
    ...     def root(self):
    ...         return manometer.backpath.Entry(1, "directory", mode=0o755)
    ...
    ...     def look_up(self, directory, name):
    ...         return manometer.backpath.Entry(2) if (directory.inode, name) == (1, b"file") else None
    >>> reader = manometer.backpath.Credentials(uid=1000, gid=1000)
    >>> manometer.backpath.PathCache().resolve("/file", reader, Names()).entry.inode
    2
    """

    def root(self) -> Entry:
        """Returns the root directory."""
        ...

    def look_up(self, directory: Entry, name: bytes) -> Entry | None:
        """Returns what has this name in this directory; None if nothing has. The cache judges permissions."""
        ...


def _checked(found: object, method: str) -> Entry:
    if not isinstance(found, Entry):
        raise TypeError(f"the store's {method} returned {type(found).__name__}: an Entry is expected")
    return found


class _NativeStore:
    """A store with the interface that the native module calls."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def root(self) -> object:
        return _checked(self._store.root(), "root")._tuple()

    def look_up(self, directory: tuple[int, int, int, int, int, int, int, bytes | None], name: bytes) -> object:
        found = self._store.look_up(_entry(directory), name)
        return None if found is None else _checked(found, "look_up")._tuple()


@dataclass(frozen=True)
class Found:
    """What the cache knows of a path.

    >>> reader = manometer.backpath.Credentials(uid=1000, gid=1000)
    >>> manometer.backpath.PathCache().lookup("/srv", reader)
    Found(answer='miss', path=b'', entry=None)
    """

    answer: Literal["hit", "negative", "prefix", "miss"]
    """hit: the object; negative: there is nothing; prefix: only a directory on the way is known; miss: nothing is."""
    path: bytes
    """The part of the path that the answer is about: all of it for a hit, none for a miss."""
    entry: Entry | None
    """The object, for a hit or a prefix."""


@dataclass(frozen=True)
class Resolved:
    """What a path led to, and what it cost.

    >>> entry = manometer.backpath.Entry(7)
    >>> manometer.backpath.Resolved(entry, b"/srv", probes=1, look_ups=0).entry.inode
    7
    """

    entry: Entry
    """The object."""
    path: bytes
    """Its path without symbolic links, `.` and `..`."""
    probes: int
    """Probes of the cache's hash table."""
    look_ups: int
    """Questions to the store, the one for the root included."""


def _encoded(paths: Iterable[StorePath]) -> list[bytes]:
    return [os.fsencode(path) for path in paths]


class Change:
    """A change of the store, as a block: `with cache.renaming(old, new): …`.

    In the block, what changes is looked up in the store and not kept; after it, nobody is answered by what was there
    before.

    >>> cache = manometer.backpath.PathCache()
    >>> with cache.renaming("/old", "/new"):
    ...     pass  # rename it in the store
    """

    def __init__(
        self,
        cache: _native.PathCache,
        entries: list[bytes],
        subtrees: list[bytes],
        permissions: list[bytes],
        inodes: list[int],
    ) -> None:
        """Created by the methods of a `PathCache`."""
        self._cache = cache
        self._changes = (entries, subtrees, permissions, inodes)
        self._open: _native.OpenChange | None = None

    def __enter__(self) -> Change:
        """Begins the change.

        Raises:
            PathError: a path is not canonical, or the change has begun already.
        """
        if self._open is not None:
            raise PathError(22, "the change has begun already: make another one")
        self._open = self._cache.begin_change(self._changes)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Ends the change, also if it failed."""
        if self._open is not None:
            self._open.end()
            self._open = None


class PathCache:
    """A cache of paths. A change of the store that is not reported to it leaves it stale.

    >>> cache = manometer.backpath.PathCache(capacity=1000)
    >>> reader = manometer.backpath.Credentials(uid=1000, gid=1000)
    >>> ticket = cache.ticket("/file")
    >>> cache.insert("/file", manometer.backpath.Entry(2), reader, ticket=ticket)
    True
    >>> cache.lookup("/file", reader).answer
    'hit'
    """

    def __init__(self, capacity: int = 100_000, *, grants: int = 5, seed: int | None = None) -> None:
        """Creates an empty cache.

        Args:
            capacity: about how many paths it keeps, 1 to 2**28; then one makes room for each new one.
            grants: for how many credentials an entry remembers that they may reach it, 0 to 6.
            seed: of the hashes, below 2**64; random by default, so that nobody can choose paths that collide.

        Raises:
            PathError: an argument is out of bounds.
        """
        for name, value in [("capacity", capacity), ("grants", grants), ("seed", seed or 0)]:
            if not 0 <= value < 1 << 64:
                raise PathError(22, f"{name} is {value}: 0 or above, and below 2**64")
        self._native = _native.PathCache(capacity, grants, secrets.randbits(64) if seed is None else seed)

    def resolve(
        self,
        path: StorePath,
        credentials: Credentials,
        store: Store,
        *,
        base: StorePath = b"/",
        follow_symlinks: bool = True,
    ) -> Resolved:
        """Resolves a path by the rules of Linux; looks up in `store` what the cache lacks, and keeps it.

        Args:
            path: absolute, or relative to `base`.
            credentials: who looks up.
            store: who knows the directories.
            base: the directory of a relative path.
            follow_symlinks: whether a symbolic link at the end is followed; on the way they always are.

        Raises:
            PathError: the path does not resolve for these credentials; `errno` says why.
        """
        entry, canonical, probes, look_ups = self._native.resolve(
            os.fsencode(path), os.fsencode(base), follow_symlinks, credentials._who(), _NativeStore(store)
        )
        return Resolved(_entry(entry), canonical, probes, look_ups)

    def lookup(self, path: StorePath, credentials: Credentials) -> Found:
        """Looks a canonical path up in the cache alone; one that is not canonical is a miss."""
        path = os.fsencode(path)
        answer, length, entry = self._native.lookup(path, credentials._who())
        known: dict[str, Literal["hit", "negative", "prefix", "miss"]] = {
            "hit": "hit",
            "negative": "negative",
            "prefix": "prefix",
        }
        return Found(known.get(answer, "miss"), path[:length], None if entry is None else _entry(entry))

    def ticket(self, path: StorePath) -> Ticket:
        """Takes a ticket: before the store is read, before the first directory on the way."""
        return self._native.ticket(os.fsencode(path))

    def insert(self, path: StorePath, entry: Entry | None, credentials: Credentials, *, ticket: Ticket) -> bool:
        """Keeps what the store said of a canonical path since `ticket` was taken: an entry, or None for nothing.

        `credentials` were allowed to search every directory on the way. Returns whether it is kept: not if a change
        came between, or the path is not canonical. `resolve` does all this by itself.
        """
        found = None if entry is None else entry._tuple()
        return self._native.insert(ticket, os.fsencode(path), found, credentials._who())

    def changing(
        self,
        *,
        entries: Iterable[StorePath] = (),
        subtrees: Iterable[StorePath] = (),
        permissions: Iterable[StorePath] = (),
        inodes: Iterable[int] = (),
    ) -> Change:
        """A change of any kind, as a block. It takes the same time however much is cached.

        Args:
            entries: names that are no directory, before or after; also new directories.
            subtrees: directories that are removed, renamed from or to, mounted over or unmounted.
            permissions: directories whose owner, group, mode or access control list changes.
            inodes: objects with several names whose attributes change.
        """
        return Change(self._native, _encoded(entries), _encoded(subtrees), _encoded(permissions), list(inodes))

    def renaming(self, old: StorePath, new: StorePath) -> Change:
        """The renaming of a file or of a directory with everything below it, as a block."""
        return self.changing(entries=[old, new], subtrees=[old, new])

    def changing_permissions(self, path: StorePath) -> Change:
        """A change of a file's or a directory's owner, group, mode or list, as a block."""
        return self.changing(entries=[path], permissions=[path])

    def invalidate(self, path: StorePath) -> None:
        """Forgets a path and everything below it, for a change that becomes known only after it happened.

        Raises:
            PathError: the path is not canonical.
        """
        with self.changing(entries=[path], subtrees=[path]):
            pass

    def __len__(self) -> int:
        """The paths and objects that it keeps."""
        return len(self._native)

    @property
    def evictions(self) -> int:
        """Entries that made room for others."""
        return self._native.evictions
