#!/usr/bin/env python3
"""`manometer kv` beside db_bench: readrandom, readwhilewriting and overwrite on the same RocksDB, in alternation.

Same: the library, one million records with keys of 16 bytes in db_bench's form and values of 1000 bytes, of which
half can be compressed away, uniform choice, threads, options (no compression, an LRU block cache that holds
everything, counters on, RocksDB's defaults else, which is checked), a database loaded put by put in the order of the keys, in the
page cache. The two that write get a new one every time, with a cold block cache; the writer of readwhilewriting is
held to 5 MB/s, and is not counted.
Different, and not to be made the same: manometer times every request and verifies every value, db_bench does
neither unless configured to; db_bench is C++, manometer calls the C interface.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import bench

RECORDS = 1_000_000
SECONDS = 8
# Long enough to load every block into the block cache; db_bench reads the database through instead.
WARMUP = 20
PAIRS = bench.pairs()
GOAL = 0.97
KEY_BYTES = 16
VALUE_BYTES = 1000
CACHE_BYTES = 4 << 30
THREADS = 1
# The operations whose rate db_bench prints: its background writer is not among them, nor is ours.
# Put by put in the order of the keys, on both sides: a database that was compacted after that, or whose tables were
# taken in whole, has another shape and is read at another speed.
LOADED = "fillseq,waitforcompaction"
WORKLOADS = ["readrandom", "readwhilewriting", "overwrite"]
# Those that write get a new database every time.
WRITERS = ["readwhilewriting", "overwrite"]
# db_bench's own defaults differ from RocksDB's: these are RocksDB's.
ROCKSDB_DEFAULTS = {
    "delayed_write_rate": 16 << 20, "dump_malloc_stats": "false", "enable_pipelined_write": "false",
    "fifo_compaction_allow_compaction": "false", "fifo_compaction_max_table_files_size_mb": 1024,
    "hard_pending_compaction_bytes_limit": 256 << 30, "index_shortening_mode": 1,
    "level_compaction_dynamic_level_bytes": "true", "pin_top_level_index_and_filter": "true",
    "table_cache_numshardbits": 6,
    # What a thread counts of itself: no option of the database, so that no check of ours sees it. db_bench turns it off.
    "perf_level": 2,
}
# What may differ still: nothing of it is used here.
UNUSED = {"create_missing_column_families", "listeners", "merge_operator"}
# Bytes per second of the writer beside the reader: without a limit the disk decides for both.
WRITE_LIMIT = 5_000_000


def crates() -> dict:
    """The folders of the crates the workspace is locked to, by name."""
    version = subprocess.check_output(["rustc", "-vV"], text=True)
    host = re.search(r"^host: (.*)$", version, re.M).group(1)
    command = ["cargo", "metadata", "--format-version", "1", "--filter-platform", host]
    packages = json.loads(subprocess.check_output(command, cwd=bench.ROOT))["packages"]
    return {package["name"]: Path(package["manifest_path"]).parent for package in packages}


def db_bench(library: Path) -> Path:
    """db_bench of the crate's own source, linked with `library`; built once, kept beside it."""
    binary = library / "db_bench"
    if binary.exists():
        return binary
    folders = crates()
    source = folders["librocksdb-sys"] / "rocksdb"
    print("building db_bench (once, some minutes) …", file=sys.stderr)
    defines = ["NDEBUG", "OS_LINUX", "ROCKSDB_PLATFORM_POSIX", "ROCKSDB_LIB_IO_POSIX", "HAVE_ALIGNED_NEW",
               "HAVE_UINT128_EXTENSION", "ROCKSDB_SCHED_GETCPU_PRESENT", "ROCKSDB_AUXV_GETAUXVAL_PRESENT",
               "ROCKSDB_FALLOCATE_PRESENT", "ROCKSDB_RANGESYNC_PRESENT", "LZ4", "ZSTD", "GFLAGS=gflags",
               # The crate's library defines this function as well; theirs goes by another name here.
               "RocksDbIOUringEnable=DbBenchIOUringEnable"]
    files = ["tools/db_bench.cc", "tools/db_bench_tool.cc", "tools/tool_hooks.cc",
             "tools/simulated_hybrid_file_system.cc", "test_util/testutil.cc",
             "test_util/transaction_test_util.cc", "utilities/counted_fs.cc"]
    files = [name for name in files if (source / name).exists() and not in_library(source, name)]
    command = ["g++", "-std=c++20", "-O3", "-march=x86-64-v2", "-mpclmul", "-w", "-fno-rtti"]
    command += [f"-D{name}" for name in defines] + [f"-I{source}", f"-I{source / 'include'}"]
    command += [f"-I{folders['zstd-sys'] / 'zstd' / 'lib'}", f"-I{folders['lz4-sys'] / 'liblz4'}"]
    command += [str(source / name) for name in files]
    command += [str(library / name) for name in ("librocksdb.a", "libzstd.a", "liblz4.a")]
    command += ["-lgflags", "-lpthread", "-ldl", "-o", str(binary) + ".new"]
    subprocess.run(command, check=True)
    os.replace(str(binary) + ".new", binary)
    return binary


def in_library(source: Path, name: str) -> bool:
    listed = (source.parent / "rocksdb_lib_sources.txt").read_text().split()
    return name in listed


def theirs(binary: Path, directory: Path, benchmarks: str, *more: str) -> str:
    flags = {
        "benchmarks": benchmarks, "db": directory, "num": RECORDS, "key_size": KEY_BYTES,
        "value_size": VALUE_BYTES, "cache_size": CACHE_BYTES, "compression_type": "none", "threads": THREADS,
        "open_files": -1, "statistics": 1, "stats_level": 2, "cache_type": "lru_cache", "bloom_bits": -1, "seed": 1,
    } | ROCKSDB_DEFAULTS
    command = [str(binary)] + [f"--{name}={value}" for name, value in flags.items()] + list(more)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def theirs_rate(binary: Path, directory: Path, workload: str) -> float:
    limit = [f"--benchmark_write_rate_limit={WRITE_LIMIT}"] if workload == "readwhilewriting" else []
    if workload in WRITERS:
        shutil.rmtree(directory, ignore_errors=True)
        # A run of its own: the limit would hold for loading as well.
        theirs(binary, directory, LOADED)
    warm = "" if workload in WRITERS else "readseq,"
    text = theirs(binary, directory, warm + workload, "--use_existing_db=1", f"--duration={SECONDS}", *limit)
    return float(re.search(rf"^{workload}\s*:.*?(\d+) ops/sec", text, re.M).group(1))


def ours(directory: Path, workload: str, seconds: int, *more: str) -> dict:
    return bench.kv(
        "--workload", workload, "--engine", "rocksdb", "--records", str(RECORDS), "--key-size", str(KEY_BYTES),
        "--value-size", str(VALUE_BYTES), "--threads", str(THREADS), "--seconds", str(seconds), "--dir", str(directory),
        "--option", f"block_cache={{capacity={CACHE_BYTES};high_pri_pool_ratio=0.0}}",
        "--option", "compression=kNoCompression", "--load", "puts", *more)


def ours_load(directory: Path) -> None:
    ours(directory, "readrandom", 1, "--keep")


def ours_rate(directory: Path, workload: str) -> float:
    """As theirs: a database that is written to is recreated, by a separate process."""
    more = []
    if workload in WRITERS:
        shutil.rmtree(directory, ignore_errors=True)
        ours_load(directory)
    else:
        more += ["--warmup", str(WARMUP)]
    if workload == "readwhilewriting":
        more += ["-p", f"benchmark_write_rate_limit={WRITE_LIMIT}"]
    ran = ours(directory, workload, SECONDS, "--reuse", *more)
    if not ran["facts"]["reused"]:
        sys.exit(f"{workload} did not run on the database that was loaded for it")
    return ran["throughput"]["mean"]


def options(directory: Path) -> dict:
    """The options in force, as RocksDB wrote them down last."""
    newest = max(directory.rglob("OPTIONS-*"), key=lambda path: path.name)
    pairs = (line.strip().split("=", 1) for line in newest.read_text().splitlines() if "=" in line)
    return {name: value for name, value in pairs if name not in UNUSED}


def check_same_options(home: Path) -> None:
    """Ends the bench where both databases are not opened alike."""
    ours_are, theirs_are = options(home / "ours"), options(home / "theirs")
    unlike = [f"{name}: {ours_are.get(name)} here, {theirs_are.get(name)} there"
              for name in sorted(ours_are.keys() | theirs_are.keys()) if ours_are.get(name) != theirs_are.get(name)]
    if unlike:
        sys.exit("the databases are not opened alike:\n" + "\n".join(unlike))


def read_through(directory: Path) -> None:
    """Reads the database into the page cache, which loading leaves out."""
    for path in directory.rglob("*.sst"):
        with path.open("rb") as file:
            while file.read(1 << 22):
                pass


def make(binary: Path, home: Path) -> None:
    """Both databases, each as its own tool loads it."""
    home.mkdir(parents=True)
    theirs(binary, home / "theirs", LOADED)
    ours_load(home / "ours")
    read_through(home)


def main() -> None:
    library = os.environ.get("ROCKSDB_LIB_DIR")
    if not library:
        sys.exit("set ROCKSDB_LIB_DIR to the folder of librocksdb.a, as `make bench` does")
    binary = db_bench(Path(library))
    home = bench.ROOT / "manometer-data" / "bench"
    kept = []
    try:
        for workload in WORKLOADS:
            shutil.rmtree(home, ignore_errors=True)
            if workload not in WRITERS:
                make(binary, home)
            turns = {"manometer": lambda: ours_rate(home / "ours", workload),
                     "db_bench": lambda: theirs_rate(binary, home / "theirs", workload)}
            rounds = bench.alternate(turns, PAIRS)
            check_same_options(home)
            kept.append(bench.compare(f"{workload} on RocksDB, {THREADS} thread", rounds, "manometer", "db_bench", GOAL))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    bench.write("kv_vs_db_bench", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "results": kept})


if __name__ == "__main__":
    main()
