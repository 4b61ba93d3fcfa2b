"""The program `manometer`, which runs workloads: the package finds it, and does not contain it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from os import PathLike
from pathlib import Path
from typing import Any

from manometer.errors import ProgramError

# The program's own words: done, failed, wrong, done with the verdict no.
DONE, FAILED, WRONG, NO = 0, 1, 2, 3


def program() -> str:
    """Where the program is: what MANOMETER_PROGRAM names, else `manometer` on the path or beside Python.

    Raises:
        ProgramError: it is not there.
    """
    named = os.environ.get("MANOMETER_PROGRAM")
    search_path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
    found = shutil.which(named or "manometer", path=search_path)
    if found is None:
        missing = f"{named!r}, which MANOMETER_PROGRAM names," if named else "the program `manometer`"
        raise ProgramError(
            f"{missing} is not there, and it runs the workloads: build it in a clone with `setup/setup build && cargo "
            "install --locked --path crates/manometer`, or name it in MANOMETER_PROGRAM"
        )
    return found


def command(*arguments: str | PathLike[str]) -> Any:
    """Runs `manometer ARGUMENTS --format json` and gives its document: replays, single workloads, `doctor` …

    ```python
    manometer.command("doctor", ".")["checks"]
    ```

    Raises:
        ProgramError: the program is missing, the request was wrong, or the work failed; with the program's own words.
            A negative verdict (exit status 3) is no error: the document has it.
    """
    words = [program(), *(os.fspath(argument) for argument in arguments), "--format", "json"]
    with subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as done:
        try:
            out, errors = done.communicate()
        except KeyboardInterrupt:
            # The terminal interrupts it as well; a notebook does not. It ends its work, and is waited for.
            done.send_signal(signal.SIGINT)
            done.communicate()
            raise
    if done.returncode not in (DONE, NO):
        raise ProgramError(errors.strip() or f"manometer ended with status {done.returncode}", done.returncode)
    try:
        return json.loads(out)
    except json.JSONDecodeError as error:
        raise ProgramError(f"`manometer {' '.join(words[1:])}` gives no JSON document: {out[:200]}", DONE) from error
