#!/usr/bin/env python3
"""The overhead of observing the host: processor time of one core at one sample per second, for all observers together and
for writing their samples into a recording.

A tick counts as a second, so that rare readings (foreign processes, the health of the device) are as rare as in a run; ticks
follow each other ten times as fast.
"""

import os
import subprocess

import bench

TICKS = int(os.environ.get("TICKS", "120"))
ROUNDS = bench.pairs()
# Of one core, at 1 Hz: what all observers together may take.
GOAL = 0.01


def build() -> str:
    """The program that observes and nothing else."""
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet", "--package", "manometer-measure",
                    "--example", "observers"], check=True, cwd=bench.ROOT)
    return str(bench.TARGET / "release" / "examples" / "observers")


def share(rounds: list, *names: str) -> dict:
    """The share of one core that the ticks took, with a tick of a second."""
    return bench.spread([sum(figures[name] or 0.0 for name in names) / 1e3 for figures in rounds])


def main() -> None:
    program = build()
    rounds = [bench.run_json([program, str(TICKS)]) for _ in range(ROUNDS)]
    observing, all_together = share(rounds, "sampling_ms"), share(rounds, "process_ms", "tools_ms")
    kept = []
    for label, figure in (("all observers", observing), ("with helper threads, tools and the recording", all_together)):
        reached = figure["median"] <= GOAL
        print(f"{label:46} {figure['median']:.3%} of a core ({figure['min']:.3%} to {figure['max']:.3%}), "
              f"goal {GOAL:.0%} {'reached' if reached else 'missed'}", flush=True)
        kept.append({"label": label, "unit": "share of a core at 1 Hz", "manometer": figure, "goal": GOAL,
                     "reached": reached})
    by_series = {series: bench.spread([figures["sampling_ms_by_series"][series] for figures in rounds])
                 for series in rounds[0]["sampling_ms_by_series"]}
    for series, figure in sorted(by_series.items(), key=lambda pair: -pair[1]["median"]):
        print(f"  {series:44} {figure['median'] * 1e3:8.1f} us per tick")
    columns = rounds[0]["columns"]
    print(f"{columns} columns on this host")
    bench.write("observers", {"about": __doc__.strip(), "machine": bench.machine(bench.ROOT), "columns": columns,
                              "ticks": TICKS, "results": kept, "ms_per_tick_by_series": by_series})


if __name__ == "__main__":
    main()
