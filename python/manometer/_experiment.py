"""Experiments, given as a file, a text or a dictionary, and run by the program `manometer`."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import subprocess
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from queue import SimpleQueue
from threading import Thread, get_ident
from types import TracebackType
from typing import IO, Any, cast

from manometer import _native, _recording
from manometer._program import DONE, WRONG, command, program
from manometer._progress import Progress
from manometer._recording import Recording, Recordings
from manometer.errors import ExperimentError, ProgramError
from manometer.events import Event, Failed, Note, parse

# How long a stopped run may take to complete its recording, in seconds.
_STOPPING_S = 60.0
# How many of the program's last messages an error quotes.
_WORDS = 30


class Experiment:
    """An experiment: primary, neighbours, device, plan and sweep (docs/experiment.md).

    >>> experiment = manometer.Experiment(
    ...     {
    ...         "name": "short",
    ...         "interval": "100ms",
    ...         "device": {"directory": "data"},
    ...         "primary": {"engine": "null", "workload": "ycsb-b", "records": 1000},
    ...     },
    ...     changes={"plan.phase": "1s"},
    ... )
    >>> experiment.plan()["runs"][0]["plan"]["phases"][0]["id"]
    'w0'
    >>> experiment.run("recording", progress=False).status
    'complete'
    """

    def __init__(
        self, source: str | PathLike[str] | Mapping[str, Any], *, changes: Mapping[str, Any] | None = None
    ) -> None:
        """Creates an experiment. `plan` and `run` check it.

        Args:
            source: the path of a file; TOML text of more than one line; or a dictionary. Paths in a text or a
                dictionary are relative to the current directory.
            changes: changed values, as with `--set`: `{"plan.phase": "5s"}`.

        Raises:
            ExperimentError: the dictionary has values that TOML cannot represent.
        """
        self._path = None if isinstance(source, Mapping) or _is_text(source) else Path(source)
        if isinstance(source, Mapping):
            self._text = _native.toml_of_json(_json(source))
        else:
            self._text = str(source)
        self._changes = dict(changes or {})

    @property
    def text(self) -> str:
        """The experiment in TOML, without the changes.

        Raises:
            ExperimentError: the file cannot be read.
        """
        if self._path is None:
            return self._text
        try:
            return self._path.read_text()
        except OSError as error:
            raise ExperimentError(f"{self._path}: {error.strerror}") from error

    def plan(self, *, write_speed: str | None = None, elsewhere: bool = False) -> dict[str, Any]:
        """Returns the plan: the runs, their duration and the bytes to write. Starts nothing.

        Args:
            write_speed: the device's write throughput, such as `500MiB/s`; limits the estimate of what workloads write.
            elsewhere: the runs are for other hosts; what this host cannot do is not checked.

        Returns:
            The JSON document of `manometer run --dry-run`: `runs`, each with `plan`, `duration_s` and
            `bytes_to_prepare`, and the total bytes to write.

        Raises:
            ExperimentError: the experiment is invalid; the text names the line and what would be right.
            ProgramError: the program is missing.
        """
        options = [*([] if write_speed is None else ["--write-speed", write_speed]), *(["--elsewhere"] * elsewhere)]
        with self._file() as path:
            try:
                return command("run", path, *self._sets(), "--dry-run", *options)
            except ProgramError as error:
                raise _wrong(error) from None

    def run(
        self, out: str | PathLike[str], *, reuse: bool = False, resume: bool = False, progress: bool = True
    ) -> Recording | Recordings:
        """Runs the experiment to its end.

        Args:
            out: the directory of the recording, or of the sweep's recordings; created, or empty.
            reuse: use suitable databases and files of another experiment.
            resume: continue in `out` with the first run that is not complete.
            progress: show a progress bar, if the extra `[progress]` is installed.

        Returns:
            The recording, or the recordings of a sweep.

        Raises:
            ExperimentError: the experiment is invalid, or impossible on this host; nothing was started.
            ProgramError: the program is missing, or a workload failed; the recording so far is in `out`.
        """
        with self.start(out, reuse=reuse, resume=resume, progress=progress) as run:
            for _ in run:
                pass
        return run.recording

    def start(
        self,
        out: str | PathLike[str],
        *,
        reuse: bool = False,
        resume: bool = False,
        replace: bool = False,
        wait: bool = False,
        progress: bool = True,
    ) -> Run:
        """Runs the experiment during a `with` block, which receives its events. Arguments as in `run`, and:

        Args:
            replace: replace databases and files of other experiments in the device directory of a single run.
            wait: wait until no other run uses the disk, instead of raising an error.

        ```python
        with experiment.start("results/live") as run:
            for event in run:
                if isinstance(event, manometer.events.Sample):
                    print(event.workload, event.rate, event.unit)
        recording = run.recording
        ```

        Leaving the block before the end stops the run; its recording is then interrupted.
        """
        options = [("--reuse", reuse), ("--resume", resume), ("--replace", replace), ("--wait", wait)]
        return Run(self, Path(out), [option for option, is_given in options if is_given], progress)

    @contextmanager
    def _file(self) -> Generator[Path, None, None]:
        if self._path is not None:
            yield self._path.absolute()
            return
        # In the current directory, so that relative paths in it work. The same text has the same name, by which
        # `resume` recognises it. Several runs may use it, also of other processes: the last one removes it.
        path = Path(f".manometer-{hashlib.sha256(self._text.encode()).hexdigest()[:12]}.toml").absolute()
        held = _hold(path, self._text)
        try:
            yield path
        finally:
            with suppress(BlockingIOError):
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
            os.close(held)

    def _sets(self) -> list[str]:
        return [word for key, value in self._changes.items() for word in ("--set", f"{key}={_value(value)}")]

    def __repr__(self) -> str:
        """Shows the file, or the length of the text."""
        return f"<manometer.Experiment: {self._path or f'{len(self._text.splitlines())} lines'}>"


class Run:
    """A run in progress, within its `with` block.

    >>> recording = manometer.demo()
    >>> experiment = manometer.Experiment(
    ...     {
    ...         "name": "short",
    ...         "interval": "100ms",
    ...         "device": {"directory": "data"},
    ...         "primary": {"engine": "null", "workload": "ycsb-b", "records": 1000},
    ...         "plan": {"phase": "1s"},
    ...     }
    ... )
    >>> with experiment.start("recording", progress=False) as run:
    ...     phases = [event.id for event in run if isinstance(event, manometer.events.PhaseBegun)]
    >>> phases
    ['w0']
    """

    def __init__(self, experiment: Experiment, out: Path, options: Sequence[str], progress: bool) -> None:
        """Created by `Experiment.start`."""
        self._experiment = experiment
        self._out = out
        self._options = list(options)
        self._progress = Progress() if progress else None
        self._process: subprocess.Popen[str] | None = None
        self._lines: SimpleQueue[str | None] = SimpleQueue()
        self._words: deque[str] = deque(maxlen=_WORDS)
        self._has_ended = False
        self._is_stopped = False

    @property
    def recording(self) -> Recording | Recordings:
        """The recording so far.

        Raises:
            RecordingError: there is none yet.
        """
        return _recording.open(self._out)

    def __enter__(self) -> Run:
        """Starts the program."""
        found, sets = program(), self._experiment._sets()
        self._out = self._out.absolute()
        self._file = self._experiment._file()
        path = self._file.__enter__()
        words = [found, "run", os.fspath(path), "--out", os.fspath(self._out), "--progress", "json"]
        try:
            # A separate session: an interrupt at the keyboard ends the block, which then ends the run once.
            self._process = subprocess.Popen(
                [*words, *sets, *self._options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            self._file.__exit__(None, None, None)
            raise ProgramError(f"{found}: {error.strerror}") from error
        # A thread reads the program's output at once, however slow the block is: a full pipe would stop the run.
        Thread(target=_read_lines, args=(cast("IO[str]", self._process.stderr), self._lines), daemon=True).start()
        return self

    def __iter__(self) -> Iterator[Event]:
        """The events, until the run ends.

        Raises:
            ExperimentError: the run was not started by a `with` block.
        """
        if self._process is None:
            raise ExperimentError(
                "read a run's events within its block: with experiment.start(...) as run: for event in run: …"
            )
        while not self._has_ended:
            line = self._lines.get()
            if line is None:
                self._has_ended = True
                return
            event = parse(line.rstrip("\n"))
            self._keep(event)
            if self._progress is not None:
                self._progress.show(event)
            yield event

    def _keep(self, event: Event) -> None:
        match event:
            case Note(text):
                self._words.append(text)
            case Failed(workload, text):
                self._words.append(f"{workload} failed: {text}")
            case _:
                pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops the run if it still runs, and waits until its recording is complete.

        Raises:
            ExperimentError: the experiment is invalid; nothing was started.
            ProgramError: the run failed.
        """
        try:
            status = self._end()
        finally:
            self._file.__exit__(None, None, None)
            if self._progress is not None:
                self._progress.close()
        if kind is not None or self._is_stopped or status == DONE:
            return
        text = "\n".join(self._words).strip() or f"manometer ended with status {status}"
        raise _wrong(ProgramError(text, status))

    def stop(self, *, at_once: bool = False) -> None:
        """Interrupts the run, which completes its recording; its events then end. Any thread may call this.

        Args:
            at_once: kill it instead; its recording remains incomplete.
        """
        if self._process is not None and self._process.poll() is None:
            self._is_stopped = True
            self._process.send_signal(signal.SIGKILL if at_once else signal.SIGINT)

    def _end(self) -> int | None:
        """Ends the program by an interrupt, so that it completes its recording; kills it if that takes too long."""
        process = self._process
        if process is None:
            return None
        if not self._has_ended:
            self.stop()
        try:
            process.wait(timeout=_STOPPING_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self._is_stopped = False
            self._words.append(f"manometer did not end within {_STOPPING_S:.0f} s of an interrupt, and was killed")
        while not self._has_ended and (line := self._lines.get()) is not None:
            self._keep(parse(line.rstrip("\n")))
        return process.returncode


def _read_lines(stderr: IO[str], lines: SimpleQueue[str | None]) -> None:
    with stderr:
        for line in stderr:
            lines.put(line)
    lines.put(None)


def _wrong(error: ProgramError) -> ExperimentError | ProgramError:
    return ExperimentError(str(error)) if error.status == WRONG else error


def _is_text(source: str | PathLike[str]) -> bool:
    return isinstance(source, str) and "\n" in source


def _json(source: Any) -> str:
    try:
        return json.dumps(source)
    except TypeError as error:
        raise ExperimentError(f"not an experiment: {error}") from error


def _value(value: Any) -> str:
    if isinstance(value, PathLike):
        value = os.fspath(cast("PathLike[str]", value))
    if value is None or isinstance(value, Mapping):
        raise ExperimentError(f"changes have {value!r}: a change is a text, a number, a flag or a list of them")
    return value if isinstance(value, str) else _json(value)


def _hold(path: Path, text: str) -> int:
    """The descriptor of the file, made where it is missing, with a lock that all who use it share."""
    part = path.with_suffix(f".{os.getpid()}-{get_ident()}")
    while True:
        part.write_text(text, encoding="utf-8")
        with suppress(FileExistsError):
            os.link(part, path)
        part.unlink()
        with suppress(FileNotFoundError):
            held = os.open(path, os.O_RDONLY)
            fcntl.flock(held, fcntl.LOCK_SH)
            # Whoever used it before may have removed it while we waited for the lock.
            if path.exists() and os.path.samestat(os.fstat(held), path.stat()):
                return held
            os.close(held)
