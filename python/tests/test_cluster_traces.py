"""Traces in many files over a cluster: the answers of one machine, an S3 server on the loopback address, faults."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hosts import PATIENCE_S, Processes, until
from manometer._program import program
from scene import real_data

pytestmark = pytest.mark.usefixtures("needs_program")

VERBS = [
    "trace characterise",
    "cache curve --policy lru,arc,s3-fifo --rate 0.5",
    "cache curve --policy lru --size-aware --working-set",
    "cache simulate --policy lru,lecar,sieve --capacity 3,7,10,30",
    "cache simulate --policy gdsf --capacity 1KiB,2KiB --size-aware",
]


def write_parts(home: Path, count: int, requests: int) -> list[str]:
    """A trace in so many files; the keys repeat with growing distances."""
    home.mkdir()
    paths: list[str] = []
    for part in range(count):
        numbers = range(part * requests, (part + 1) * requests)
        lines = [f"{one * 3},key-{one * one % 211},get,{one % 50 + 1}\n" for one in numbers]
        path = home / f"part-{part:03}.csv"
        path.write_text("".join(["time_ms,key,op,value_size\n", *lines]))
        paths.append(str(path))
    return paths


def on_one_machine(verb: str, paths: list[str]) -> dict[str, Any]:
    words = verb.split()
    return json.loads(subprocess.check_output([program(), *words[:2], *paths, *words[2:], "--format", "json"]))


def over_a_cluster(verb: str, files: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "manometer.cluster", "trace", *files, *words, "--", *verb.split()]
    return subprocess.run([*command, "--format", "json"], capture_output=True, text=True)


def assert_same(done: subprocess.CompletedProcess[str], expected: dict[str, Any]) -> None:
    """The documents are equal to the last bit of each number; only the format is that of the decoded parts."""
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if "format" in expected:
        assert (found.pop("format"), expected.pop("format")) == ("parquet", "csv")
    assert found == expected


def of(processes: Processes) -> list[str]:
    return ["--scheduler", processes.address, "--security", str(processes.certificates)]


def start_hosts(processes: Processes, *directories: Path | str) -> None:
    file = processes.home / "host.toml"
    file.write_text(f"directories = {json.dumps([str(one) for one in directories])}\n")
    for name in ("a", "b"):
        processes.host(name, "--rules", str(file))


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """A bucket of an S3 server; the processes started after it find it by their environment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (tmp_path / "s3.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            until(lambda: _answers(port))
            fsspec.filesystem("s3", skip_instance_cache=True).mkdir("traces")
            yield "s3://traces"
        finally:
            server.terminate()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("verb", VERBS)
def test_parts_on_local_processes_give_the_answer_of_one_machine(tmp_path: Path, verb: str) -> None:
    paths = write_parts(tmp_path / "parts", 5, 800)
    assert_same(over_a_cluster(verb, [f"{tmp_path}/parts/part-*.csv"], "--local", "2"), on_one_machine(verb, paths))


def test_a_trace_in_s3_gives_the_answer_of_one_machine(processes: Processes, s3: str, tmp_path: Path) -> None:
    paths = write_parts(tmp_path / "parts", 4, 500)
    store = fsspec.filesystem("s3")
    for path in paths:
        store.put_file(path, f"traces/days/{Path(path).name}")
    start_hosts(processes, f"{s3}/days", f"{s3}/scratch")
    words = ["--scratch", f"{s3}/scratch", *of(processes)]
    for verb in VERBS:
        assert_same(over_a_cluster(verb, [f"{s3}/days/*.csv"], *words), on_one_machine(verb, paths))
    assert len(store.ls("traces/scratch", refresh=True)) == len(paths), "parts are decoded once"
    done = over_a_cluster(VERBS[0], [f"{s3}/other/*.csv"], *words)
    assert done.returncode == 2 and "no file has such a name" in done.stderr
    done = over_a_cluster(VERBS[0], [f"{s3}/days/*.csv"], "--scratch", f"{s3}/elsewhere", *of(processes))
    assert done.returncode == 2 and f"{s3}/elsewhere" in done.stderr and "not below `directories`" in done.stderr


def test_odd_names_flags_and_formats(tmp_path: Path) -> None:
    (path,) = write_parts(tmp_path / "parts", 1, 100)
    odd = tmp_path / "parts" / "a [1].csv"
    Path(path).rename(odd)
    (tmp_path / "parts" / "a 1.csv").write_text("time_ms,key,op,value_size\n1,a,get,1\n")
    done = over_a_cluster("cache simulate --policy lru --capacity 5 --capacity=20", [str(odd)], "--local", "1")
    assert_same(done, on_one_machine("cache simulate --policy lru --capacity 5,20", [str(odd)]))
    for number in (1, 2):
        line = f"12816637200306137{number},host,{number},Read,{4096 * number},4096,100\n"
        (tmp_path / f"disk-{number}.csv").write_text(line)
    disks = [str(tmp_path / f"disk-{number}.csv") for number in (1, 2)]
    done = over_a_cluster("trace characterise --input-format msr", disks, "--local", "1")
    assert done.returncode == 2 and "join the files" in done.stderr, done.stderr
    words = ["trace", "characterise", *disks, "--input-format", "msr"]
    done = subprocess.run([program(), *words], capture_output=True, text=True)
    assert done.returncode == 2 and "join the files" in done.stderr, done.stderr


def test_decoded_parts_are_used_again_unless_their_file_has_changed(tmp_path: Path) -> None:
    paths = write_parts(tmp_path / "parts", 3, 100)
    words = ["--local", "1", "--scratch", str(tmp_path / "scratch")]
    for _ in range(2):
        assert_same(over_a_cluster(VERBS[0], paths, *words), on_one_machine(VERBS[0], paths))
        assert len(list((tmp_path / "scratch").iterdir())) == 3
    with Path(paths[1]).open("a") as part:
        part.write("900000,key-1,get,5\n")
    assert_same(over_a_cluster(VERBS[0], paths, *words), on_one_machine(VERBS[0], paths))
    assert len(list((tmp_path / "scratch").iterdir())) == 4


def test_a_host_that_dies_while_it_decodes_changes_nothing(processes: Processes, tmp_path: Path) -> None:
    paths = write_parts(tmp_path / "parts", 30, 100)
    start_hosts(processes, tmp_path)
    command = [sys.executable, "-m", "manometer.cluster", "trace", *paths, "--scratch", str(tmp_path / "scratch")]
    command += [*of(processes), "--", "cache", "simulate", "--policy", "lru", "--capacity", "5,50", "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as client:
        assert client.stderr is not None and client.stderr.readline() == "decoded 1 of 30 files\n"
        processes.worker("a").kill()
        out, errors = client.communicate(timeout=PATIENCE_S)
    done = subprocess.CompletedProcess(command, client.returncode, out, errors)
    assert_same(done, on_one_machine("cache simulate --policy lru --capacity 5,50", paths))


def test_files_that_are_damaged_missing_or_not_allowed_are_named(processes: Processes, tmp_path: Path) -> None:
    paths = write_parts(tmp_path / "parts", 3, 50)
    start_hosts(processes, tmp_path / "parts", tmp_path / "scratch")
    words = ["--scratch", str(tmp_path / "scratch"), *of(processes)]

    def refused(status: int, files: list[str], *words: str) -> str:
        done = over_a_cluster("trace characterise", files, *words)
        assert (done.returncode, done.stdout) == (status, ""), done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr

    with Path(paths[1]).open("a") as part:
        part.write("x,key-1,get,5\n")
    assert re.search(r"part-001\.csv: .*damaged csv trace .*\(line 52\)", refused(1, paths, *words))
    assert "no-such.csv does not exist" in refused(2, [*paths, str(tmp_path / "no-such.csv")], *words)
    outside = write_parts(tmp_path / "outside", 1, 50)
    assert "part-000.csv is not below `directories`" in refused(2, outside, *words)
    assert "--scratch" in refused(2, paths, *of(processes))
    assert "no://file" in refused(2, ["no://file"], *words)
    done = over_a_cluster("trace convert", paths, *words)
    assert done.returncode == 2 and "what can is trace characterise" in done.stderr
    done = over_a_cluster("cache simulate --policy lru", paths[:1], *words)
    assert done.returncode == 2 and "--capacity" in done.stderr
    assert os.listdir(tmp_path / "scratch")


def test_an_archive_of_results_is_the_import_of_one_machine(processes: Processes, tmp_path: Path) -> None:
    archive = real_data("storiks/pressure1")
    files = sorted(str(path) for path in archive.iterdir() if ".out" in path.name)[:4]
    start_hosts(processes, archive)
    command = [sys.executable, "-m", "manometer.cluster", "import", "storiks", *files, "--out", str(tmp_path / "many")]
    done = subprocess.run([*command, *of(processes)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    subprocess.run([program(), "import", "storiks", *files, "--out", tmp_path / "one"], check=True, capture_output=True)
    ours, theirs = (sorted((tmp_path / name / "runs").rglob("*")) for name in ("many", "one"))
    assert [path.relative_to(tmp_path / "many") for path in ours] == [
        path.relative_to(tmp_path / "one") for path in theirs
    ]
    for own, other in zip(ours, theirs, strict=True):
        # The plan is written twice on a cluster, and each version of a file has its checksum.
        if own.suffix in (".json", ".jsonl", ".parquet", ".toml") and own.name != "checksums.jsonl":
            assert own.read_bytes() == other.read_bytes(), own
    assert json.loads((tmp_path / "many" / "runs" / "001" / "plan.json").read_text())["sweep"]
    again = subprocess.run([*command, *of(processes)], capture_output=True, text=True)
    assert again.returncode == 2 and "is not empty" in again.stderr
    (wrong := tmp_path / "wrong.out").write_text("nothing of the kind")
    words = ["import", "storiks", str(wrong), "--local", "1", "--out", str(tmp_path / "other")]
    done = subprocess.run([sys.executable, "-m", "manometer.cluster", *words], capture_output=True, text=True)
    assert done.returncode == 1 and "wrong.out" in done.stderr and not (tmp_path / "other").exists()
