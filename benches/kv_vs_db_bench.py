#!/usr/bin/env python3
"""YCSB C of `manometer kv` beside `db_bench readrandom`, on the same RocksDB library, in alternation.

Same: library, one million records of 1000 bytes, keys of 23 bytes, uniform choice, threads, options
(no compression, an LRU block cache that holds everything, counters on), database in one level, page cache warm.
Different, and not to be made the same: manometer's keys are `user` and a decimal hash, db_bench's are a
big-endian number filled up with `0`; manometer times every request and verifies every value, db_bench
does neither unless told to; db_bench is C++, manometer calls the C interface.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import bench
from bench import spread
from kv_null import kv

RECORDS = 1_000_000
SECONDS = 6
# Long enough to bring every block into the block cache; db_bench reads the database through instead.
WARMUP = 20
PAIRS = bench.pairs()
GOAL = 0.97
KEY_BYTES = 23
VALUE_BYTES = 1000
CACHE_BYTES = 4 << 30


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


def theirs(binary: Path, directory: Path, threads: int, benchmarks: str, *more: str) -> str:
    flags = {
        "benchmarks": benchmarks, "db": directory, "num": RECORDS, "key_size": KEY_BYTES,
        "value_size": VALUE_BYTES, "cache_size": CACHE_BYTES, "compression_type": "none", "threads": threads,
        "open_files": -1, "statistics": 1, "stats_level": 2, "cache_type": "lru_cache", "bloom_bits": -1, "seed": 1,
    }
    command = [str(binary)] + [f"--{name}={value}" for name, value in flags.items()] + list(more)
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def theirs_rate(binary: Path, directory: Path, threads: int) -> float:
    text = theirs(binary, directory, threads, "readseq,readrandom", "--use_existing_db=1", f"--duration={SECONDS}")
    return float(re.search(r"^readrandom\s*:.*?(\d+) ops/sec", text, re.M).group(1))


def read_through(directory: Path) -> None:
    """Brings the database into the page cache: loading leaves it out."""
    for path in directory.rglob("*.sst"):
        with path.open("rb") as file:
            while file.read(1 << 22):
                pass


def ours_rate(directory: Path, threads: int, seconds: int, *more: str) -> float:
    document = kv(
        "--workload", "ycsb-c", "--engine", "rocksdb", "--records", str(RECORDS), "--distribution", "uniform",
        "--threads", str(threads), "--warmup", str(WARMUP), "--seconds", str(seconds), "--dir", str(directory), "--reuse",
        "--option", f"block_cache={{capacity={CACHE_BYTES};high_pri_pool_ratio=0.0}}", "--option", "compression=kNoCompression", *more)
    return document["throughput"]["mean"]


def main() -> None:
    library = os.environ.get("ROCKSDB_LIB_DIR")
    if not library:
        sys.exit("set ROCKSDB_LIB_DIR to the folder of librocksdb.a, as `make bench` does")
    binary = db_bench(Path(library))
    home = bench.ROOT / "manometer-data" / "bench"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    threads = 1
    try:
        theirs(binary, home / "theirs", threads, "fillseq,compact,waitforcompaction")
        ours_rate(home / "ours", threads, 1)
        read_through(home)
        pairs = []
        turns = [lambda: ours_rate(home / "ours", threads, SECONDS), lambda: theirs_rate(binary, home / "theirs", threads)]
        for number in range(PAIRS):
            # Each pair begins with the other one.
            first = number % 2
            rates = {first: turns[first](), 1 - first: turns[1 - first]()}
            pairs.append((rates[0], rates[1]))
    finally:
        shutil.rmtree(home, ignore_errors=True)
    ratios = [ours / theirs for ours, theirs in pairs]
    report(pairs, ratios, threads)


def report(pairs: list, ratios: list, threads: int) -> None:
    """Prints and keeps the comparison."""
    ours, theirs = [ours for ours, _ in pairs], [theirs for _, theirs in pairs]
    middle = statistics.median(ratios)
    verdict = "reached" if middle >= GOAL else "missed"
    label = f"YCSB C / readrandom, {threads} thread(s)"
    print(f"{'':34} {'manometer kv':>14} {'db_bench':>14} {'ratio':>7}  {'(min to max)':>16}")
    print(f"{label:34} {statistics.median(ours):14,.0f} {statistics.median(theirs):14,.0f} {middle:7.3f}  "
          f"({min(ratios):.3f} to {max(ratios):.3f})  goal {GOAL} {verdict}")
    result = {"label": label, "unit": "ops/s", "manometer kv": spread(ours), "db_bench": spread(theirs),
              "ratio": spread(ratios), "goal": GOAL, "reached": middle >= GOAL}
    bench.write("kv_vs_db_bench", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "results": [result]})


if __name__ == "__main__":
    main()
