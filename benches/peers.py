"""What the benches of rlsm share: rlsm and its peers with like options, in a memory cgroup, and what they wrote."""

import json
import os
import resource
import shutil
import signal
import subprocess
from contextlib import contextmanager
from pathlib import Path

import bench

MIB = 1 << 20
MEMORY = Path("/sys/fs/cgroup/memory")


def options(peer: str, memtable: int, cache: int, sync: bool = False) -> list:
    """The flags for `peer`: no compression, a memtable and a block cache of so many bytes; RocksDB's levels keep their
    default proportions to its memtable, and it reads through filters of 10 bits a key."""
    rocksdb = {"compression": "kNoCompression", "block_cache": cache, "max_bytes_for_level_base": 4 * memtable,
               "target_file_size_base": memtable, "sync": str(sync).lower(), "filter_policy": "bloomfilter:10:false"}
    rlsm = {"level1_compression": "none", "cache_bytes": cache, "sync": "always" if sync else "never"}
    chosen = {
        "rlsm": rlsm,
        "tight": rlsm | {"stale_ratio": 0.2},
        "rocksdb": rocksdb,
        "universal": rocksdb | {"compaction_style": "kCompactionStyleUniversal"},
        "blobdb": rocksdb | {"enable_blob_files": "true", "enable_blob_garbage_collection": "true",
                             "blob_file_size": 4 * memtable},
        "fjall": {"data_block_compression": "none", "cache_size": cache,
                  "journal_persist": "sync-data" if sync else "buffer"},
    }[peer]
    engine = {"rlsm": "rlsm", "tight": "rlsm", "fjall": "fjall"}.get(peer, "rocksdb")
    words = (word for name, value in chosen.items() for word in ("--option", f"{name}={value}"))
    return ["--engine", engine, "--memtable", str(memtable), *words]


@contextmanager
def memory_limit(size: int):
    """A cgroup of so many bytes of memory, page cache and all: the function that a child calls to enter it."""
    group = MEMORY / f"manometer-bench-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        raise SystemExit(f"{group}: {error}: these figures need root and a memory cgroup (v1)") from error
    try:
        (group / "memory.limit_in_bytes").write_text(str(size))
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        group.rmdir()


class OutOfMemory(Exception):
    """The kernel killed a run that needed more than its cgroup has."""


def kv(flags: list, enter=None) -> dict:
    """One run of `manometer kv`: its document, and as `written` the bytes that it had the device write, as the kernel
    counts them for the process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_oublock
    command = [str(bench.BINARY), "kv", *flags, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=enter)
    if done.returncode == -signal.SIGKILL and enter:
        raise OutOfMemory
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    written = 512 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_oublock - before)
    return json.loads(done.stdout[done.stdout.index("{"):]) | {"written": written}


def disk_bytes(folder: Path) -> int:
    """What the files below `folder` take on the device."""
    return sum(512 * path.stat().st_blocks for path in folder.rglob("*") if path.is_file())


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
