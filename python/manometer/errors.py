"""Exceptions. Every message states the problem, its place and the remedy."""

from __future__ import annotations


class ManometerError(Exception):
    """The base class of all errors of this package."""


class RecordingError(ManometerError):
    """A directory is not a recording, was written by a newer version, or lacks the requested series."""


class ExperimentError(ManometerError):
    """An experiment is invalid and was not started."""


class ProgramError(ManometerError):
    """The program `manometer` is missing, or its work failed.

    Attributes:
        status: the exit status: 1 the work failed, 2 the request was invalid; None if it did not start.
    """

    status: int | None

    def __init__(self, text: str, status: int | None = None) -> None:
        """Creates an error with the program's message."""
        super().__init__(text)
        self.status = status


class ClusterError(ManometerError):
    """A cluster cannot be reached, cannot do what is requested, or lost work.

    Attributes:
        status: the exit status of `manometer cluster`: 1 the work failed, 2 the request was invalid.
    """

    status: int

    def __init__(self, text: str, status: int = 2) -> None:
        """Creates an error."""
        super().__init__(text)
        self.status = status


class TraceError(ManometerError):
    """A trace cannot be read or written, or is damaged."""


class CacheError(ManometerError, ValueError):
    """A cache cannot be simulated: an unknown policy, or invalid requests."""


class CompareError(ManometerError):
    """Recordings cannot be compared."""


class DatabaseError(ManometerError):
    """A database of rlsm cannot be opened, read or written."""


class PathError(ManometerError, OSError):
    """A path does not resolve, or a cache of paths received an impossible entry or change.

    `errno`, `strerror` and `filename` are those of an OSError.
    """


class RecycleError(ManometerError):
    """A file cannot be mapped, read or written by `recycle`."""


class ImportFileError(ManometerError):
    """A file of another tool does not have the expected format."""


class ChartError(ManometerError):
    """A chart cannot be drawn from these rows."""


class DamagedTraceWarning(UserWarning):
    """A trace is damaged: the result covers the requests before the damage."""
