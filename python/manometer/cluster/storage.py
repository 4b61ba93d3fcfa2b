"""Files where they are: paths of this machine, and URLs that fsspec knows (`s3://`, `gs://`, `http://` …).

Credentials are those of the process, as each kind of storage documents them, such as `AWS_ACCESS_KEY_ID`.
"""

# fsspec is not typed.
# pyright: basic
from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
from fsspec.core import has_magic, url_to_fs

from manometer.errors import ClusterError


@contextmanager
def _named(url: str) -> Iterator[None]:
    """Names the file in errors."""
    try:
        yield
    except FileNotFoundError as error:
        raise ClusterError(f"{url} does not exist") from error
    except ClusterError:
        raise
    except Exception as error:
        # Each kind of storage has its own: a missing package, a wrong key, a lost connection.
        raise ClusterError(f"{url}: {error or type(error).__name__}") from error


def _is_local(file_system: Any) -> bool:
    return isinstance(file_system, fsspec.get_filesystem_class("file"))


def absolute(url: str) -> str:
    """The URL, or the absolute path of a file of this machine."""
    with _named(url):
        file_system, path = url_to_fs(url)
    return str(path) if _is_local(file_system) else url.rstrip("/")


def expand(inputs: Sequence[str]) -> list[str]:
    """The files that `inputs` name, each pattern by name.

    Raises:
        ClusterError: one names no file.
    """
    found: list[str] = []
    for one in inputs:
        with _named(one):
            file_system, path = url_to_fs(one)
            # A file may be called as a pattern is written.
            is_pattern = has_magic(path) and not file_system.exists(path)
            matches = sorted(file_system.glob(path)) if is_pattern else [path]
            found += [
                str(match) if _is_local(file_system) else file_system.unstrip_protocol(match) for match in matches
            ]
        if not matches:
            raise ClusterError(f"{one}: no file has such a name")
    return found


def state(url: str) -> str:
    """A text that changes with the content of a file.

    Raises:
        ClusterError: the file does not exist.
    """
    with _named(url):
        file_system, path = url_to_fs(url)
        return str(file_system.ukey(path))


def exists(url: str) -> bool:
    """Whether the file exists."""
    with _named(url):
        file_system, path = url_to_fs(url)
        return bool(file_system.exists(path))


def fetch(urls: Sequence[str], folder: Path) -> list[str]:
    """Paths to the files: those of this machine where they are, others as copies in `folder`.

    Raises:
        ClusterError: one cannot be read.
    """
    paths: list[str] = []
    for number, url in enumerate(urls):
        with _named(url):
            file_system, path = url_to_fs(url)
            if _is_local(file_system):
                os.stat(path)
                paths.append(str(path))
            else:
                # The end of the name says how the file is compressed.
                copy = folder / (Path(path).name if len(urls) == 1 else f"{number:06}-{Path(path).name}")
                file_system.get_file(path, str(copy))
                paths.append(str(copy))
    return paths


def put(path: Path, url: str) -> None:
    """Moves a file to a URL, whole or not at all.

    Raises:
        ClusterError: it cannot be written.
    """
    with _named(url):
        file_system, home = url_to_fs(url)
        if not _is_local(file_system):
            file_system.put_file(str(path), home)
            return
        Path(home).parent.mkdir(parents=True, exist_ok=True)
        part = f"{home}.{os.getpid()}.part"
        shutil.move(path, part)
        os.replace(part, home)
