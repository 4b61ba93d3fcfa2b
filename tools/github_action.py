#!/usr/bin/env python3
"""What action.yml does: runs an experiment, compares it with a baseline, and comments on the pull request.

It ends with the exit status of the gate: that of `manometer compare` with a baseline, else that of `manometer run`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WRONG = 2
STATUSES = {0: "passed", 1: "failed: the run is incomplete", 3: "failed", 4: "undecided"}


def main() -> int:
    setting = {name: os.environ[f"MANOMETER_{name}"] for name in ("EXPERIMENT", "BASELINE", "BOUND", "OUT", "PROGRAM")}
    undecided = ["--allow-undecided"] if os.environ["MANOMETER_ALLOW_UNDECIDED"] == "true" else []
    program, out = setting["PROGRAM"], setting["OUT"]
    status, result = call(program, "run", setting["EXPERIMENT"], "--out", out, *undecided)
    if result is None:
        return status
    text = verdict(result) + table(runs(result))
    if setting["BASELINE"] and status in (0, 3, 4):
        bound = setting["BOUND"]
        status, compared = call(program, "compare", setting["BASELINE"], out, "--bound", bound, *undecided)
        if compared is None:
            return status
        text += f"\n**Against the baseline, by at most {bound}:** {STATUSES[status]}\n\n" + ratios(compared)
    else:
        text += f"\nGate: {STATUSES[status]}.\n"
    comment(text)
    return status


def call(*words: str) -> tuple[int, dict[str, Any] | None]:
    """The exit status and the document of a command; None where it refused or printed none."""
    done = subprocess.run([*words, "--format", "json"], stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() and done.returncode != WRONG else None


def runs(result: dict[str, Any]) -> list[dict[str, Any]]:
    return [run["summary"] for run in result["runs"]] if "runs" in result else [result]


def verdict(result: dict[str, Any]) -> str:
    reasons = "".join(f"- {one['text']}\n" for one in result["verdict"]["reasons"][:3])
    return f"### {result['headline']}\n\n**Verdict: {result['verdict']['grade']}**\n\n{reasons}\n"


def table(summaries: list[dict[str, Any]]) -> str:
    head = "| phase | performance | pressure |\n| --- | --- | --- |\n"
    rows = [
        f"| {phase['id']} {phase['label']} | {estimate(phase['performance'], 'mean')} {summary['criterion']['unit']} "
        f"| {estimate(phase['pressure'], 'value')} |\n"
        for summary in summaries
        for phase in summary["phases"]
    ]
    return head + "".join(rows)


def ratios(compared: dict[str, Any]) -> str:
    head = "| phase | ratio | gate |\n| --- | --- | --- |\n"
    return head + "".join(
        f"| {one['id']} {one['label']} | {estimate(one, 'ratio')} | {one['gate'].replace('_', ' ')} |\n"
        for one in compared["phases"]
    )


def estimate(one: dict[str, Any] | None, name: str) -> str:
    """A number with its 95 % interval, where it has one."""
    if not one or one.get(name) is None:
        return "–"
    interval = "" if one.get("ci_low") is None else f" ({number(one['ci_low'])} to {number(one['ci_high'])})"
    return number(one[name]) + interval


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def comment(text: str) -> None:
    """Writes the job's summary and, in a pull request, the one comment, which a later run replaces."""
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a") as file:
            file.write(text)
    event = json.loads(Path(os.environ.get("GITHUB_EVENT_PATH") or os.devnull).read_text() or "{}")
    pull_request = event.get("pull_request", {}).get("number")
    if pull_request is None:
        print(text)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".md") as body:
        body.write(text)
        body.flush()
        words = ["gh", "pr", "comment", str(pull_request), "--repo", os.environ["GITHUB_REPOSITORY"]]
        subprocess.run([*words, "--edit-last", "--create-if-none", "--body-file", body.name], check=True)


if __name__ == "__main__":
    sys.exit(main())
