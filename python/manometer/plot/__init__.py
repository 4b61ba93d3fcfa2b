"""Every chart of the report, as Altair objects: the same definitions (`charts/*.vl.json`), the same rows.

Needs the extra: `pip install 'manometer[plot]'`.

A chart can be changed as any of Altair's, and be kept without a browser or a network where the extra `[export]` is
installed: `chart.save("pressure.svg")`, or `.png`, `.pdf`. What a recording does not hold is not drawn: a chart of
nothing says so. `chart.description` is the chart in words, `chart.usermeta["notes"]` says what is missing, and why.
"""

from __future__ import annotations

try:
    import altair as _altair  # noqa: F401  # pyright: ignore[reportUnusedImport]
except ModuleNotFoundError as _missing:
    raise ImportError(f"charts are drawn by Altair ({_missing}): pip install 'manometer[plot]'") from _missing

from manometer.plot._charts import *  # noqa: F403
