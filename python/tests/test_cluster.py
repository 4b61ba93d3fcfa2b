"""Clusters: real schedulers and hosts on the loopback address, their faults, and what comes home."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import manometer
import psutil
import pytest
from hosts import Processes, command_of, redis_cluster, until
from manometer import cluster
from manometer.cluster import rules, security, service
from manometer.errors import ClusterError
from scene import SHORT, skip

pytestmark = pytest.mark.usefixtures("needs_program")


def folder(path: Path) -> Path:
    path.mkdir()
    return path


def swept(*lines: str, text: str = SHORT) -> str:
    return "\n".join([text, "[sweep]", *lines, ""])


LONG = SHORT.replace('phase = "600ms"', 'phase = "5s"')
TWO = swept('"writer.block_size" = ["4KiB", "8KiB"]')


def hosts_of(recordings: Any) -> list[str]:
    return [environment(one)["cluster"]["host"] for one in recordings]


def environment(recording: manometer.Recording) -> dict[str, Any]:
    return json.loads((recording.path / "environment.json").read_text())


def test_a_sweep_on_local_processes_is_the_sweep_of_one_machine(tmp_path: Path) -> None:
    changes = {"device.directory": str(tmp_path / "data")}
    recordings = cluster.run(TWO, tmp_path / "out", local=2, changes=changes)
    assert [one.status for one in recordings] == ["complete", "complete"]
    assert hosts_of(recordings) == ["local-1", "local-1"], "the processes share the device: one runs at a time"
    assert (tmp_path / "out" / "report.html").exists()
    plan = manometer.Experiment(TWO, changes=changes).plan()
    for planned, recording in zip(plan["runs"], recordings, strict=True):
        written = json.loads((recording.path / "plan.json").read_text())
        assert [phase["id"] for phase in written["phases"]] == [phase["id"] for phase in planned["plan"]["phases"]]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "runs").rglob("samples/*")}
    cluster.run(TWO, tmp_path / "out", local=1, changes=changes, resume=True)
    assert before == {path: path.stat().st_mtime_ns for path in before}, "complete runs stay as they are"
    with pytest.raises(ClusterError, match="not empty"):
        cluster.run(TWO, tmp_path / "out", local=1, changes=changes)
    with pytest.raises(ClusterError, match="another experiment"):
        cluster.run(TWO, tmp_path / "out", local=1, changes=changes | {"plan.phase": "700ms"}, resume=True)


def test_each_run_goes_to_a_host_with_its_device_and_kernel(processes: Processes, tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d"):
        processes.host(name, "--device", f"disk-{name}={folder(tmp_path / name)}")
    release = ".".join(os.uname().release.split(".")[:2])
    text = swept('"device.name" = ["disk-b", "disk-d", "disk-a"]', f'"device.kernel" = ["{release}"]', "repeats = 2")
    recordings = processes.run(tmp_path / "out", text)
    assert hosts_of(recordings) == ["b", "b", "d", "d", "a", "a"]
    assert [one.status for one in recordings] == ["complete"] * 6
    directories = {environment(one)["directory"] for one in recordings}
    assert directories == {str(tmp_path / name / rules.SUBDIRECTORY) for name in "abd"}
    with pytest.raises(ClusterError, match=r"no host has the device disk-x .*a: disk-a, kernel"):
        processes.run(tmp_path / "x", swept('"device.name" = ["disk-a", "disk-x"]'))
    with pytest.raises(ClusterError, match=r"no host has a device to measure, the kernel 1\.0"):
        processes.run(tmp_path / "y", swept('"device.kernel" = ["1.0"]'))


def test_nothing_listens_beyond_what_was_asked(processes: Processes) -> None:
    processes.host("a")
    ours = [process.pid for process in processes.started.values()] + [processes.worker("a").pid]
    listening = [one for pid in ours for one in psutil.Process(pid).net_connections() if one.status == "LISTEN"]
    assert listening and {one.laddr.ip for one in listening} == {"127.0.0.1"}


def test_without_the_certificates_nobody_is_answered(processes: Processes, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="needs certificates"):
        cluster.run(SHORT, tmp_path / "out", scheduler=processes.address)
    others = cluster.initialise(tmp_path / "others")
    with pytest.raises(ClusterError, match="no scheduler answers"):
        cluster.run(SHORT, tmp_path / "out", scheduler=processes.address, security=others)
    with pytest.raises(ClusterError, match="needs certificates"):
        service.serve_scheduler("0.0.0.0:0")
    (processes.certificates / security.KEY).chmod(0o644)
    with pytest.raises(ClusterError, match="can be read by others"):
        processes.run(tmp_path / "out", SHORT)
    with pytest.raises(ClusterError, match="holds the certificates"):
        cluster.initialise(processes.certificates)


def begun(client: subprocess.Popen[str], run: str, host: str = "") -> str:
    """Waits until the client says that the run begins; returns its host."""
    assert client.stderr is not None
    for line in client.stderr:
        if found := re.match(rf"run {run} begins(?: again)? on ({host or '.*'}?)(:|$)", line):
            return found[1]
    raise AssertionError(f"run {run} never began")


def measuring(processes: Processes, host: str) -> psutil.Process:
    """The program on the host that runs an experiment, once it records."""

    def found() -> psutil.Process | None:
        for one in processes.worker(host).children(recursive=True):
            if "run" in command_of(one):
                return one
        return None

    return until(found)


@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGSTOP])
def test_a_run_of_a_host_that_dies_or_hangs_goes_to_another(
    processes: Processes, tmp_path: Path, signal_: signal.Signals
) -> None:
    for name in ("a", "b"):
        processes.host(name, "--device", f"disk={folder(tmp_path / name)}")
    client = processes.client(tmp_path / "out", swept('"device.name" = ["disk"]', text=LONG))
    first = begun(client, "001")
    measuring(processes, first)
    # The worker ends by itself once its guard is gone.
    worker = processes.worker(first)
    os.kill(processes.started[first].pid, signal_)
    with suppress(psutil.NoSuchProcess):
        worker.send_signal(signal_)
    _, rest = client.communicate()
    assert client.returncode == 0, rest
    worker.send_signal(signal.SIGCONT) if signal_ == signal.SIGSTOP else None
    (recording,) = manometer.open(tmp_path / "out")
    assert recording.status == "complete" and environment(recording)["cluster"]["host"] != first
    assert f"it was lost on {first}" in rest


def test_a_set_goes_on_after_its_scheduler_was_lost(processes: Processes, tmp_path: Path) -> None:
    processes.host("a", "--device", f"disk={folder(tmp_path / 'a')}")
    text = swept('"device.name" = ["disk"]', "repeats = 3", text=LONG.replace("5s", "2s"))
    client = processes.client(tmp_path / "out", text)
    begun(client, "002")
    processes.started["scheduler"].kill()
    processes.started["scheduler"].wait()
    assert "--resume" in client.communicate()[1] and client.returncode == 1
    kept = tmp_path / "out" / "runs" / "001" / "plan.json"
    before = kept.stat().st_mtime_ns
    processes.scheduler(processes.address.rpartition(":")[2])
    with cluster.connect(processes.address, security=processes.certificates) as connected:
        until(lambda: cluster.hosts_of(connected))
    recordings = processes.run(tmp_path / "out", text, resume=True)
    assert [one.status for one in recordings] == ["complete"] * 3
    assert kept.stat().st_mtime_ns == before, "the first run was not repeated"


def test_a_run_that_reports_nothing_is_ended_and_told(processes: Processes, tmp_path: Path) -> None:
    processes.host("a", "--device", f"disk={folder(tmp_path / 'a')}")
    client = processes.client(tmp_path / "out", swept('"device.name" = ["disk"]', text=LONG), "--silence", "2")
    begun(client, "001")
    program = measuring(processes, "a")
    time.sleep(1)
    program.suspend()
    until(lambda: program.status() == psutil.STATUS_STOPPED)
    time.sleep(6)
    program.resume()
    _, errors = client.communicate()
    assert client.returncode == 1 and "reported nothing for" in errors and "--resume tries them again" in errors
    assert [path.name for path in (tmp_path / "out" / "set-aside").iterdir()] == ["001.failed-1"]


def test_an_interrupted_client_stops_its_runs_and_keeps_what_they_recorded(
    processes: Processes, tmp_path: Path
) -> None:
    processes.host("a", "--device", f"disk={folder(tmp_path / 'a')}")
    client = processes.client(tmp_path / "out", swept('"device.name" = ["disk"]', text=LONG))
    begun(client, "001")
    program = measuring(processes, "a")
    time.sleep(1.5)
    client.send_signal(signal.SIGINT)
    assert "interrupted" in client.communicate()[1] and client.returncode == 1
    assert not program.is_running()
    (aside,) = (tmp_path / "out" / "set-aside").iterdir()
    assert aside.name == "001.interrupted-1" and manometer.Recording(aside).status == "interrupted"


def test_the_runs_of_a_killed_client_end(processes: Processes, tmp_path: Path) -> None:
    processes.host("a", "--device", f"disk={folder(tmp_path / 'a')}")
    client = processes.client(tmp_path / "out", swept('"device.name" = ["disk"]', text=LONG.replace("5s", "10m")))
    begun(client, "001")
    program = measuring(processes, "a")
    client.kill()
    client.communicate()
    until(lambda: not program.is_running())


def test_two_experiments_take_turns_on_one_device(processes: Processes, tmp_path: Path) -> None:
    processes.host("a", "--device", f"disk={folder(tmp_path / 'a')}")
    outs = [tmp_path / "one", tmp_path / "two"]
    clients = [processes.client(out, swept('"device.name" = ["disk"]', "repeats = 2")) for out in outs]
    assert [client.communicate() and client.returncode for client in clients] == [0, 0]
    spans = sorted(_span(recording) for out in outs for recording in manometer.open(out))
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans)), spans


def _span(recording: manometer.Recording) -> tuple[int, int]:
    """When the recording began and ended, on the monotonic clock."""
    events = [json.loads(line) for line in (recording.path / "events.jsonl").read_text().splitlines()]
    times = [event["t_ns"] for event in events]
    return min(times), max(times)


def test_hosts_of_another_version_are_refused(processes: Processes, tmp_path: Path) -> None:
    stranger = _stranger(processes, {"manometer:0.0.1": 1, "device": 1})
    with stranger, pytest.raises(ClusterError, match=r"old has 0\.0\.1"):
        processes.run(tmp_path / "out", SHORT)


@contextmanager
def _stranger(processes: Processes, resources: dict[str, float]) -> Iterator[None]:
    """A Dask worker of those resources that no `manometer cluster host` started."""
    words = [f"{name}={amount}" for name, amount in resources.items()]
    tls = [
        f"--tls-{what}={processes.certificates / name}"
        for what, name in [("ca-file", security.AUTHORITY), ("cert", security.CERTIFICATE), ("key", security.KEY)]
    ]
    command = [str(Path(sys.executable).with_name("dask")), "worker", processes.address, "--name", "old", *tls]
    command += ["--resources", " ".join(words), "--no-dashboard", "--host", "127.0.0.1"]
    with ExitStack() as stack:
        worker = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        stack.callback(worker.wait)
        stack.callback(worker.terminate)
        with cluster.connect(processes.address, security=processes.certificates) as connected:
            until(lambda: cluster.hosts_of(connected))
        yield


def test_a_budget_holds_for_a_device_over_all_hosts(processes: Processes, tmp_path: Path) -> None:
    for name in ("a", "b"):
        processes.host(name, "--device", f"disk={folder(tmp_path / name)}")
    limited = SHORT.replace('directory = "data"', 'directory = "data"\nwrite_budget = "9MiB"')
    text = swept('"device.name" = ["disk"]', "repeats = 6", text=limited)
    with pytest.raises(ClusterError, match="write_budget"):
        processes.run(tmp_path / "out", text)
    assert len(list((tmp_path / "out" / "runs").iterdir())) < 6


def test_a_host_runs_what_its_operator_allows(processes: Processes, tmp_path: Path) -> None:
    file = tmp_path / "host.toml"
    file.write_text(f'programs = ["true"]\n[devices]\ndisk = "{folder(tmp_path / "a")}"\n')
    processes.host("a", "--rules", str(file))
    trace = tmp_path / "trace.csv"
    trace.write_text("time_ms,key,op\n1,a,get\n2,b,get\n")
    command = "fio --output-format=json+ --status-interval=1 --name=x"
    neighbours = f"""
[[neighbour]]
name = "replay"
kind = "replay"
engine = "null"
trace = "{trace}"
columns = "time_ms=0,key=1,op=2"
[[neighbour]]
name = "program"
kind = "command"
command = "{command}"
parser = "fio"
[plan]"""
    with pytest.raises(ClusterError, match=r"`program` starts fio.*names .*trace\.csv"):
        processes.run(tmp_path / "out", SHORT.replace("[plan]", neighbours))


def trace_of(path: Path, requests: int) -> Path:
    """A trace of so many requests, a millisecond apart, to hundred keys."""
    lines = [f"{number},key-{number * 7 % 100},get,10\n" for number in range(requests)]
    path.write_text("".join(["time_ms,key,op,value_size\n", *lines]))
    return path


COLUMNS = ["--columns", "time_ms=0,key=1,op=2,value_size=3"]


def replayed(processes: Processes, clients: int, *words: str) -> tuple[int, dict[str, Any], str]:
    """The exit status, the document and the errors of a replay by so many clients."""
    command = [sys.executable, "-m", "manometer.cluster", "replay", "--clients", str(clients)]
    command += ["--scheduler", processes.address, "--security", str(processes.certificates), "--", *words]
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout or "{}"), done.stderr


def load_hosts(processes: Processes, home: Path, hosts: int, clients: int) -> None:
    rules_of_hosts = home / "host.toml"
    rules_of_hosts.write_text(f'clients = {clients}\ndirectories = ["{home}"]\n')
    for number in range(hosts):
        processes.host(f"client-{number}", "--rules", str(rules_of_hosts))


def test_a_replay_is_divided_over_the_hosts_and_adds_up(processes: Processes, tmp_path: Path) -> None:
    load_hosts(processes, tmp_path, hosts=2, clients=2)
    trace = trace_of(tmp_path / "trace.csv", 1500)
    status, document, errors = replayed(processes, 4, str(trace), *COLUMNS, "--engine", "null")
    assert status == 0, errors
    assert (document["requests"], document["complete"]) == (1500, True)
    assert document["fidelity"]["error_us"]["samples"] == 1500, "the histograms of all clients are merged"
    clients = document["clients"]
    assert sum(client["sent"] for client in clients) == 1500 and all(client["sent"] for client in clients)
    assert len({client["on"] for client in clients}) == 2
    # All hosts of this test are this machine, and read one clock.
    assert {clock["source"] for clock in document["clocks"]} == {"same-clock"}
    assert document["start_skew_us"]["within"] == 0
    status, _, errors = replayed(processes, 5, str(trace), *COLUMNS, "--engine", "null")
    assert status == 2 and "5 clients need as many places" in errors
    outside = trace_of(tmp_path.parent / f"{tmp_path.name}-outside.csv", 10)
    status, _, errors = replayed(processes, 2, str(outside), *COLUMNS, "--engine", "null")
    assert status != 0 and "not below `directories`" in errors


def test_a_lost_client_stops_the_load_or_is_told(processes: Processes, tmp_path: Path) -> None:
    load_hosts(processes, tmp_path, hosts=2, clients=1)
    trace = trace_of(tmp_path / "trace.csv", 6000)
    for policy, others in (("stop", "were stopped"), ("continue", "went on")):
        command = [sys.executable, "-m", "manometer.cluster", "replay", "--clients", "2", "--scheduler"]
        command += [processes.address, "--security", str(processes.certificates), "--", str(trace), *COLUMNS]
        command += ["--engine", "null", "--on-lost", policy, "--interval", "100ms"]
        load = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert load.stderr is not None
        until(lambda load=load: "ops/s" in load.stderr.readline())
        children = processes.worker("client-1").children(recursive=True)
        next(one for one in children if command_of(one)[-1:] == ["worker"]).kill()
        out, errors = load.communicate()
        assert load.returncode == 1 and "process 2 of the replay was lost" in errors
        assert f"{others}; the numbers are those of 1 of 2 processes" in out


def test_four_clients_load_a_redis_cluster_of_ten_nodes(processes: Processes, tmp_path: Path) -> None:
    if shutil.which("redis-server") is None:
        skip("program", "redis-server is not installed")
    load_hosts(processes, tmp_path, hosts=2, clients=2)
    trace = trace_of(tmp_path / "trace.csv", 2000)
    with redis_cluster(tmp_path, 10) as port:
        options = ["--option", f"address=127.0.0.1:{port}", "--option", "cluster=true", "--load"]
        status, document, errors = replayed(processes, 4, str(trace), *COLUMNS, "--engine", "redis", *options)
    assert status == 0, errors
    assert document["requests"] == 2000 and document["complete"], errors
    assert [client["errors"] for client in document["clients"]] == [0, 0, 0, 0]
    assert not any(document["missing"].values()), "what one client loaded, all find"


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("clients = -1", "`clients` = -1"),
        ("clients = true", "`clients` = True"),
        ("device = 1", "unknown key `device`"),
        ("programs = 'fio'", "write a list of texts"),
        ("directories = ['data']", "write absolute paths"),
        ("[devices]\nx = '/no/such/place'", "is not a directory of this host"),
        ("devices = 3", "is a table"),
        ("clients = ", "host.toml"),
    ],
)
def test_wrong_rules_are_refused(tmp_path: Path, text: str, mistake: str) -> None:
    file = tmp_path / "host.toml"
    file.write_text(text)
    with pytest.raises(ClusterError, match=re.escape(mistake)):
        rules.read(file)


@pytest.mark.parametrize(
    ("words", "mistake"),
    [
        (["run", "no-such.toml", "--local", "1", "--out", "out"], "no-such.toml"),
        (["run", "x.toml", "--local", "1", "--out", "out", "--set", "x"], "write KEY=VALUE"),
        (["hosts", "--local", "0"], "from 1 to 256"),
        (["hosts", "--scheduler", "nowhere"], "is not an address"),
        (["hosts", "--scheduler", "http://127.0.0.1:1"], "is not an address"),
        (["hosts", "--scheduler", "127.0.0.1:1", "--security", "none"], "has no ca.pem"),
        (["host", "--scheduler", "127.0.0.1:1", "--device", "x=/no/such"], "is not a directory"),
        (["replay", "--local", "2", "--clients", "0", "--", "x.csv"], "from 1 to 64"),
        (["replay", "--local", "2", "--clients", "2", "--", "x.csv", "--on", "b"], "leave it out"),
        (["at", "127.0.0.1:1", "sh"], "invalid choice"),
        (["hosts", "--local", "1", "--dry-run"], "unknown argument --dry-run: `manometer cluster hosts --help`"),
        (["hosts", "--local", "1", "--", "x"], "nothing may follow `--`"),
        (["trace", "x.csv", "--local", "1", "--", "trace", "characterise", "--latencyy", "2ms"], "'--latencyy'"),
        (["hosts", "--scheduler", "127.0.0.1:1"], "begins with tls://"),
        (["scheduler", "--listen", "192.0.2.1:8786"], "needs certificates"),
    ],
)
def test_wrong_requests_end_with_status_2(tmp_path: Path, words: list[str], mistake: str) -> None:
    command = [sys.executable, "-m", "manometer.cluster", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and mistake in done.stderr and "Traceback" not in done.stderr, done.stderr


SHARED = SHORT.replace("records = 1000", "records = 1000\nrate = 3000\nclients = 3").replace(
    'phase = "600ms"', 'phase = "3s"'
)


def test_a_workload_is_shared_by_clients_on_the_hosts(processes: Processes, tmp_path: Path) -> None:
    load_hosts(processes, tmp_path, hosts=2, clients=2)
    processes.host("device", "--device", f"disk={folder(tmp_path / 'a')}")
    processes.run(tmp_path / "out", SHARED)
    recording = tmp_path / "out" / "runs" / "001"
    facts = json.loads((recording / "environment.json").read_text())["workloads"]["primary"]
    assert len({client["on"] for client in facts["clients"]}) >= 2, facts
    events = (recording / "events.jsonl").read_text()
    assert "its 3 clients began within" in events
    many = SHARED.replace("clients = 3", "clients = 6")
    with pytest.raises(ClusterError, match="6 clients need as many places"):
        processes.run(tmp_path / "many", many)
    named = SHARED.replace("clients = 3", 'clients = 3\nhosts = ["local"]')
    with pytest.raises(ClusterError, match="the cluster gives clients their places"):
        processes.run(tmp_path / "named", named)


def test_a_lost_client_of_a_workload_degrades_its_run_as_the_file_says(processes: Processes, tmp_path: Path) -> None:
    load_hosts(processes, tmp_path, hosts=2, clients=1)
    processes.host("device", "--device", f"disk={folder(tmp_path / 'a')}")
    shared = SHARED.replace("clients = 3", 'clients = 3\non_lost = "continue"')
    client = processes.client(tmp_path / "out", shared)

    def workers() -> list[psutil.Process]:
        children = processes.worker("client-1").children(recursive=True)
        return [one for one in children if command_of(one)[-1:] == ["worker"]]

    until(workers)
    words = measuring(processes, "device").cmdline()
    events = Path(words[words.index("--out") + 1], "events.jsonl")
    until(lambda: "phase_started" in events.read_text())
    workers()[0].kill()
    _, errors = client.communicate()
    assert client.returncode == 0, errors
    recorded = (tmp_path / "out" / "runs" / "001" / "events.jsonl").read_text()
    assert "from here on the load is that of 2 clients" in recorded


def test_what_is_refused_leaves_nothing_behind(processes: Processes, tmp_path: Path) -> None:
    processes.host("a", "--device", f"disk={folder(tmp_path / 'a')}")
    with pytest.raises(ClusterError, match="no host has the device fast"):
        processes.run(tmp_path / "out", SHORT.replace("[device]", '[device]\nname = "fast"'))
    assert not (tmp_path / "out").exists()


def test_a_name_or_an_address_that_is_taken_is_told(processes: Processes, tmp_path: Path) -> None:
    processes.host("a", "--device", f"disk={folder(tmp_path / 'a')}")
    words = [sys.executable, "-m", "manometer.cluster"]
    known = ["--security", str(processes.certificates)]
    address = processes.address.removeprefix("tls://")
    taken = subprocess.run([*words, "scheduler", "--listen", address, *known], capture_output=True, text=True)
    assert taken.returncode == 2 and "in use" in taken.stderr and "Traceback" not in taken.stderr, taken.stderr
    log = tmp_path / "second.log"
    with log.open("w") as file:
        second = [*words, "host", "--scheduler", processes.address, "--name", "a", "--listen", "127.0.0.1", *known]
        with subprocess.Popen(second, stdout=file, stderr=file) as host:
            try:
                until(lambda: "there is a host of the name a already: another one with --name" in log.read_text())
            finally:
                host.terminate()
    assert "Traceback" not in log.read_text(), log.read_text()
