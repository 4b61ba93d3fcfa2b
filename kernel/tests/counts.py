#!/usr/bin/env python3
"""Prints what the kernels counted, and fails where page recycling did not do what it is for.

`counts.py PLAIN PATCHED DEBUG`: the files that `recycling.sh` wrote.
"""

import sys
from pathlib import Path

MODES = ["off", "clean", "all", "private"]
# Background reclaim (runs of kswapd) and foreground reclaim (stalls of direct reclaim) may be at most this share of what
# they are when it is off, where every page can be recycled: in reads, and in writes where dirty ones are written back.
SHARE_MAX = 0.25


def read(path: str) -> list[dict]:
    """The runs of a file: a line of names and values each for the run, and for the counts."""
    lines = [line.split() for line in Path(path).read_text().splitlines()]
    pairs = [first + second for first, second in zip(lines[::2], lines[1::2], strict=True)]
    return [dict(zip(words[::2], words[1::2], strict=True)) for words in pairs]


def row(kernel: str, run: dict) -> dict:
    stalls = sum(int(value) for name, value in run.items() if name.startswith("allocstall"))
    return {"passes": run["cell"].replace(",", " "), "kernel": kernel, "mode": MODES[int(run["mode"])],
            "right": run["status"] == "0", "major faults": int(run["pgmajfault"]), "recycled": int(run["recycle_page"]),
            "written": int(run["recycle_write"]), "background": int(run["pageoutrun"]), "foreground": stalls,
            "switches": int(run.get("switches", 0))}


def wrong(rows: list[dict]) -> list[str]:
    found = [f"{one['kernel']}, {one['passes']}, {one['mode']}: data is wrong" for one in rows if not one["right"]]
    found += [f"{one['passes']}: recycled while off" for one in rows if one["mode"] == "off" and one["recycled"]]
    patched = [one for one in rows if one["kernel"] == "patched"]
    off = {one["passes"]: one for one in patched if one["mode"] == "off"}
    for one in patched:
        is_meant = one["mode"] in ("all", "private") or (one["mode"] == "clean" and "read" in one["passes"])
        for name in ("background", "foreground"):
            before = off[one["passes"]][name]
            if is_meant and one[name] > SHARE_MAX * before:
                found.append(f"{one['passes']}, {one['mode']}: {one[name]} times {name} reclaim, and {before} when off")
    return found


def main() -> int:
    kernels = zip(("plain", "patched", "debug"), sys.argv[1:], strict=True)
    rows = [row(kernel, run) for kernel, path in kernels for run in read(path)]
    names = list(rows[0])
    print("| " + " | ".join(names) + " |\n" + "| --- " * len(names) + "|")
    for one in rows:
        print("| " + " | ".join("yes" if value is True else "no" if value is False else str(value)
                                 for value in one.values()) + " |")
    found = wrong(rows)
    print("\n".join(found), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
