#!/usr/bin/env python3
"""A/A: the same phase twice, where every pressure is noise.

Of 1,000 simulated pairs (600 samples each, AR(1) noise with saw-teeth, seeded) the pressure's 95 % interval should
hold 0 in 93 % to 97 %; of ten real runs (RocksDB, `w0` and then the same again beside a neighbour that does nothing)
in at least eight. Real runs are of two kinds: YCSB B at a pace (Poisson arrivals, 2,000 a second), where what else the
host does changes no throughput, and YCSB C at full speed, where it does: what the host's other work changes between
both phases is there a real difference, or makes the samples remember too long for an interval. `manometer compare`
then compares the first five runs with the last five.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import bench

SIMULATION = Path(os.environ.get("SIMULATION", bench.TARGET / "release" / "examples" / "aa"))
PHASE = os.environ.get("PHASE", "20s")
RUNS = 10
SHARES, REAL_GOAL = (0.93, 0.97), 8
PRIMARIES = {
    "at a pace": 'workload = "ycsb-b"\nrate = "2000/s"\narrivals = "poisson"',
    "at full speed": 'workload = "ycsb-c"',
}
EXPERIMENT = """
name = "the same phase twice"
interval = "100ms"
[device]
directory = "data"
[primary]
engine = "rocksdb"
@PRIMARY
records = 100_000
threads = 1
[[neighbour]]
name = "idle"
kind = "io"
file_size = "1MiB"
[plan]
warmup = "5s"
phase = "@PHASE"
[[plan.step]]
label = "the same again"
"""


def simulated() -> dict:
    result = bench.run_json([str(SIMULATION)])
    share = result["hold_zero"] / result["with_interval"]
    reached = SHARES[0] <= share <= SHARES[1] and result["with_interval"] >= 0.98 * result["pairs"]
    print(f"{'simulated pairs':36} {result['with_interval']} of {result['pairs']} with an interval, "
          f"{100 * share:.1f} % hold 0, goal 93 to 97 {'reached' if reached else 'missed'}", flush=True)
    return {"label": "simulated pairs", **result, "share": share, "goal": list(SHARES), "reached": reached}


def one_run(folder: Path, number: int) -> dict:
    """Runs the experiment with a seed of its own; returns the second phase's pressure."""
    out = folder / ("first" if number <= RUNS // 2 else "last") / f"{number:03}"
    command = [str(bench.BINARY), "run", "aa.toml", "--out", str(out), "--set", f"seed={number}",
               "--format", "json"]
    # Another seed makes other data: none is left to be taken for it.
    shutil.rmtree(folder / "data", ignore_errors=True)
    process = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if process.returncode != 0:
        raise SystemExit(process.stderr)
    phases = json.loads(process.stdout)["phases"]
    pressure = next(phase["pressure"] for phase in phases if phase["id"] == "w1")
    known = pressure["ci_low"] is not None
    holds = known and pressure["ci_low"] <= 0 <= pressure["ci_high"]
    text = f"[{pressure['ci_low']:+.4f}, {pressure['ci_high']:+.4f}]" if known else pressure["reason"]
    print(f"  run {number} of {RUNS}: pressure {pressure['value']:+.4f} {text}{'' if holds else '  does not hold 0'}",
          flush=True)
    return {"pressure": pressure, "holds_zero": holds}


def real(kind: str) -> dict:
    folder = Path(tempfile.mkdtemp(prefix="aa-", dir=bench.TARGET))
    try:
        (folder / "aa.toml").write_text(EXPERIMENT.replace("@PRIMARY", PRIMARIES[kind]).replace("@PHASE", PHASE))
        runs = [one_run(folder, number) for number in range(1, RUNS + 1)]
        command = [str(bench.BINARY), "compare", "first", "last", "--format", "json"]
        compared = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if compared.returncode not in (0, 3):
            raise SystemExit(compared.stderr)
        phases = json.loads(compared.stdout)["phases"]
    finally:
        shutil.rmtree(folder)
    hold, unknown = sum(run["holds_zero"] for run in runs), sum(run["pressure"]["ci_low"] is None for run in runs)
    verdict = "reached" if hold >= REAL_GOAL else "missed"
    print(f"{'real pairs ' + kind:36} {hold} of {RUNS} hold 0, {unknown} without interval, goal {REAL_GOAL} {verdict}")
    keys = ("id", "ratio", "ci_low", "ci_high", "verdict", "runs_needed")
    verdicts = [{key: phase[key] for key in keys} for phase in phases]
    for phase in verdicts:
        interval = f"[{phase['ci_low']:.3f}, {phase['ci_high']:.3f}]" if phase["ci_low"] is not None else "no interval"
        print(f"{'  first five against last five':36} {phase['id']}: ratio {phase['ratio']:.3f} {interval}, "
              f"{phase['verdict']}", flush=True)
    return {"label": f"real pairs {kind}", "phase": PHASE, "runs": runs, "hold_zero": hold, "without_interval": unknown,
            "goal": REAL_GOAL, "reached": hold >= REAL_GOAL, "first_five_against_last_five": verdicts}


def main() -> None:
    kept = [simulated(), *(real(kind) for kind in PRIMARIES)]
    bench.write("aa", {"about": __doc__.strip(), "machine": bench.machine(bench.TARGET), "results": kept})


if __name__ == "__main__":
    main()
