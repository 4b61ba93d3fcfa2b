"""Other tools' results as recordings: what a format lacks is absent, never invented.

Each function makes the folder `out`: one file becomes a recording there, several become recordings in `runs/001`,
`runs/002` … with what differs between their settings as what was swept. All are read before anything is written. The
manual (docs/import.md) says of each format what is read and where phases come from.
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
    """Logs of Storiks 0.1 and of rocksdb_test 1.x (`.out`, also packed): the measurements of Lange 2023 (seed 000).

    Raises:
        ImportFileError: a file is none, cannot be read, or `out` is not empty.
    """
    return _imported("storiks", files, out)


def ycsb(*files: Paths, out: Paths) -> Recording | Recordings:
    """What YCSB printed with `-s`, and its histogram logs (`READ.hdr`), which belong to the file before them.

    Raises:
        ImportFileError: a file is none, cannot be read, or `out` is not empty.
    """
    return _imported("ycsb", files, out)


def db_bench(*files: Paths, out: Paths) -> Recording | Recordings:
    """What RocksDB's db_bench printed with `--stats_interval_seconds`: each benchmark becomes a phase.

    Raises:
        ImportFileError: a file is none, cannot be read, or `out` is not empty.
    """
    return _imported("db_bench", files, out)


def fio(*files: Paths, out: Paths) -> Recording | Recordings:
    """fio's documents (`--output-format=json+ --status-interval`), or its logs, of which those named alike are one run.

    Raises:
        ImportFileError: a file is none, cannot be read, or `out` is not empty.
    """
    return _imported("fio", files, out)


def resctl_bench(*files: Paths, out: Paths) -> Recording | Recordings:
    """The results of resctl-bench 2.x (`.json`, also packed): each job, or run of `iocost-qos`, becomes a phase.

    Raises:
        ImportFileError: a file is none, cannot be read, or `out` is not empty.
    """
    return _imported("resctl-bench", files, out)


def flags(path: Paths) -> str:
    """Storiks' parameter file (`.flags`, with those that it names) as an experiment file in TOML.

    Raises:
        ImportFileError: it is none, or names one that cannot be read.
    """
    return _native.experiment_of_flags(path)


def _imported(tool: str, files: tuple[Paths, ...], out: Paths) -> Recording | Recordings:
    folders = _native.import_files(tool, files, Path(out))
    recordings = [Recording(folder) for folder in folders]
    return recordings[0] if folders == [Path(out)] else Recordings(recordings)
