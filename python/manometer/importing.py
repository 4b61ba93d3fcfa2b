"""Imports results of other tools as recordings. Data that a format does not contain is missing.

Each function creates the directory `out`: one file becomes a recording there; several become recordings in `runs/001`,
`runs/002` …, with the settings that differ between them as the sweep. All files are read before anything is written.
The manual describes each format and how its phases are found (docs/import.md).
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TypeAlias

from manometer import _native
from manometer._recording import Recording, Recordings

__all__ = ["Paths", "db_bench", "fio", "flags", "resctl_bench", "storiks", "ycsb"]

Paths: TypeAlias = str | PathLike[str]


def storiks(*files: Paths, out: Paths) -> Recording | Recordings:
    """Imports logs of Storiks 0.1 and rocksdb_test 1.x (`.out`, also compressed), as of Lange 2023.

    Raises:
        ImportFileError: a file has another format, cannot be read, or `out` is not empty.
    """
    return _import("storiks", files, out)


def ycsb(*files: Paths, out: Paths) -> Recording | Recordings:
    """Imports output of YCSB with `-s`, and its histogram logs (`READ.hdr`), which belong to the file before them.

    Raises:
        ImportFileError: a file has another format, cannot be read, or `out` is not empty.
    """
    return _import("ycsb", files, out)


def db_bench(*files: Paths, out: Paths) -> Recording | Recordings:
    """Imports output of RocksDB's db_bench with `--stats_interval_seconds`: each benchmark becomes a phase.

    Raises:
        ImportFileError: a file has another format, cannot be read, or `out` is not empty.
    """
    return _import("db_bench", files, out)


def fio(*files: Paths, out: Paths) -> Recording | Recordings:
    """Imports fio's JSON output (`--output-format=json+ --status-interval`), or its logs, by NAME one run each.

    Raises:
        ImportFileError: a file has another format, cannot be read, or `out` is not empty.
    """
    return _import("fio", files, out)


def resctl_bench(*files: Paths, out: Paths) -> Recording | Recordings:
    """Imports results of resctl-bench 2.x (`.json`, also compressed): each job or run of `iocost-qos` becomes a phase.

    Raises:
        ImportFileError: a file has another format, cannot be read, or `out` is not empty.
    """
    return _import("resctl-bench", files, out)


def flags(path: Paths) -> str:
    """Converts Storiks' parameter file (`.flags`, with the files it includes) to an experiment file in TOML.

    Raises:
        ImportFileError: it has another format, or includes a file that cannot be read.
    """
    return _native.experiment_of_flags(path)


def _import(format_: str, files: tuple[Paths, ...], out: Paths) -> Recording | Recordings:
    folders = _native.import_files(format_, files, Path(out))
    recordings = [Recording(folder) for folder in folders]
    return recordings[0] if folders == [Path(out)] else Recordings(recordings)
