"""The program `manometer`, which runs workloads: the wheel of a release brings it, a build from sources does not."""

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

# Exit statuses of the program: done, failed, invalid request, done with a negative verdict.
DONE, FAILED, WRONG, NO = 0, 1, 2, 3


def program() -> str:
    """The path of the program: MANOMETER_PROGRAM, else `manometer` on the PATH or next to the Python interpreter.

    Raises:
        ProgramError: it is not found.
    """
    named = os.environ.get("MANOMETER_PROGRAM")
    search_path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)])
    found = shutil.which(named or "manometer", path=search_path)
    if found is None:
        missing = f"{named!r}, which MANOMETER_PROGRAM names," if named else "the program `manometer`"
        raise ProgramError(
            f"{missing} is not there, and it runs the workloads: the wheel of a release brings it. Or build it in a "
            "clone with `setup/setup build && cargo install --locked --path crates/manometer`, or name it in "
            "MANOMETER_PROGRAM"
        )
    return found


def command(*arguments: str | PathLike[str]) -> Any:
    """Runs `manometer ARGUMENTS --format json` and returns its document: replays, single workloads, `doctor` …

    >>> document = manometer.command("engines")
    >>> "rlsm" in [engine["name"] for engine in document["engines"]]
    True

    Raises:
        ProgramError: the program is missing, the request was invalid, or the work failed; with the program's message.
            A negative verdict (exit status 3) is not an error: it is in the document.
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
            # A terminal interrupts the program as well, a notebook does not. Waits until it has ended its work.
            done.send_signal(signal.SIGINT)
            done.communicate()
            raise
    if done.returncode not in (DONE, NO):
        raise ProgramError(errors.strip() or f"manometer ended with status {done.returncode}", done.returncode)
    try:
        return json.loads(out)
    except json.JSONDecodeError as error:
        raise ProgramError(f"`manometer {' '.join(words[1:])}` gives no JSON document: {out[:200]}", DONE) from error
