"""Manometer in notebooks: recordings, experiments, traces, caches, charts, the engine rlsm, files larger
than memory and the cache of paths backpath.

```python
import manometer, polars

recording = manometer.open("manometer-runs/a-recording")
polars.DataFrame(recording.pressure())          # no copy: frames are Arrow
manometer.plot.pressure_scale(recording)
```
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from manometer import backpath, cache, errors, events, import_, recycle, rlsm, trace
from manometer._experiment import Experiment, Run
from manometer._native import Frame
from manometer._program import command
from manometer._recording import Finding, Reason, Recording, Recordings, Verdict, compare, open
from manometer.errors import ManometerError, RecordingError

if TYPE_CHECKING:
    from manometer import plot

__all__ = [
    "Experiment",
    "Finding",
    "Frame",
    "ManometerError",
    "Reason",
    "Recording",
    "RecordingError",
    "Recordings",
    "Run",
    "Verdict",
    "backpath",
    "cache",
    "command",
    "compare",
    "errors",
    "events",
    "import_",
    "open",
    "plot",
    "recycle",
    "rlsm",
    "trace",
]


def __getattr__(name: str) -> Any:
    # Altair takes a second to import, and most programs draw nothing.
    if name == "plot":
        return import_module("manometer.plot")
    raise AttributeError(f"module 'manometer' has no attribute {name!r}")
