"""What all benchmarks share: our binary, the machine's description, and where results are kept."""

import json
import os
import platform
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
BINARY = Path(os.environ.get("MANOMETER", TARGET / "release" / "manometer"))


def run_json(command: list, enter=None) -> dict:
    """Runs `command`, in the cgroup that `enter` enters; returns the one JSON document on its standard output."""
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, preexec_fn=enter).stdout
    return json.loads(text[text.index("{"):])


def first_line(path: str, prefix: str = ""):
    """What stands after `prefix` in the file's first line that has it, or None."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return None
    found = (line for line in lines if line.startswith(prefix))
    return next((line[len(prefix):].strip(" \t:=\"") for line in found), None)


def version(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def machine(folder: Path) -> dict:
    """What a reader must know of the machine, and of the disk under `folder`, to judge the figures."""
    number = os.stat(folder).st_dev
    queue = f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/queue"
    return {
        "system": first_line("/etc/os-release", "PRETTY_NAME"), "kernel": platform.release(),
        "cpu": first_line("/proc/cpuinfo", "model name"), "cores": os.cpu_count(),
        "memory": first_line("/proc/meminfo", "MemTotal"),
        "virtual_machine": "hypervisor" in (first_line("/proc/cpuinfo", "flags") or ""),
        "scheduler": first_line(f"{queue}/scheduler"), "rotational": first_line(f"{queue}/rotational") == "1",
        "load_average": os.getloadavg()[0], "manometer": version(str(BINARY), "--version"),
    }


def pairs() -> int:
    """How many alternating pairs: PAIRS, at least 5, for a spread of fewer says nothing."""
    wanted = int(os.environ.get("PAIRS", "5"))
    if wanted < 5:
        raise SystemExit(f"PAIRS is {wanted}: a spread needs at least 5")
    return wanted


def spread(values: list) -> dict:
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "runs": len(values)}


def alternate(turns: dict, rounds: int) -> list:
    """Lets every contestant run once a round, each round begun by another one; what the disk or a busy host does
    to a round, it does to all. Returns a {name: figure} for each round."""
    names = list(turns)
    measured = []
    for number in range(rounds):
        first = number % len(names)
        figures = {name: turns[name]() for name in names[first:] + names[:first]}
        print(f"  round {number + 1} of {rounds}: " + ", ".join(f"{name} {figures[name]:,.0f}" for name in names),
              file=sys.stderr)
        measured.append(figures)
    return measured


def compare(label: str, rounds: list, ours: str, theirs: str, goal: float) -> dict:
    """Prints one line of figures, ratio and spread; returns what is kept of it."""
    ratios = [figures[ours] / figures[theirs] for figures in rounds]
    middle = statistics.median(ratios)
    verdict = "reached" if middle >= goal else "missed"
    figure = {name: spread([figures[name] for figures in rounds]) for name in (ours, theirs)}
    print(f"{label:36} {ours} {figure[ours]['median']:,.0f}, {theirs} {figure[theirs]['median']:,.0f} ops/s: "
          f"ratio {middle:.3f} ({min(ratios):.3f} to {max(ratios):.3f}), goal {goal} {verdict}", flush=True)
    return {"label": label, "unit": "ops/s", **figure, "ratio": spread(ratios), "goal": goal, "reached": middle >= goal}


def kv(*flags: str) -> dict:
    """One run of `manometer kv`, as its JSON document."""
    return run_json([str(BINARY), "kv", *flags, "--format", "json"])


def rate(*flags: str) -> float:
    """The throughput of one run of `manometer kv`, in operations per second."""
    return kv(*flags)["throughput"]["mean"]


def write(name: str, document: dict) -> None:
    """Keeps `document` as `results/NAME.json`."""
    path = ROOT / "benches" / "results" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")
    print(f"written to {path.relative_to(ROOT)}\n")
