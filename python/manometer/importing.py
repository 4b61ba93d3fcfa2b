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

    >>> from pathlib import Path
    >>> ycsb = "Task ycsb[0], stdout: 2026-11-22 10:00:"
    >>> log = [
    ...     "storiks version: 0.1",
    ...     'parameters: --duration="1" --num_ydbs="1" --stats_interval="2"',
    ...     f"{ycsb}02:000 2 sec: 100 operations; 50 current ops/sec; [READ: Count=100, Max=9, Min=1, Avg=2]",
    ...     f"{ycsb}04:000 4 sec: 220 operations; 60 current ops/sec; [READ: Count=120, Max=9, Min=1, Avg=2]",
    ... ]
    >>> _ = Path("log.out").write_text(
    ...     "".join(f"[2026-11-22 10:00:{2 * number:02}.000] [info] {line}\\n" for number, line in enumerate(log))
    ... )
    >>> manometer.importing.storiks("log.out", out="imported").phases.rows()[0]["performance"]
    55.0
    """
    return _import("storiks", files, out)


def ycsb(*files: Paths, out: Paths) -> Recording | Recordings:
    """Imports output of YCSB with `-s`, and its histogram logs (`READ.hdr`), which belong to the file before them.

    Raises:
        ImportFileError: a file has another format, cannot be read, or `out` is not empty.

    >>> from pathlib import Path
    >>> _ = Path("ycsb.txt").write_text(
    ...     "2026-11-22 10:00:02:000 2 sec: 100 operations; 50 current ops/sec; "
    ...     "[READ: Count=100, Max=9, Min=1, Avg=2, 90=3, 99=4, 99.9=5, 99.99=6]\\n"
    ... )
    >>> manometer.importing.ycsb("ycsb.txt", out="imported").phases.rows()[0]["unit"]
    'ops/s'
    """
    return _import("ycsb", files, out)


def db_bench(*files: Paths, out: Paths) -> Recording | Recordings:
    """Imports output of RocksDB's db_bench with `--stats_interval_seconds`: each benchmark becomes a phase.

    Raises:
        ImportFileError: a file has another format, cannot be read, or `out` is not empty.

    >>> from pathlib import Path
    >>> _ = Path("db_bench.txt").write_text(
    ...     "2026/11/22-00:05:07 ... thread 0: (41000,41000) ops and (41000,41000) ops/second in (1.0,1.0) seconds\\n"
    ...     "2026/11/22-00:05:08 ... thread 0: (40000,81000) ops and (40000,40500) ops/second in (1.0,2.0) seconds\\n"
    ...     "readrandom   :      24.691 micros/op 40500 ops/sec 2.000 seconds 81000 operations;    4.5 MB/s\\n"
    ... )
    >>> (phase,) = manometer.importing.db_bench("db_bench.txt", out="imported").phases.rows()
    >>> phase["label"], phase["performance"]
    ('readrandom', 40500.0)
    """
    return _import("db_bench", files, out)


def fio(*files: Paths, out: Paths) -> Recording | Recordings:
    """Imports fio's JSON output (`--output-format=json+ --status-interval`), or its logs, by NAME one run each.

    Raises:
        ImportFileError: a file has another format, cannot be read, or `out` is not empty.

    >>> from pathlib import Path
    >>> _ = Path("job_bw.1.log").write_text("1000, 1024, 0, 0, 0\\n2000, 3072, 0, 0, 0\\n")
    >>> (phase,) = manometer.importing.fio("job_bw.1.log", out="imported").phases.rows()
    >>> phase["performance"], phase["unit"]
    (2.0, 'MiB/s')
    """
    return _import("fio", files, out)


def resctl_bench(*files: Paths, out: Paths) -> Recording | Recordings:
    """Imports results of resctl-bench 2.x (`.json`, also compressed): each job or run of `iocost-qos` becomes a phase.

    Raises:
        ImportFileError: a file has another format, cannot be read, or `out` is not empty.

    >>> import json
    >>> from pathlib import Path
    >>> job = {"spec": {"kind": "storage"}, "period": [100, 160], "record": {}, "result": {"mem_offload_factor": 1.5}}
    >>> _ = Path("result.json").write_text(json.dumps([job]))
    >>> recording = manometer.importing.resctl_bench("result.json", out="imported")
    >>> [row["label"] for row in recording.phases.rows()]
    ['storage']
    """
    return _import("resctl-bench", files, out)


def flags(path: Paths) -> str:
    """Converts Storiks' parameter file (`.flags`, with the files it includes) to an experiment file in TOML.

    Raises:
        ImportFileError: it has another format, or includes a file that cannot be read.

    >>> from pathlib import Path
    >>> _ = Path("short.flags").write_text("--num_ydbs=1\\n--ydb_workload=workloadb\\n--duration=15\\n")
    >>> print(manometer.importing.flags("short.flags"))
    name = "short"
    ...
    [primary]
    engine = "rocksdb"
    workload = "ycsb-b"
    ...
    """
    return _native.experiment_of_flags(path)


def _import(format_: str, files: tuple[Paths, ...], out: Paths) -> Recording | Recordings:
    folders = _native.import_files(format_, files, Path(out))
    recordings = [Recording(folder) for folder in folders]
    return recordings[0] if folders == [Path(out)] else Recordings(recordings)
