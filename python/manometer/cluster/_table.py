"""The live table: hosts, what each does, what is left."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TextIO

# How often a terminal is redrawn, in seconds.
REDRAW_S = 1.0


@dataclass
class _Row:
    run: str
    phase: str = "starting"
    left_s: float | None = None
    since: float = 0.0
    begun: float = 0.0


class Table:
    """Shows the progress of a set: a table on a terminal, elsewhere a line for each change."""

    def __init__(self, ids: Iterable[str], seconds: dict[str, float], done: int, file: TextIO = sys.stderr) -> None:
        """`ids` are the runs that are left, `seconds` the planned length of each, `done` how many are complete."""
        self._left, self._seconds, self._done, self._failed = set(ids), seconds, done, 0
        self._file, self._is_live = file, file.isatty()
        self._rows: dict[str, _Row] = {}
        self._places: dict[str, str] = {}
        self._height, self._drawn = 0, 0.0

    def handle(self, event: dict[str, Any]) -> None:
        """Updates the table by an event of a host."""
        host, run = str(event["host"]), str(event["run"])
        if run not in self._left:
            return
        if event["event"] == "begins":
            before = self._places.get(run)
            self._places[run] = host
            self._rows[host] = _Row(run, since=time.monotonic(), begun=time.monotonic())
            if before is None:
                self.note(f"run {run} begins on {host}")
            else:
                self._rows.pop(before if before != host else "", None)
                self.note(f"run {run} begins again on {host}: it was lost on {before}")
        elif (row := self._rows.get(host)) is not None and row.run == run:
            row.phase, row.left_s = event.get("phase", row.phase), event.get("left_s", row.left_s)
            row.since = time.monotonic()

    def end(self, run: str, host: str, outcome: str, text: str) -> None:
        """Takes in the end of a run."""
        self._left.discard(run)
        self._rows.pop(host, None)
        is_done = outcome == "complete"
        self._done, self._failed = self._done + is_done, self._failed + (not is_done)
        self.note(f"run {run} {'is complete' if is_done else outcome} on {host}" + (f": {text}" if text else ""))

    def note(self, text: str) -> None:
        """Shows a line that stays."""
        self._clear()
        print(text, file=self._file, flush=True)

    def draw(self, hosts: Iterable[str]) -> None:
        """Redraws the table on a terminal."""
        if not self._is_live or time.monotonic() - self._drawn < REDRAW_S:
            return
        self._clear()
        lines = self.lines(sorted(hosts), shutil.get_terminal_size().lines)
        print("\n".join(lines), file=self._file, flush=True)
        self._height, self._drawn = len(lines), time.monotonic()

    def lines(self, hosts: list[str], rows: int = 1 << 20) -> list[str]:
        """The table, in at most so many rows of the screen."""
        width = max([4, *map(len, hosts)])
        lines = [f"{'host':{width}}  run   phase                 left"]
        # Those at work first; what does not fit on the screen cannot be redrawn.
        hosts = sorted(hosts, key=lambda host: host not in self._rows)
        shown = hosts[: max(1, rows - 4)]
        for host in shown:
            row = self._rows.get(host)
            if row is None:
                lines.append(f"{host:{width}}  –     idle")
            else:
                left = "" if row.left_s is None else _duration(max(0.0, row.left_s - (time.monotonic() - row.since)))
                lines.append(f"{host:{width}}  {row.run:4}  {row.phase:20.20}  {left:>4}")
        if more := len(hosts) - len(shown):
            lines.append(f"… and {more} more hosts; {len(self._rows)} of all are at work")
        now = time.monotonic()
        done_s = sum(min(now - row.begun, self._seconds[row.run]) for row in self._rows.values())
        waiting_s = sum(self._seconds[run] for run in self._left) - done_s
        at_work = max(1, len(self._rows))
        lines.append(
            f"{self._done} complete, {self._failed} failed, {len(self._left)} left: about "
            f"{_duration(waiting_s / at_work)} without preparation"
        )
        return lines

    def close(self) -> None:
        """Leaves the last state on the terminal."""
        self._height = 0

    def _clear(self) -> None:
        if self._height:
            self._file.write(f"\x1b[{self._height}A\x1b[J")
            self._height = 0


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{rest} s"
