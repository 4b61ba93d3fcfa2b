#!/usr/bin/env python3
"""What observing the host costs: processor time of one core at one sample a second, for all observers together and
for writing their rows into a recording.

A beat counts as a second, so that what is looked at rarely (other processes, the device from within) is looked at as
rarely as in a run; beats follow each other ten times as fast.
"""

import os
import subprocess

import bench

BEATS = int(os.environ.get("BEATS", "120"))
ROUNDS = bench.pairs()
# Of one core, at 1 Hz: what all observers together may take.
GOAL = 0.01


def build() -> str:
    """The program that observes and nothing else."""
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--package", "manometer-measure",
                    "--example", "observers"], check=True, cwd=bench.ROOT)
    return str(bench.TARGET / "release" / "examples" / "observers")


def share(rounds: list, *names: str) -> dict:
    """The part of one core that the beats took, a beat being a second."""
    return bench.spread([sum(figures[name] or 0.0 for name in names) / 1e3 for figures in rounds])


def main() -> None:
    program = build()
    rounds = [bench.run_json([program, str(BEATS)]) for _ in range(ROUNDS)]
    observing, all_together = share(rounds, "looking_ms"), share(rounds, "process_ms", "tools_ms")
    kept = []
    for label, figure in (("all observers", observing), ("with helper threads, tools and the recording", all_together)):
        reached = figure["median"] <= GOAL
        print(f"{label:46} {figure['median']:.3%} of a core ({figure['min']:.3%} to {figure['max']:.3%}), "
              f"goal {GOAL:.0%} {'reached' if reached else 'missed'}", flush=True)
        kept.append({"label": label, "unit": "share of a core at 1 Hz", "manometer": figure, "goal": GOAL,
                     "reached": reached})
    by_source = {source: bench.spread([figures["looking_ms_by_source"][source] for figures in rounds])
                 for source in rounds[0]["looking_ms_by_source"]}
    for source, figure in sorted(by_source.items(), key=lambda pair: -pair[1]["median"]):
        print(f"  {source:44} {figure['median'] * 1e3:8.1f} us a beat")
    columns = rounds[0]["columns"]
    print(f"{columns} columns on this host")
    bench.write("observers", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "columns": columns,
                              "beats": BEATS, "results": kept, "ms_a_beat_by_source": by_source})


if __name__ == "__main__":
    main()
