"""An archive of results of other tools, imported file by file on the hosts of a cluster."""

# Dask is only partly typed.
# pyright: basic
from __future__ import annotations

import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from distributed import get_worker

from manometer import _native
from manometer._program import command
from manometer.cluster import storage
from manometer.cluster.connection import check_versions, connect, hosts_of
from manometer.cluster.host import this_host
from manometer.cluster.traces import results_of, say
from manometer.errors import ClusterError, ManometerError

# The tools that write a run into one file. A run of any other comes from several files, which are read together.
FORMATS = ("storiks", "db_bench", "resctl-bench")


@dataclass(frozen=True)
class ImportOrder:
    """A file to import.

    Attributes:
        url: the file.
        format: the tool that wrote it.
    """

    url: str
    format: str


def import_files(
    format: str,
    inputs: Sequence[str],
    out: str | PathLike[str],
    *,
    scheduler: str | None = None,
    local: int | None = None,
    security: str | PathLike[str] | None = None,
) -> None:
    """Imports files of another tool as recordings in `out`: those of `manometer import` on one machine.

    Args:
        format: the tool, one of `FORMATS`.
        inputs: its files: paths, patterns, and URLs that fsspec knows.
        out: the directory of the recordings; new or empty.
        scheduler: the address of the cluster's scheduler.
        local: instead of it, a cluster of this many processes on this machine.
        security: the directory of the cluster's certificates.

    Raises:
        ClusterError: a file is missing, is not of the tool or not allowed, or `out` is not empty; nothing is in `out`.
    """
    out = Path(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ClusterError(f"{out} exists and is not empty: choose another directory for the recordings")
    with connect(scheduler, local=local, security=security) as client:
        check_versions(hosts_of(client))
        urls = storage.expand(inputs)
        orders = [ImportOrder(url, format) for url in urls]
        part = out.with_name(f".{out.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        try:
            for number, (index, archive) in enumerate(results_of(client, import_one, orders), 1):
                _extract(archive, part if len(urls) == 1 else part / "runs" / f"{index + 1:03}")
                say(f"imported {number} of {len(urls)} files")
            if len(urls) > 1:
                _set_sweep(sorted((part / "runs").iterdir()))
            if out.is_dir():
                out.rmdir()
            part.rename(out)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    command("report", out)


def import_one(order: ImportOrder) -> bytes:
    """Imports a file on this host; the recording as a tar file."""
    host = this_host()
    if refusals := host.rules.url_refusals([order.url]):
        raise ClusterError(f"{host.name}: {'; '.join(refusals)}")
    with tempfile.TemporaryDirectory(prefix="manometer-", dir=get_worker().local_directory) as folder:
        (path,) = storage.fetch([order.url], Path(folder))
        out = Path(folder, "recording")
        try:
            command("import", order.format, path, "--out", out)
        except ManometerError as error:
            raise ClusterError(f"{order.url}: {error}".replace(path, order.url), 1) from error
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz", compresslevel=1) as tar:
            tar.add(out, arcname=".")
        return archive.getvalue()


def _extract(archive: bytes, home: Path) -> None:
    home.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        # Refuses links and paths that lead out of the directory.
        tar.extractall(home, filter="data")


def _set_sweep(recordings: list[Path]) -> None:
    """Records the settings that differ between the recordings as those of a sweep."""

    def read(path: Path) -> dict[str, Any]:
        return json.loads(path.read_text(encoding="utf-8"))

    settings = [read(recording / "environment.json")["imported"]["settings"] for recording in recordings]
    names = sorted({name for own in settings for name in own})
    differing = [name for name in names if any(own.get(name) != settings[0].get(name) for own in settings)]
    for recording, own in zip(recordings, settings, strict=True):
        plan = read(recording / "plan.json")
        plan["sweep"] = {name: own[name] for name in differing if name in own}
        text = json.dumps(plan, indent=2, ensure_ascii=False) + "\n"
        _native.write_document(recording, "plan.json", text)
