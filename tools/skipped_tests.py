#!/usr/bin/env python3
"""Prints which tests did not run and why; with CI=true, fails on a cause that docs/testing.md does not allow.

The argument is the file to which the tests append what they skip: cause, test and detail, separated by tabs.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path

MANUAL = Path(__file__).parents[1] / "docs" / "testing.md"
ROW = re.compile(r"^\| `(?P<cause>[a-z0-9-]+)` \| (?P<reason>[^|]+) \| (?P<ci>allowed|fails) \|$", re.MULTILINE)


def read(file: Path) -> dict[str, dict[str, str]]:
    """The skipped tests and their details, by cause."""
    causes: dict[str, dict[str, str]] = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        cause, test, detail = line.split("\t", 2)
        causes.setdefault(cause, {})[test] = detail
    return causes


def describe(cause: str, tests: dict[str, str], reason: str) -> str:
    """One line on a cause, or one for each test where the cause is not explained."""
    ((detail, _),) = Counter(tests.values()).most_common(1)
    return f"  {len(tests):4} {cause}: {reason}" + (f" ({detail})" if len(set(tests.values())) == 1 else "")


def main() -> int:
    """The exit status: 1 where a skip is not allowed."""
    causes = read(Path(sys.argv[1]))
    rows = {row["cause"]: row for row in ROW.finditer(MANUAL.read_text())}
    if not causes:
        print("Every test ran.")
        return 0
    count = len({test for tests in causes.values() for test in tests})
    print(f"{count} tests did not run, wholly or in part:")
    for cause, tests in sorted(causes.items(), key=lambda item: -len(item[1])):
        reason = rows[cause]["reason"] if cause in rows else "not explained in docs/testing.md"
        print(describe(cause, tests, reason))
    refused = [cause for cause in causes if cause not in rows or rows[cause]["ci"] == "fails"]
    if os.environ.get("CI") != "true" or not refused:
        return 0
    for cause in refused:
        print(f"CI=true does not allow `{cause}` (docs/testing.md):")
        for test, detail in sorted(causes[cause].items()):
            print(f"  {test}: {detail}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
