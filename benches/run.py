#!/usr/bin/env python3
"""Runs every benchmark, one after the other; each writes its table and benches/results/*.json."""

import pathlib
import subprocess
import sys

BENCHES = ["aa.py", "aa_interleaved.py", "backpath.py", "cache_from_python.py", "cache_vs_libcachesim.py",
           "io_vs_fio.py", "kv_null.py", "kv_vs_db_bench.py", "kv_vs_go_ycsb.py", "kv_vs_redis_benchmark.py",
           "observers.py", "recycle.py", "replay_clock.py", "rlsm_amplification.py", "rlsm_reads.py",
           "rlsm_recycle.py", "rlsm_speed.py", "tier_speed.py", "trace_speed.py"]


def main() -> int:
    folder = pathlib.Path(__file__).parent
    failed = [name for name in BENCHES if subprocess.run([sys.executable, folder / name]).returncode != 0]
    if failed:
        print("failed: " + ", ".join(failed), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
