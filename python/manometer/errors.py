"""The errors. Every text has the fault, its place and the remedy."""

from __future__ import annotations


class ManometerError(Exception):
    """The base of every error of this package."""


class RecordingError(ManometerError):
    """A folder is no recording, a newer version wrote it, or it lacks the requested series."""


class ExperimentError(ManometerError):
    """An experiment is wrong: it was not started."""


class ProgramError(ManometerError):
    """The program `manometer` is missing, or its work failed.

    Attributes:
        status: its exit status: 1 the work failed, 2 the request was wrong; None where it did not start.
    """

    status: int | None

    def __init__(self, text: str, status: int | None = None) -> None:
        """An error with the program's own words."""
        super().__init__(text)
        self.status = status


class TraceError(ManometerError):
    """A trace cannot be read or written, or is damaged from some byte on."""


class CacheError(ManometerError, ValueError):
    """A cache that cannot be simulated: an unknown policy, or requests that do not fit together."""


class CompareError(ManometerError):
    """Recordings that cannot be compared."""


class DatabaseError(ManometerError):
    """A database of rlsm cannot be opened, read or written."""


class ImportFileError(ManometerError):
    """A file of another tool does not have the expected format."""


class ChartError(ManometerError):
    """A chart cannot be drawn from these rows."""


class DamagedTraceWarning(UserWarning):
    """A trace is damaged: the result covers the requests before the damage."""
