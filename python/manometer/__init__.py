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

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from manometer import backpath, cache, errors, events, importing, recycle, rlsm, trace
from manometer._experiment import Experiment, Run
from manometer._native import Frame
from manometer._program import command
from manometer._recording import Comparison, Finding, Reason, Recording, Recordings, Summary, Verdict, compare, demo

# Not for `from manometer import *`, which would hide Python's own.
from manometer._recording import open as open
from manometer.errors import ManometerError, RecordingError

if TYPE_CHECKING:
    from manometer import plot

__all__ = [
    "Comparison",
    "Experiment",
    "Finding",
    "Frame",
    "ManometerError",
    "Reason",
    "Recording",
    "RecordingError",
    "Recordings",
    "Run",
    "Summary",
    "Verdict",
    "backpath",
    "cache",
    "command",
    "compare",
    "demo",
    "errors",
    "events",
    "importing",
    "plot",
    "recycle",
    "rlsm",
    "trace",
]


def __getattr__(name: str) -> Any:
    # Altair takes a second to import, and most programs draw nothing.
    if name == "plot":
        return import_module("manometer.plot")
    if name == "import_":
        warnings.warn("manometer.import_ is now manometer.importing", DeprecationWarning, stacklevel=2)
        return importing
    raise AttributeError(f"module 'manometer' has no attribute {name!r}")
