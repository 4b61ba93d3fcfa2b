"""What tests have in common."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest

REPOSITORY = Path(__file__).parents[2]
DATA = Path(os.environ.get("MANOMETER_DATA", REPOSITORY.parent / "shared" / "data"))


def skip(cause: str, detail: str) -> NoReturn:
    """Skips the test for a cause of docs/testing.md."""
    pytest.skip(f"{cause}: {detail}")


def real_data(path: str) -> Path:
    """A file of the real traces and logs; skips the test where it is absent."""
    found = DATA / path
    if not found.exists():
        skip("real-data", f"there is no {found}")
    return found


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
