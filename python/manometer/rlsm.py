"""The engine rlsm as a mapping of bytes to bytes: a log-structured merge tree of key ranges (Song 2018,
section 3.3).

```python
with manometer.rlsm.open("db") as db:
    db[b"apple"] = b"green"
    with db.batch() as batch:        # atomic
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

__all__ = ["Batch", "Database", "Snapshot", "verify"]

_Default = TypeVar("_Default")
# Pairs read per native call.
_PAIRS = 256


class _Readable:
    """The read methods of databases and snapshots. There is no `len`: it would read everything."""

    _native: _native.Database
    _at: _native.Snapshot | None = None

    @overload
    def get(self, key: bytes) -> bytes | None: ...
    @overload
    def get(self, key: bytes, default: _Default) -> bytes | _Default: ...
    def get(self, key: bytes, default: _Default | None = None) -> bytes | _Default | None:
        """Returns the value of `key`, or `default`.

        Raises:
            DatabaseError: a file cannot be read or is damaged, or the database is closed.
        """
        value = self._native.get(key, self._at)
        return default if value is None else value

    def __getitem__(self, key: bytes) -> bytes:
        """Returns the value of `key`; raises KeyError if it does not exist."""
        value = self._native.get(key, self._at)
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: bytes) -> bool:
        """Whether `key` exists."""
        return self._native.get(key, self._at) is not None

    def __iter__(self) -> Iterator[bytes]:
        """The keys in order."""
        return self.keys()

    def keys(self) -> Iterator[bytes]:
        """The keys in order, as of this call."""
        return (key for key, _ in self.range())

    def values(self) -> Iterator[bytes]:
        """The values in key order."""
        return (value for _, value in self.range())

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values in key order."""
        return self.range()

    def range(self, low: bytes | None = None, high: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Keys and values from `low` up to, and excluding, `high`, as of this call.

        Raises:
            DatabaseError: a file cannot be read, or is damaged.
        """
        return _each(self._native.range(low, high, self._at))


def _each(pairs: _native.Pairs) -> Iterator[tuple[bytes, bytes]]:
    while some := pairs.next(_PAIRS):
        yield from some


class Snapshot(_Readable):
    """A snapshot of a database; valid while the database is open.

    >>> with manometer.rlsm.open("database") as database:
    ...     database[b"apple"] = b"green"
    ...     before = database.snapshot()
    ...     database[b"apple"] = b"red"
    ...     before[b"apple"], database[b"apple"]
    (b'green', b'red')
    """

    def __init__(self, database: _native.Database, at: _native.Snapshot) -> None:
        """Created by `Database.snapshot`."""
        self._native = database
        self._at = at


class Batch:
    """A batch of writes, applied atomically when its block ends; dropped if the block raises an exception.

    >>> with manometer.rlsm.open("database") as database:
    ...     with database.batch() as batch:
    ...         batch[b"apple"] = b"green"
    ...         batch[b"pear"] = b"yellow"
    ...     list(database)
    [b'apple', b'pear']
    """

    def __init__(self, database: _native.Database) -> None:
        """Created by `Database.batch`."""
        self._database = database
        self._native = _native.Batch()

    def __setitem__(self, key: bytes, value: bytes) -> None:
        """Sets the value of `key`."""
        self._native.put(key, value)

    def __delitem__(self, key: bytes) -> None:
        """Deletes `key`, if it exists."""
        self._native.delete(key)

    def delete_range(self, low: bytes, high: bytes) -> None:
        """Deletes all keys from `low` up to, and excluding, `high`; DatabaseError if `low` is not below `high`."""
        self._native.delete_range(low, high)

    def __len__(self) -> int:
        """The number of writes."""
        return len(self._native)

    def __enter__(self) -> Batch:
        """Starts the batch."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Applies the writes, unless an exception was raised."""
        if kind is None:
            self._database.write(self._native)
        else:
            self._native = _native.Batch()


class Database(_Readable):
    """An open database: a persistent, ordered mapping from bytes to bytes.

    >>> with manometer.rlsm.open("database") as database:
    ...     database[b"apple"] = b"green"
    ...     database[b"pear"] = b"yellow"
    ...     list(database.range(b"b"))
    [(b'pear', b'yellow')]
    """

    def __init__(self, native: _native.Database) -> None:
        """Created by `open`."""
        self._native = native

    def __setitem__(self, key: bytes, value: bytes) -> None:
        """Sets the value of `key`. Keys have up to 65,535 bytes, values up to 1 GiB.

        Raises:
            DatabaseError: the key or the value is too long, or a write failed now or before.
        """
        self._native.put(key, value)

    def __delitem__(self, key: bytes) -> None:
        """Deletes `key`; raises KeyError if it does not exist. `discard` does not check, and is faster."""
        if key not in self:
            raise KeyError(key)
        self._native.delete(key)

    def discard(self, key: bytes) -> None:
        """Deletes `key`, if it exists."""
        self._native.delete(key)

    def delete_range(self, low: bytes, high: bytes) -> None:
        """Deletes all keys from `low` up to, and excluding, `high`; DatabaseError if `low` is not below `high`."""
        self._native.delete_range(low, high)

    def prefix(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Keys with `prefix`, and their values, in order, as of this call."""
        return _each(self._native.prefix(prefix))

    def batch(self) -> Batch:
        """Starts an atomic batch of writes: `with db.batch() as batch: …`."""
        return Batch(self._native)

    def snapshot(self) -> Snapshot:
        """Takes a snapshot of the current state."""
        return Snapshot(self._native, self._native.snapshot())

    def sync(self) -> None:
        """Makes every write so far durable."""
        self._native.sync()

    def flush(self) -> None:
        """Flushes the memtables to Level 0, and returns once they are durable there."""
        self._native.flush()

    def compact(self) -> None:
        """Flushes, compacts Level 0, and rewrites every range that has more than one run."""
        self._native.compact()

    def backup(self, path: str | PathLike[str]) -> None:
        """Copies the current state to an empty or new directory, as a separate database."""
        self._native.backup(path)

    def stats(self) -> dict[str, Any]:
        """Statistics: counters since the database was opened, and its current state, by name."""
        return json.loads(self._native.stats())

    def close(self) -> None:
        """Syncs and closes the database; iterators that still exist keep the directory locked.

        Raises:
            DatabaseError: the sync failed; the database is closed nevertheless.
        """
        self._native.close()

    def __enter__(self) -> Database:
        """Returns the database."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes the database."""
        self.close()


def open(
    path: str | PathLike[str],
    *,
    read_only: bool = False,
    sync: Literal["always", "never"] | float = "always",
    memtable_bytes: int | None = None,
    cache_bytes: int | None = None,
) -> Database:
    """Opens the database in a directory; creates both if they do not exist.

    Args:
        path: the directory.
        read_only: change no files; writes are refused, and the database must exist.
        sync: durability of writes: "always" syncs each write; a number of seconds syncs at that interval; "never"
            leaves it to the operating system.
        memtable_bytes: size at which the memtable is flushed; 64 MiB by default.
        cache_bytes: size of the block cache; 128 MiB by default.

    Raises:
        DatabaseError: it is open elsewhere, damaged, an option is out of bounds, or the file system refuses.

    >>> with manometer.rlsm.open("database", sync=1.0) as database:
    ...     database[b"key"] = b"value"
    >>> with manometer.rlsm.open("database", read_only=True) as database:
    ...     database[b"key"]
    b'value'
    """
    if isinstance(sync, str):
        sync_s = {"always": 0.0, "never": -1.0}.get(sync)
    else:
        sync_s = float(sync) if sync > 0 else None
    if sync_s is None:
        raise DatabaseError(f'sync is {sync!r}: write "always", "never", or seconds above 0')
    return Database(_native.Database.open(path, read_only, sync_s, memtable_bytes, cache_bytes))


def verify(path: str | PathLike[str]) -> list[str]:
    """Reads a whole database, which must not be open. Returns the damage: file, offset and what was found.

    Raises:
        DatabaseError: there is no database, or it is open.

    >>> manometer.rlsm.open("database").close()
    >>> manometer.rlsm.verify("database")
    []
    """
    return _native.verify(path)
