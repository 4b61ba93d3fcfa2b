#!/usr/bin/env python3
"""A/A of an interleaved plan: the same phase four times in blocks that take turns, where every pressure is noise.

Twenty runs of RocksDB with YCSB C at full speed, which on a shared machine wanders by tens of per cent within a run:
twenty rounds of four blocks of 700 ms, of which 200 ms are the washout, with samples of 100 ms and another seed each time.
The interval of each pressure should hold 0 in 90 % of them or more, and in at least eighteen runs no phase should
differ from `w0` by the tests over rounds, Holm-corrected over its phases. `RUNS` changes the number of runs.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import bench

RUNS = int(os.environ.get("RUNS", "20"))
SHARE_GOAL = 0.9
EXPERIMENT = """
name = "the same phase in blocks"
interval = "100ms"
[device]
directory = "data"
[primary]
engine = "rocksdb"
workload = "ycsb-c"
records = 100_000
threads = 1
[[neighbour]]
name = "idle"
kind = "io"
file_size = "1MiB"
[plan]
design = "interleaved"
warmup = "3s"
rounds = 20
block = "700ms"
washout = "200ms"
""" + 3 * '[[plan.step]]\nlabel = "the same again"\n'


def one_run(folder: Path, number: int) -> dict:
    """Runs the experiment with a seed of its own; returns what its three phases say."""
    command = [str(bench.BINARY), "run", "aa.toml", "--out", str(folder / f"{number:03}"), "--set",
               f"seed={number}", "--format", "json"]
    # Another seed makes other data: none is left to be taken for it.
    shutil.rmtree(folder / "data", ignore_errors=True)
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if process.returncode != 0:
        raise SystemExit(process.stderr)
    summary = json.loads(process.stdout)
    phases = {phase["id"]: phase for phase in summary["phases"]}
    pressures = [phases[name]["pressure"] for name in ("w1", "w2", "w3")]
    # On an overloaded host a block may end without a sample.
    blocks = [block["mean"] for block in phases["w0"]["blocks"] if block["mean"] is not None]
    p_values = summary["interleaved"]["p_values"]
    carry_over = summary["interleaved"]["carry_over"]
    run = {
        "pressures": pressures,
        "hold_zero": sum(one["ci_low"] is not None and one["ci_low"] <= 0 <= one["ci_high"] for one in pressures),
        "differs": min(p_values.values()) <= 0.05,
        "carry_over": carry_over is not None and carry_over["p_value"] <= 0.05,
        "w0_ops_per_s": [min(blocks), max(blocks)],
    }
    texts = [f"{one['value']:+.3f} [{one['ci_low']:+.3f}, {one['ci_high']:+.3f}]" for one in pressures]
    print(f"  run {number} of {RUNS}: w0 {min(blocks):,.0f} to {max(blocks):,.0f} op/s; {', '.join(texts)}"
          f"{'; differs' if run['differs'] else ''}{'; carry-over' if run['carry_over'] else ''}", flush=True)
    return run


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="aa-", dir=bench.TARGET))
    try:
        (folder / "aa.toml").write_text(EXPERIMENT)
        runs = [one_run(folder, number) for number in range(1, RUNS + 1)]
    finally:
        shutil.rmtree(folder)
    intervals = 3 * len(runs)
    hold = sum(run["hold_zero"] for run in runs)
    alike = sum(not run["differs"] for run in runs)
    reached = hold >= SHARE_GOAL * intervals and alike >= SHARE_GOAL * len(runs)
    print(f"{hold} of {intervals} intervals hold 0, in {sum(run['hold_zero'] == 3 for run in runs)} of {len(runs)} runs all "
          f"three; in {alike} runs no phase differs; goal 90 % of each {'reached' if reached else 'missed'}")
    result = {"label": "real runs at full speed", "runs": runs, "intervals": intervals, "hold_zero": hold,
              "runs_without_difference": alike, "carry_over": sum(run["carry_over"] for run in runs),
              "goal": SHARE_GOAL, "reached": reached}
    bench.write("aa_interleaved", {"about": __doc__.strip(), "machine": bench.machine(bench.TARGET), "results": [result]})


if __name__ == "__main__":
    main()
