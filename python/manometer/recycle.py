"""Files larger than memory as arrays, with a separate budget of memory: like `numpy.memmap`, but pages make room for
each other instead of waiting for the kernel's reclaim (Song 2018, section 3.1; docs/recycle.md).

```python
with manometer.recycle.open("large.f32", memory=256 << 20) as mapping:
    rows = mapping.array("float32", shape=(-1, 1024))
    print(rows[123_456].mean())
    del rows                          # a mapping with views cannot be closed
```

Pages come by userfaultfd, in the thread that touches them; other threads of Python wait for the GIL meanwhile, as with
any array. What is not obvious:

- **System calls** on bytes that are not in memory fail with EFAULT: `file.write(view)` and `socket.send(view)` do. Use
  `read`, which returns a copy, or `faults="thread"`, which needs a privilege.
- **An error of the device**, or a file that another program shortens, ends the process with SIGBUS where an array is
  touched; `read` and `write` raise `RecycleError`. Enable `faulthandler` before the first mapping, if at all: it would
  take SIGBUS away.
- **Fork.** A forked child does not have the bytes: touching an array ends it with SIGSEGV, methods raise
  `RecycleError`. Start processes by `spawn`, or open the file in the child.
- **Others who write the file.** A page that comes again shows what they wrote. In one process a mapping that writes
  excludes other mappings of the same file.
"""

from __future__ import annotations

import ctypes
import json
import math
import threading
from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Literal
from weakref import finalize

import numpy as np
import numpy.typing as npt

from manometer import _native
from manometer.errors import RecycleError

__all__ = ["Mapping"]

_END = (1 << 64) - 1

_MODES = ("r", "r+", "w+")

# The memory that views show keeps its mapping alive: by the memory's `id`.
_mapping_of: dict[int, Mapping] = {}


class Mapping:
    """A mapped file. Threads may share it.

    >>> with manometer.recycle.open("numbers.f32", "w+", size=4096) as mapping:
    ...     numbers = mapping.array("float32")
    ...     numbers[:3] = 1, 2, 3
    ...     float(numbers.sum())
    ...     del numbers  # a mapping with arrays cannot be closed
    6.0
    """

    def __init__(self, native: _native.Mapping, writable: bool) -> None:
        """Created by `open`."""
        self._native = native
        self._writable = writable
        # Views are made, and the mapping ended or resized, by one thread at a time.
        self._lock = threading.Lock()
        # Also when the interpreter ends with views left, whose memory has to stay.
        self._finalize = finalize(self, _write_out, native)

    @property
    def writable(self) -> bool:
        """Whether the file was opened for writing, too."""
        return self._writable

    def __len__(self) -> int:
        """The length in bytes."""
        return self._native.place()[1]

    def __buffer__(self, flags: int, /) -> memoryview:
        """The bytes, for `memoryview(mapping)` and `numpy.frombuffer(mapping)` from Python 3.12 on; else use `view`."""
        return self.view()

    def view(self) -> memoryview:
        """The bytes, without a copy; read-only where the file was opened so. While a view or an array of it exists, the
        mapping cannot be closed or resized.

        Raises:
            RecycleError: the mapping is closed, or this is a forked child.
        """
        with self._lock:
            address, length = self._native.place()
            if length == 0:
                return memoryview(bytearray() if self._writable else b"")
            exported = (ctypes.c_ubyte * length).from_address(address)
            _mapping_of[id(exported)] = self
            finalize(exported, _mapping_of.pop, id(exported)).atexit = False
        view = memoryview(exported).cast("B")
        return view if self._writable else view.toreadonly()

    def array(
        self, dtype: npt.DTypeLike = np.uint8, *, shape: int | Sequence[int] = -1, offset: int = 0
    ) -> npt.NDArray[Any]:
        """The bytes from `offset` on as an array, without a copy.

        Args:
            dtype: the type of an element.
            shape: its shape; -1 stands for what is left, as in `numpy.reshape`. Bytes beyond the shape are left out.
            offset: where it begins, in bytes.

        Raises:
            RecycleError: the mapping is closed.
            ValueError: the file has not enough bytes, or no whole number of elements.
        """
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        count = -1 if -1 in sizes else math.prod(sizes)
        return np.reshape(np.frombuffer(self.view(), dtype, count, offset), sizes)

    def read(self, offset: int, length: int) -> bytes:
        """A copy of `length` bytes from `offset` on, read while other threads run.

        Raises:
            RecycleError: the bytes are not within the file or cannot be read, or the mapping is closed.
        """
        return self._native.read(_natural("offset", offset), _natural("length", length))

    def write(self, offset: int, data: bytes) -> None:
        """Changes the bytes from `offset` on, while other threads run.

        Raises:
            RecycleError: the bytes are not within the file, it was opened for reading only, or it cannot be read.
        """
        self._native.write(_natural("offset", offset), data)

    def sync(self, start: int = 0, end: int | None = None) -> None:
        """Makes changes durable, of the whole file or of the pages from byte `start` up to `end`.

        Raises:
            RecycleError: a page cannot be written; it stays changed, and the next sync tries again.
        """
        self._native.sync(*_range(start, end))

    def advise(
        self,
        advice: Literal["normal", "random", "sequential", "will_need", "dont_need"],
        start: int = 0,
        end: int | None = None,
    ) -> None:
        """Says how the pages from byte `start` up to `end` will be used: in no order, in order, soon, or not soon.

        Raises:
            RecycleError: there is no such advice, or a page cannot be read ("will_need") or written ("dont_need").
        """
        self._native.advise(advice, *_range(start, end))

    def resize(self, length: int) -> None:
        """Changes the length of the file; new bytes are zero.

        Raises:
            BufferError: a view or an array of the mapping exists.
            RecycleError: the file cannot have this length, or was opened for reading only.
        """
        with self._lock:
            self._check_no_views("resized")
            self._native.resize(_natural("length", length))

    def counters(self) -> dict[str, int]:
        """What it has done since it was opened: faults, pages read, recycled and written, and others by name."""
        return json.loads(self._native.counters())

    def close(self) -> None:
        """Makes changes durable and ends the mapping; closing twice is no error.

        Raises:
            BufferError: a view or an array of the mapping exists; it stays open.
            RecycleError: a page cannot be written; the mapping is closed nevertheless.
        """
        with self._lock:
            self._check_no_views("closed")
            self._finalize.detach()
            self._native.close()

    def _check_no_views(self, done: str) -> None:
        count = sum(mapping is self for mapping in list(_mapping_of.values()))
        if count:
            raise BufferError(f"a mapping with views cannot be {done}: delete its {count} views and arrays first")

    def __enter__(self) -> Mapping:
        """Returns the mapping."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Closes the mapping."""
        self.close()


def _natural(name: str, value: int) -> int:
    if 0 <= value <= _END:
        return value
    raise RecycleError(f"`{name}` is {value}: it is a number of bytes, from 0 to 2^64 - 1")


def _range(start: int, end: int | None) -> tuple[int, int]:
    return _natural("start", start), _END if end is None else _natural("end", end)


def _write_out(native: _native.Mapping) -> None:
    if native.is_open():
        native.sync(0, _END)


def open(
    path: str | PathLike[str],
    mode: Literal["r", "r+", "w+"] = "r",
    *,
    memory: int = 64 << 20,
    size: int | None = None,
    read_ahead: int = 512 << 10,
    policy: Literal["cor", "fr", "fp"] = "fp",
    replacement: Literal["clock", "lru", "cflru"] = "clock",
    faults: Literal["signal", "thread"] = "signal",
) -> Mapping:
    """Maps a file.

    Args:
        path: the file.
        mode: "r" to read; "r+" to read and write an existing file; "w+" to make a file of `size` bytes, or empty an
            existing one first.
        memory: most bytes of the file in memory at once; at least 16 KiB.
        size: the length of the new file of mode "w+", in bytes.
        read_ahead: most bytes read at once for a stream; 0 reads page by page.
        policy: what a fault does that finds no free memory: recycle clean pages only, any, or any with lists for each
            processor (docs/recycle.md).
        replacement: which pages go first.
        faults: who answers the fault of an absent page: the thread itself, or a thread of the mapping, with which
            system calls on the bytes work, too, but which needs a privilege.

    Raises:
        RecycleError: the file cannot be opened, the system lacks or forbids userfaultfd, an option is out of bounds, or
            another mapping of this process excludes this one; an existing file is then as before.
        ValueError: the mode is none of these, `size` is given without mode "w+", or not given with it.

    >>> with manometer.recycle.open("bytes", "w+", size=8192, memory=16 << 10) as mapping:
    ...     mapping.write(4096, b"text")
    >>> with manometer.recycle.open("bytes") as mapping:
    ...     mapping.read(4096, 4)
    b'text'
    """
    if mode not in _MODES:
        raise ValueError(f"the mode is {mode!r}: it is one of {', '.join(map(repr, _MODES))}")
    if (size is not None) != (mode == "w+"):
        raise ValueError('`size` is the length of a new file: give it with mode "w+" and with no other')
    length = None if size is None else _natural("size", size)
    budget = _natural("memory", memory), _natural("read_ahead", read_ahead)
    native = _native.Mapping.open(path, mode != "r", length, budget, (policy, replacement, faults))
    return Mapping(native, mode != "r")
