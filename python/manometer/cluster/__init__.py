"""Manometer on many machines, by Dask: one experiment, one load, one trace over a cluster (docs/cluster.md).

Needs the extra: `pip install manometer[cluster]`.

```python
manometer.cluster.run("sweep.toml", "results/sweep", scheduler="tls://head:8786", security="certificates")
```
"""

from __future__ import annotations

from manometer.cluster.connection import HostState, connect, hosts_of
from manometer.cluster.rules import Rules
from manometer.cluster.runs import run
from manometer.cluster.security import initialise

__all__ = ["HostState", "Rules", "connect", "hosts_of", "initialise", "run"]
