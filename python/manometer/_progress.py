"""A progress bar, if the extra `[progress]` is installed."""

from __future__ import annotations

from typing import Any

from manometer.events import Event, Failed, PhaseBegun, Preparing, RunBegun, Sample, Tick


class Progress:
    """A bar for each run, in seconds, with the latest rates of the workloads."""

    def __init__(self) -> None:
        """Creates no bar yet."""
        self._bar: Any = None
        self._seconds = 0.0
        self._rates: dict[str, str] = {}

    def show(self, event: Event) -> None:
        """Shows one event."""
        if isinstance(event, RunBegun):
            self.close()
            self._seconds = event.seconds
            self._bar = _bar(event)
        if self._bar is None:
            return
        match event:
            case Preparing(workload, what, done, total):
                self._bar.set_postfix_str(f"{workload}: {what} {100 * done / max(total, 1):.0f} %")
            case PhaseBegun(id, label):
                self._bar.set_description(f"{id} {label}".strip())
                self._rates.clear()
            case Sample(workload, rate, unit):
                self._rates[workload] = f"{workload} {rate:,.0f} {unit}"
            case Tick(_, run_left_s):
                self._bar.n = round(max(self._seconds - run_left_s, 0.0))
                self._bar.set_postfix_str(", ".join(self._rates.values()))
            case Failed(workload, text):
                self._bar.write(f"{workload} failed: {text}")
            case _:
                pass

    def close(self) -> None:
        """Closes the current bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _bar(run: RunBegun) -> Any:
    try:
        from tqdm.auto import tqdm  # pyright: ignore[reportMissingModuleSource, reportUnknownVariableType]
    except ImportError:
        return None
    name = f"run {run.run} of {run.runs}" if run.runs > 1 else "run"
    form = "{desc}: {bar} {n:.0f} of {total:.0f} s {postfix}"
    return tqdm(total=round(run.seconds), desc=name, bar_format=form)  # pyright: ignore[reportUnknownVariableType]
