"""What can go wrong. Every text says what was wrong, where, and what would be right."""

from __future__ import annotations


class ManometerError(Exception):
    """The base of every error of this package."""


class RecordingError(ManometerError):
    """A folder is no recording, a newer version wrote it, or it does not hold what was asked for."""


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
    """A file of another tool is not what it is taken for."""


class ChartError(ManometerError):
    """A chart that cannot be drawn of what was given."""


class DamagedTraceWarning(UserWarning):
    """A trace is damaged: what is told was computed of the requests before that."""
