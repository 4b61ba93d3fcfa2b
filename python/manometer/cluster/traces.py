"""A trace in many files: hosts of a cluster decode them, and the answer is that of one machine.

Each host turns files into compact parts, which are kept in `scratch`. This machine reads the parts in the order of the
files with the same program as one file, so the answer is the same to the last bit. The capacities of a simulation are
divided over the hosts, since each is simulated alone.
"""

# Dask and fsspec are only partly typed.
# pyright: basic
from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from distributed import Client, as_completed, get_worker
from distributed.scheduler import KilledWorker

from manometer._program import command, program
from manometer.cluster import storage
from manometer.cluster.connection import check_versions, connect, gone, hosts_of
from manometer.cluster.host import this_host, version, version_resource
from manometer.errors import ClusterError, ManometerError

VERBS = (("trace", "characterise"), ("cache", "curve"), ("cache", "simulate"))
_SIMULATE = ("cache", "simulate")
# Flags that say how a file is read; they concern its decoding, and the compact parts have none.
_FORM = ("--input-format", "--columns", "--delimiter", "--time-unit")
# Flags that name new files.
_OUTPUTS = ("--chart", "--parquet")
# Formats that number devices as they appear in a file.
_NUMBERED = ("blkparse", "msr")


@dataclass(frozen=True)
class Part:
    """A file of a trace, and the compact part made from it.

    Attributes:
        url: the file.
        home: the compact part.
        form: the flags that say how the file is read.
        is_alone: whether it is the whole trace.
    """

    url: str
    home: str
    form: tuple[str, ...]
    is_alone: bool = False


@dataclass(frozen=True)
class Simulation:
    """Some capacities of a simulation.

    Attributes:
        parts: the compact parts of the trace.
        flags: the flags of `cache simulate` without `--capacity` and `--format`.
        capacities: the capacities as written.
    """

    parts: tuple[str, ...]
    flags: tuple[str, ...]
    capacities: tuple[str, ...]


def read(
    inputs: Sequence[str],
    words: Sequence[str],
    *,
    scratch: str | None = None,
    scheduler: str | None = None,
    local: int | None = None,
    security: str | PathLike[str] | None = None,
) -> int:
    """Characterises a trace in many files, or computes its curves or simulations, and prints the result.

    Args:
        inputs: its files in order: paths, patterns, and URLs that fsspec knows, such as `s3://traces/day-*.csv.zst`.
        words: the verb and its flags, such as `cache curve --policy lru,arc`.
        scratch: a directory or URL for the compact parts, the same for all hosts; parts that are there are used again.
            By default a temporary directory, for processes on this machine only.
        scheduler: the address of the cluster's scheduler.
        local: instead of it, a cluster of this many processes on this machine.
        security: the directory of the cluster's certificates.

    Returns:
        The exit status of the program.

    Raises:
        ClusterError: a file is missing, damaged or not allowed, or the request makes no sense.
    """
    verb = tuple(words[:2])
    if verb not in VERBS:
        known = ", ".join(" ".join(one) for one in VERBS)
        raise ClusterError(f"`{' '.join(verb)}` cannot be divided over hosts: what can is {known}")
    form, flags = _split(words[2:])
    if "--help" in flags:
        return subprocess.run([program(), *verb, "--help"]).returncode
    _check_flags(verb, flags)
    name, flags = _take(flags, "--name")
    with connect(scheduler, local=local, security=security) as client, _scratch(scratch, local) as home:
        check_versions(hosts_of(client))
        urls = storage.expand(inputs)
        parts = [Part(url, f"{home}/{_name(url, form)}.parquet", form, len(urls) == 1) for url in urls]
        _decode_all(client, parts)
        homes = tuple(part.home for part in parts)
        if verb == _SIMULATE:
            return _simulate(client, homes, flags, name or _title(urls))
        with tempfile.TemporaryDirectory(prefix="manometer-") as folder:
            paths = storage.fetch(homes, Path(folder))
            return subprocess.run([program(), *verb, *paths, *flags, "--name", name or _title(urls)]).returncode


def _split(flags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The flags that say how a file is read, and the others."""
    form: list[str] = []
    others: list[str] = []
    left = iter(flags)
    for flag in left:
        if flag in _FORM:
            form += [flag, next(left, "")]
        else:
            (form if flag.partition("=")[0] in _FORM else others).append(flag)
    return tuple(form), tuple(others)


def _check_flags(verb: tuple[str, ...], flags: tuple[str, ...]) -> None:
    """Refuses flags that the verb does not know, before anything is decoded: tries them on a trace of one request.

    Raises:
        ClusterError: the program's own words.
    """
    for name in _OUTPUTS:
        _, flags = _take(flags, name)
    with tempfile.TemporaryDirectory(prefix="manometer-") as folder:
        Path(folder, "one.csv").write_text("time_ms,key,op,value_size\n1,a,get,1\n")
        words = [program(), *verb, "one.csv", *flags]
        tried = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if tried.stderr.startswith("error:"):
        raise ClusterError(tried.stderr.removeprefix("error:").strip())


@contextmanager
def _scratch(scratch: str | None, local: int | None) -> Iterator[str]:
    if scratch is not None:
        yield storage.absolute(scratch)
    elif local is None:
        raise ClusterError(
            "name a directory or URL that all hosts reach, for the decoded trace: --scratch s3://bucket/scratch"
        )
    else:
        with tempfile.TemporaryDirectory(prefix="manometer-") as folder:
            yield folder


def _name(url: str, form: tuple[str, ...]) -> str:
    """A name that changes with the file, with how it is read, and with the version."""
    text = json.dumps([url, storage.state(url), form, version()])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _title(urls: Sequence[str]) -> str:
    return urls[0] if len(urls) == 1 else f"{urls[0]} and {len(urls) - 1} more"


def _decode_all(client: Client, parts: list[Part]) -> None:
    for number, _ in enumerate(results_of(client, decode, parts), 1):
        say(f"decoded {number} of {len(parts)} files")


def results_of(client: Client, work: Any, orders: Sequence[Any]) -> Iterator[tuple[int, Any]]:
    """Has hosts do the orders: the number and the result of each as it ends.

    Raises:
        ClusterError: one failed.
    """
    futures = client.map(work, orders, pure=False, resources={version_resource(): 1})
    numbers = {future.key: number for number, future in enumerate(futures)}
    try:
        for future in as_completed(futures, loop=client.loop):
            if future.status == "cancelled":
                raise gone()
            error = future.exception()
            if isinstance(error, KilledWorker):
                raise ClusterError(f"{orders[numbers[future.key]]}: the host's process died several times", 1)
            if isinstance(error, ManometerError):
                raise error
            yield numbers[future.key], future.result()
    finally:
        client.cancel(futures)


def decode(part: Part) -> None:
    """Makes the compact part of a file, unless it is there."""
    host = this_host()
    if refusals := host.rules.url_refusals([part.url, part.home]):
        raise ClusterError(f"{host.name}: {'; '.join(refusals)}")
    if storage.exists(part.home):
        return
    with tempfile.TemporaryDirectory(prefix="manometer-", dir=get_worker().local_directory) as folder:
        (path,) = storage.fetch([part.url], Path(folder))
        out = Path(folder, "part.parquet")
        try:
            made = command("trace", "convert", path, out, "--no-key-texts", *part.form)
        except ManometerError as error:
            raise ClusterError(f"{part.url}: {error}".replace(path, part.url), 1) from error
        if made["from"] in _NUMBERED and not part.is_alone:
            raise ClusterError(
                f"{part.url}: {made['from']} names devices, which are numbered in the order of each file: parts "
                "would not agree; join the files"
            )
        storage.put(out, part.home)


def _simulate(client: Client, parts: tuple[str, ...], flags: tuple[str, ...], title: str) -> int:
    capacities, flags = _take(flags, "--capacity")
    form, flags = _take(flags, "--format")
    wanted = capacities.split(",") if capacities else []
    if not all(wanted) or not wanted:
        raise ClusterError("`cache simulate` needs --capacity, such as --capacity 1000,2000")
    count = min(len(wanted), len(hosts_of(client)))
    groups = [tuple(wanted[first::count]) for first in range(count)]
    orders = [Simulation(parts, flags, group) for group in groups]
    found = dict(results_of(client, simulate, orders))
    document = _merge([found[number] for number in range(len(groups))], groups, wanted)
    print(json.dumps(document, indent=2) if form == "json" else _text(document, wanted, title))
    return 0


def _take(flags: tuple[str, ...], name: str) -> tuple[str | None, tuple[str, ...]]:
    """The values of a flag, separated by commas, and the other flags."""
    values: list[str] = []
    others: list[str] = []
    left = iter(flags)
    for flag in left:
        if flag == name:
            values.append(next(left, ""))
        elif flag.startswith(f"{name}="):
            values.append(flag.removeprefix(f"{name}="))
        else:
            others.append(flag)
    return (",".join(values) if values else None), tuple(others)


def simulate(order: Simulation) -> dict[str, Any]:
    """Simulates some capacities on the whole trace."""
    host = this_host()
    if refusals := host.rules.url_refusals(order.parts):
        raise ClusterError(f"{host.name}: {'; '.join(refusals)}")
    with tempfile.TemporaryDirectory(prefix="manometer-", dir=get_worker().local_directory) as folder:
        paths = storage.fetch(order.parts, Path(folder))
        return command("cache", "simulate", *paths, *order.flags, "--capacity", ",".join(order.capacities))


def _merge(documents: list[dict[str, Any]], groups: list[tuple[str, ...]], wanted: list[str]) -> dict[str, Any]:
    """The document of all capacities: policy by policy, each with the capacities as they were named."""
    policies = len(documents[0]["results"]) // len(groups[0])
    results = []
    for policy in range(policies):
        for number in range(len(wanted)):
            group, place = number % len(groups), number // len(groups)
            results.append(documents[group]["results"][policy * len(groups[group]) + place])
    return {**documents[0], "results": results}


def _text(document: dict[str, Any], wanted: list[str], title: str) -> str:
    results = document["results"]
    lines = [f"{title}: {results[0]['requests']} requests for {document['keys']} keys"]
    rows = [["miss ratio", *wanted]]
    for first in range(0, len(results), len(wanted)):
        ratios = [one["miss_ratio"] for one in results[first : first + len(wanted)]]
        rows.append([results[first]["policy"], *("–" if ratio is None else f"{ratio:.4f}" for ratio in ratios)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(wanted) + 1)]
    for name, *ratios in rows:
        cells = [name.ljust(widths[0]), *(text.rjust(width) for text, width in zip(ratios, widths[1:], strict=True))]
        lines.append("  ".join(cells))
    lines += [f"left out: {count} {what.replace('_', ' ')}" for what, count in document["left_out"].items() if count]
    return "\n".join(lines)


def say(text: str) -> None:
    """Reports the progress of the work to the user."""
    print(text, file=sys.stderr, flush=True)
