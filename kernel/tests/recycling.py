#!/usr/bin/env python3
"""Prints what the kernels counted, and fails where page recycling did not do what it is for.

`recycling.py PLAIN PATCHED DEBUG`: the files that `recycling.sh` wrote.
"""

import sys
from pathlib import Path

MODES = ["0, off", "1, clean", "2, all", "3, private"]
# Of the pages that reclaim takes when it is off, with every page recyclable: in reads, and in writes where dirty ones
# are written back.
RECLAIMED_MAX = 0.1
# How far the patched kernel may be from the plain one when it is off.
OFF_MAX = 0.2


def read(path: str) -> list[dict]:
    """The runs of a file: a line of names and values each for the run, and for the counts."""
    lines = [line.split() for line in Path(path).read_text().splitlines()]
    pairs = [first + second for first, second in zip(lines[::2], lines[1::2], strict=True)]
    return [dict(zip(words[::2], words[1::2], strict=True)) for words in pairs]


def row(kernel: str, run: dict) -> dict:
    """A run as it is printed."""
    pattern, operation, processes = run["cell"].split(",")
    stalls = sum(int(value) for name, value in run.items() if name.startswith("allocstall"))
    return {"passes": f"{pattern} {operation}", "processes": int(processes), "kernel": kernel,
            "mode": MODES[int(run["mode"])], "right": run["status"] == "0", "major faults": int(run["pgmajfault"]),
            "recycled": int(run["recycle_page"]), "written": int(run["recycle_write"]),
            "by kswapd": int(run["pgsteal_kswapd"]), "directly": int(run["pgsteal_direct"]),
            "kswapd's runs": int(run["pageoutrun"]), "stalls": stalls, "switches": int(run.get("switches", 0))}


def reclaimed(one: dict) -> int:
    """The pages that reclaim took, in the background and in the foreground."""
    return one["by kswapd"] + one["directly"]


def work(one: dict) -> float:
    """What compares two runs: several processes read a page again, or not, as they interleave."""
    return reclaimed(one) / (one["major faults"] if one["processes"] > 1 else 1)


def wrong(rows: list[dict]) -> list[str]:
    """What contradicts what page recycling is for."""
    def label(one: dict) -> str:
        return f"{one['kernel']}, {one['passes']}, {one['processes']} processes, mode {one['mode']}"

    def of(kernel: str, mode: str) -> dict:
        return {(one["passes"], one["processes"]): one
                for one in rows if (one["kernel"], one["mode"]) == (kernel, mode)}

    found = [f"{label(one)}: data is wrong" for one in rows if not one["right"]]
    plain, off = of("plain", MODES[0]), of("patched", MODES[0])
    found += [f"{label(one)}: recycled while off" for one in off.values() if one["recycled"]]
    found += [f"{label(off[cell])}: {reclaimed(off[cell])} pages reclaimed, and {reclaimed(one)} by the plain kernel"
              for cell, one in plain.items() if abs(work(off[cell]) / work(one) - 1) > OFF_MAX]
    for one in rows:
        is_meant = one["mode"] in MODES[2:] or (one["mode"] == MODES[1] and "read" in one["passes"])
        before = off.get((one["passes"], one["processes"]))
        if one["kernel"] == "patched" and is_meant and reclaimed(one) > RECLAIMED_MAX * reclaimed(before):
            found.append(f"{label(one)}: {reclaimed(one)} pages reclaimed, and {reclaimed(before)} when off")
    return found


def main() -> int:
    """Prints all runs; fails if anything is wrong."""
    kernels = zip(("plain", "patched", "debug"), sys.argv[1:], strict=True)
    rows = [row(kernel, run) for kernel, path in kernels for run in read(path)]
    names = list(rows[0])
    print("| " + " | ".join(names) + " |\n" + "| --- " * len(names) + "|")
    for one in rows:
        print("| " + " | ".join("yes" if value is True else "no" if value is False else str(value)
                                 for value in one.values()) + " |")
    found = wrong(rows)
    for one in found:
        print(one, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
