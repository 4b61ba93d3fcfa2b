"""Exceptions. Every message states the problem, its place and the remedy."""

from __future__ import annotations


class ManometerError(Exception):
    """The base class of all errors of this package.

    >>> try:
    ...     manometer.open("nowhere")
    ... except manometer.ManometerError as error:
    ...     print(error)
    nowhere is not a directory: a recording is the directory that a run left behind
    """


class RecordingError(ManometerError):
    """A directory is not a recording, was written by a newer version, or lacks the requested series.

    >>> manometer.demo().samples("nobody")
    Traceback (most recent call last):
    manometer.errors.RecordingError: demo has no samples of `nobody`; it has conductor, ...
    """


class ExperimentError(ManometerError):
    """An experiment is invalid and was not started.

    >>> manometer.Experiment("nowhere.toml").text
    Traceback (most recent call last):
    manometer.errors.ExperimentError: nowhere.toml: No such file or directory
    """


class ProgramError(ManometerError):
    """The program `manometer` is missing, or its work failed.

    Attributes:
        status: the exit status: 1 the work failed, 2 the request was invalid; None if it did not start.

    >>> try:
    ...     manometer.command("trace", "info", "nowhere.csv")
    ... except manometer.errors.ProgramError as error:
    ...     print(error.status)
    2
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

    >>> manometer.errors.ClusterError("no host answers").status
    2
    """

    status: int

    def __init__(self, text: str, status: int = 2) -> None:
        """Creates an error."""
        super().__init__(text)
        self.status = status


class TraceError(ManometerError):
    """A trace cannot be read or written, or is damaged.

    >>> manometer.trace.open("nowhere.csv")
    Traceback (most recent call last):
    manometer.errors.TraceError: nowhere.csv: No such file or directory (os error 2)
    """


class CacheError(ManometerError, ValueError):
    """A cache cannot be simulated: an unknown policy, or invalid requests.

    >>> manometer.cache.simulate([1, 2, 3], "lru", 0)
    Traceback (most recent call last):
    manometer.errors.CacheError: 0 is not a capacity: write a whole number from 1 to 2^63
    """


class CompareError(ManometerError):
    """Recordings cannot be compared.

    >>> manometer.compare(manometer.demo().path)
    Traceback (most recent call last):
    manometer.errors.CompareError: give two recordings, or a series of them, to compare
    """


class DatabaseError(ManometerError):
    """A database of rlsm cannot be opened, read or written.

    >>> manometer.rlsm.open("database", sync="sometimes")
    Traceback (most recent call last):
    manometer.errors.DatabaseError: sync is 'sometimes': write "always", "never", or seconds above 0
    """


class PathError(ManometerError, OSError):
    """A path does not resolve, or a cache of paths received an impossible entry or change.

    `errno`, `strerror` and `filename` are those of an OSError.

    >>> manometer.backpath.PathCache(capacity=0)
    Traceback (most recent call last):
    manometer.errors.PathError: [Errno 22] the capacity is 0 paths: 1 to 268435456
    """


class RecycleError(ManometerError):
    """A file cannot be mapped, read or written by `recycle`.

    >>> manometer.recycle.open("nowhere.bin")
    Traceback (most recent call last):
    manometer.errors.RecycleError: nowhere.bin: ...
    """


class ImportFileError(ManometerError):
    """A file of another tool does not have the expected format.

    >>> manometer.importing.ycsb("nowhere.txt", out="recording")
    Traceback (most recent call last):
    manometer.errors.ImportFileError: nowhere.txt: No such file or directory (os error 2)
    """


class ChartError(ManometerError):
    """A chart cannot be drawn from these rows.

    >>> manometer.plot.cache_curves([{"policy": "lru"}])
    Traceback (most recent call last):
    manometer.errors.ChartError: cache-curves: a row has no ...
    """


class DamagedTraceWarning(UserWarning):
    """A trace is damaged: the result covers the requests before the damage.

    >>> import warnings
    >>> from pathlib import Path
    >>> _ = Path("trace.csv").write_text("time_s,key,op\\n1,7,get\\nsoon,8,get\\n")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     len(manometer.trace.open("trace.csv").head())
    1
    >>> caught[0].category.__name__
    'DamagedTraceWarning'
    """
