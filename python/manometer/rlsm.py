"""The engine rlsm as a mapping of bytes to bytes: a log-structured merge tree of key ranges (Song 2018, seed 002,
section 3.3).

```python
with manometer.rlsm.open("db") as db:
    db[b"apple"] = b"green"
    with db.batch() as batch:        # all of it, or nothing
        batch[b"pear"] = b"yellow"
        del batch[b"apple"]
    for key, value in db.range(b"a", b"q"):
        ...
```
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from types import TracebackType
from typing import Any, Literal, TypeVar, overload

from manometer import _native
from manometer.errors import DatabaseError

__all__ = ["Batch", "Database", "Snapshot", "open", "verify"]

_Default = TypeVar("_Default")
# So that a pair costs no call of its own.
_PAIRS = 256


class _Readable:
    """What a database and a snapshot of it have in common. There is no `len`: it would read everything."""

    _native: _native.Database
    _at: _native.Snapshot | None = None

    @overload
    def get(self, key: bytes) -> bytes | None: ...
    @overload
    def get(self, key: bytes, default: _Default) -> bytes | _Default: ...
    def get(self, key: bytes, default: _Default | None = None) -> bytes | _Default | None:
        """The value of `key`, or `default`.

        Raises:
            DatabaseError: a file cannot be read or is damaged, or the database is closed.
        """
        value = self._native.get(key, self._at)
        return default if value is None else value

    def __getitem__(self, key: bytes) -> bytes:
        """The value of `key`; a KeyError where it has none."""
        value = self._native.get(key, self._at)
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: bytes) -> bool:
        """Whether `key` has a value."""
        return self._native.get(key, self._at) is not None

    def __iter__(self) -> Iterator[bytes]:
        """The keys in order."""
        return self.keys()

    def keys(self) -> Iterator[bytes]:
        """The keys in order, as they are when this is called."""
        return (key for key, _ in self.range())

    def values(self) -> Iterator[bytes]:
        """The values in the order of their keys."""
        return (value for _, value in self.range())

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """The keys in order, with their values."""
        return self.range()

    def range(self, low: bytes | None = None, high: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values from `low` up to, but without, `high`, as they are when this is called.

        Raises:
            DatabaseError: a file cannot be read, or is damaged.
        """
        return _each(self._native.range(low, high, self._at))


def _each(pairs: _native.Pairs) -> Iterator[tuple[bytes, bytes]]:
    while some := pairs.next(_PAIRS):
        yield from some


class Snapshot(_Readable):
    """A database as it was, while this lives and the database is open."""

    def __init__(self, database: _native.Database, at: _native.Snapshot) -> None:
        """Made by `Database.snapshot`."""
        self._native = database
        self._at = at


class Batch:
    """Writes that take effect together when the block ends; none of them if it ends by an exception."""

    def __init__(self, database: _native.Database) -> None:
        """Made by `Database.batch`."""
        self._database = database
        self._native = _native.Batch()

    def __setitem__(self, key: bytes, value: bytes) -> None:
        """Gives `key` a value."""
        self._native.put(key, value)

    def __delitem__(self, key: bytes) -> None:
        """Takes `key` away, if it is there."""
        self._native.delete(key)

    def delete_range(self, low: bytes, high: bytes) -> None:
        """Takes all keys away from `low` up to, but without, `high`; a DatabaseError where that is no range."""
        self._native.delete_range(low, high)

    def __len__(self) -> int:
        """How many writes it holds."""
        return len(self._native)

    def __enter__(self) -> Batch:
        """Begins."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Writes, unless something went wrong."""
        if kind is None:
            self._database.write(self._native)
        else:
            self._native = _native.Batch()


class Database(_Readable):
    """An open database: like a dictionary of bytes, kept on the device, in the order of its keys."""

    def __init__(self, native: _native.Database) -> None:
        """Made by `open`."""
        self._native = native

    def __setitem__(self, key: bytes, value: bytes) -> None:
        """Gives `key`, of up to 65,535 bytes, a value of up to 1 GiB.

        Raises:
            DatabaseError: one is too long, or the file system refuses, now or once before.
        """
        self._native.put(key, value)

    def __delitem__(self, key: bytes) -> None:
        """Takes `key` away; a KeyError where it is not there. `discard` does not look, and is faster."""
        if key not in self:
            raise KeyError(key)
        self._native.delete(key)

    def discard(self, key: bytes) -> None:
        """Takes `key` away, if it is there."""
        self._native.delete(key)

    def delete_range(self, low: bytes, high: bytes) -> None:
        """Takes all keys away from `low` up to, but without, `high`; a DatabaseError where that is no range."""
        self._native.delete_range(low, high)

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values that begin with `prefix`, in order, as they are when this is called."""
        return _each(self._native.prefix(prefix))

    def batch(self) -> Batch:
        """Writes that take effect together: `with db.batch() as batch: …`."""
        return Batch(self._native)

    def snapshot(self) -> Snapshot:
        """The database as it is now."""
        return Snapshot(self._native, self._native.snapshot())

    def sync(self) -> None:
        """Takes every write so far to the device."""
        self._native.sync()

    def flush(self) -> None:
        """Writes what is in memory to Level 0, and returns when it is there."""
        self._native.flush()

    def compact(self) -> None:
        """Flushes, and writes every range anew that holds more than one run."""
        self._native.compact()

    def backup(self, path: str | PathLike[str]) -> None:
        """Copies the database as it is now to an empty or new folder: a database of its own."""
        self._native.backup(path)

    def stats(self) -> dict[str, Any]:
        """What it did since it was opened, and how it stands: bytes, runs, entries, seconds by their names."""
        return json.loads(self._native.stats())

    def close(self) -> None:
        """Takes writes to the device and closes; iterators that are still there keep the folder locked.

        Raises:
            DatabaseError: the file system refuses; closed it is all the same.
        """
        self._native.close()

    def __enter__(self) -> Database:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes."""
        self.close()


def open(
    path: str | PathLike[str],
    *,
    read_only: bool = False,
    sync: Literal["always", "never"] | float = "always",
    memtable_bytes: int | None = None,
    cache_bytes: int | None = None,
) -> Database:
    """Opens the database in a folder, and makes both where they are not there.

    Args:
        path: the folder.
        read_only: change none of its files; writes are refused, and it has to be there.
        sync: when a write counts as kept: "always" once it is on the device; a number of seconds: once the system has
            it, and the device within that time; "never": when the system pleases.
        memtable_bytes: the memory buffer is flushed at this size; 64 MiB by default.
        cache_bytes: memory for blocks read from files; 128 MiB by default.

    Raises:
        DatabaseError: it is open elsewhere, damaged, an option is out of bounds, or the file system refuses.
    """
    if isinstance(sync, str):
        sync_s = {"always": 0.0, "never": -1.0}.get(sync)
    else:
        sync_s = float(sync) if sync > 0 else None
    if sync_s is None:
        raise DatabaseError(f'sync is {sync!r}: write "always", "never", or seconds above 0')
    return Database(_native.Database.open(path, read_only, sync_s, memtable_bytes, cache_bytes))


def verify(path: str | PathLike[str]) -> list[str]:
    """Reads all of a database that is not open, and returns the damage: file, byte and what was found.

    Raises:
        DatabaseError: there is no database, or it is open.
    """
    return _native.verify(path)
