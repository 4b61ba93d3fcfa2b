#!/usr/bin/env python3
"""Long and large: a set of RUNS runs of 200 ms in two settings, and a day of samples at one a second.

Of the set: the memory and the open files of `manometer run` over time, and the time and memory of the report of all its runs.
Of the day: the time and memory of its report. The day's clock is counted, not waited for.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

import bench

RUNS = int(os.environ.get("RUNS", "2000"))
HOURS = int(os.environ.get("HOURS", "24"))
EVERY_S = 0.5
GROWTH_GOAL, SET_GOAL_S, DAY_GOAL_S, DAY_GOAL_MIB = 0.10, 30, 10, 500

EXPERIMENT = """
name = "a week"
interval = "20ms"
[device]
directory = "data"
[primary]
engine = "null"
workload = "ycsb-b"
records = 1000
[plan]
warmup = "0s"
phase = "200ms"
[sweep]
repeats = {repeats}
"primary.threads" = [1, 2]
"""


def use_of(pid: int) -> dict:
    """The resident memory and the number of open files of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return {"memory_mib": pages * os.sysconf("SC_PAGE_SIZE") / 2**20, "files": len(os.listdir(f"/proc/{pid}/fd"))}


def run_set(folder: Path) -> list:
    """Runs the set; what its process used, over time."""
    (folder / "week.toml").write_text(EXPERIMENT.format(repeats=RUNS // 2))
    command = [str(bench.BINARY), "run", "week.toml", "--out", "week"]
    samples, begin = [], time.monotonic()
    with open(folder / "log", "w") as log, subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as process:
        while process.poll() is None:
            try:
                runs = len(list((folder / "week").glob("runs/*")))
                samples.append({"at_s": round(time.monotonic() - begin, 2), "runs": runs, **use_of(process.pid)})
            except (FileNotFoundError, ProcessLookupError, IndexError):
                break
            time.sleep(EVERY_S)
    done = len(list((folder / "week").glob("runs/*")))
    if process.wait() != 0 or done != RUNS:
        raise SystemExit(f"{done} of {RUNS} runs, status {process.returncode}:\n{(folder / 'log').read_text()[-2000:]}")
    return samples


def of_quarters(samples: list, name: str) -> dict:
    """The mean of a figure in the first and in the last quarter of the runs, without the report of the set at the end."""
    samples = [sample for sample in samples if 0 < sample["runs"] < RUNS]
    quarter = max(1, len(samples) // 4)
    means = [sum(sample[name] for sample in part) / len(part) for part in (samples[:quarter], samples[-quarter:])]
    return {"first_quarter": means[0], "last_quarter": means[1], "growth": means[1] / means[0] - 1}


def report(folder: Path, *arguments: str) -> dict:
    """The time and the memory of a report."""
    command = [str(bench.BINARY), "report", *arguments]
    begin = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {process.returncode}")
    return {"elapsed_s": time.monotonic() - begin, "processor_s": used.ru_utime + used.ru_stime,
            "memory_mib": used.ru_maxrss / 1024}


def goal(label: str, figure: float, most: float, unit: str) -> dict:
    print(f"{label:40} {figure:10.3g} {unit}, goal {most} {'reached' if figure <= most else 'missed'}", flush=True)
    return {"label": label, "unit": unit, "figure": figure, "goal": most, "reached": figure <= most}


def main() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as name:
        folder = Path(name)
        samples = run_set(folder)
        memory, files = (of_quarters(samples, name) for name in ("memory_mib", "files"))
        runs = sorted(str(path) for path in (folder / "week" / "runs").iterdir())
        of_set = report(folder, *runs, "--out", str(folder / "set"))
        program = bench.TARGET / ("release" if "release" in str(bench.BINARY) else "debug") / "examples" / "day"
        subprocess.run([program, folder / "day", str(HOURS)], check=True, cwd=folder)
        size = sum(path.stat().st_size for path in (folder / "day").rglob("*") if path.is_file())
        of_day = report(folder, str(folder / "day"))
    results = [goal("memory of the set's command, growth", memory["growth"], GROWTH_GOAL, ""),
               goal("open files of the set's command, growth", files["growth"], GROWTH_GOAL, ""),
               goal("report of the set", of_set["elapsed_s"], SET_GOAL_S, "s"),
               goal("report of the day", of_day["elapsed_s"], DAY_GOAL_S, "s"),
               goal("memory of the day's report", of_day["memory_mib"], DAY_GOAL_MIB, "MiB")]
    every = max(1, len(samples) // 100)
    bench.write("long", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "runs": RUNS, "hours": HOURS,
                         "set": {"memory_mib": memory, "open_files": files, "report": of_set, "over_time": samples[::every]},
                         "day": {"bytes": size, "report": of_day}, "results": results})


if __name__ == "__main__":
    main()
