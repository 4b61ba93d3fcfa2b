"""What tests have in common."""

from __future__ import annotations

from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
SHARED = REPOSITORY.parent / "shared" / "data"

SHORT = """
name = "short"
interval = "100ms"
[device]
directory = "data"
[primary]
engine = "null"
workload = "ycsb-b"
records = 1000
[[neighbour]]
name = "writer"
kind = "io"
file_size = "4MiB"
write_ratio = 0.5
[plan]
warmup = "300ms"
phase = "600ms"
vary = { "writer.iodepth" = [1, 4] }
"""
