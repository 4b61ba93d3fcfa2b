"""The ways in of docs/cluster: SSH with pyinfra, Slurm, Kubernetes."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import asyncssh
import kubernetes_validate
import pytest
import yaml
from hosts import PATIENCE_S, Processes, until
from manometer._program import program
from manometer.cluster import security
from scene import REPOSITORY, skip

pytestmark = pytest.mark.usefixtures("needs_program")

WAYS = REPOSITORY / "docs" / "cluster"


def names_of_hosts(processes: Processes) -> list[str]:
    words = ["hosts", "--scheduler", processes.address, "--security", str(processes.certificates), "--format", "json"]
    listed = subprocess.check_output([sys.executable, "-m", "manometer.cluster", *words])
    return [host["name"] for host in json.loads(listed)]


def rules_with_a_disk(home: Path) -> Path:
    (home / "disk").mkdir()
    rules = home / "host.toml"
    rules.write_text(f'[devices]\ndisk = "{home / "disk"}"\n')
    return rules


def test_a_machine_becomes_a_host_by_ssh(processes: Processes, tmp_path: Path) -> None:
    for name in ("host-key", "client-key"):
        key = asyncssh.generate_private_key("ssh-ed25519")
        key.write_private_key(str(tmp_path / name))
        key.write_public_key(str(tmp_path / f"{name}.pub"))
        (tmp_path / name).chmod(0o600)
    prefix = tmp_path / "opt"
    server = Path(__file__).with_name("ssh_server.py")
    words = [sys.executable, str(server), str(tmp_path / "host-key"), str(tmp_path / "client-key.pub")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as ssh:
        try:
            assert ssh.stdout is not None
            port = ssh.stdout.readline().strip()
            data = {
                "ssh_port": port,
                "ssh_key": tmp_path / "client-key",
                "ssh_strict_host_key_checking": "no",
                "ssh_known_hosts_file": tmp_path / "known_hosts",
                "scheduler": processes.address,
                "certificates": processes.certificates,
                "rules": rules_with_a_disk(tmp_path),
                "program": program(),
                "python": sys.executable,
                "prefix": prefix,
                "service": "none",
            }
            words = [sys.executable, "-m", "pyinfra", "127.0.0.1", str(WAYS / "hosts.py"), "--yes"]
            words += [word for name, value in data.items() for word in ("--data", f"{name}={value}")]
            done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
            assert done.returncode == 0, done.stdout + done.stderr
        finally:
            ssh.terminate()
    assert (prefix / "certificates" / security.KEY).stat().st_mode & 0o777 == 0o600
    unit = (prefix / "manometer-host.service").read_text()
    start = re.search(r"ExecStart=(.*)", unit)
    variable = re.search(r"Environment=(\w+)=(.*)", unit)
    assert start is not None and variable is not None
    environment = {**os.environ, variable[1]: variable[2]}
    with subprocess.Popen([*start[1].split(), "--listen", "127.0.0.1"], env=environment) as host:
        try:
            assert until(lambda: names_of_hosts(processes)) == [os.uname().nodename]
        finally:
            host.terminate()


SLURM = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={daemon}
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
NodeName=localhost NodeAddr=127.0.0.1 CPUs={processors} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


@contextmanager
def slurm() -> Iterator[dict[str, str]]:
    """A cluster of Slurm that is this machine: the environment in which its commands find it."""
    # The path of a socket has at most 108 bytes: those of a test's own folder may be too long.
    with TemporaryDirectory() as home:
        yield from slurm_in(Path(home))


def slurm_in(home: Path) -> Iterator[dict[str, str]]:
    (home / "state").mkdir()
    (home / "spool").mkdir()
    (home / "munge.key").write_bytes(os.urandom(1024))
    (home / "munge.key").chmod(0o400)
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        ports = {"controller": one.getsockname()[1], "daemon": other.getsockname()[1]}
    configuration = home / "slurm.conf"
    configuration.write_text(SLURM.format(home=home, processors=os.cpu_count(), **ports))
    (home / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    munge = ["munged", "--foreground", "--force", f"--socket={home}/munge.socket", f"--key-file={home}/munge.key"]
    munge += [f"--{name}-file={home}/munge.{name}" for name in ("log", "pid", "seed")]
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    with ExitStack() as stack, (home / "daemons.log").open("w") as log:
        for words in (munge, ["slurmctld", "-D"], ["slurmd", "-D", "-N", "localhost", "-f", str(configuration)]):
            daemon = subprocess.Popen(words, env=environment, stdout=log, stderr=log)
            stack.callback(daemon.wait, PATIENCE_S)
            stack.callback(daemon.terminate)
            if words is munge:
                until(lambda: (home / "munge.socket").exists())

        def is_idle() -> bool:
            asked = subprocess.run(["sinfo", "-h", "-o", "%t"], env=environment, capture_output=True, text=True)
            return asked.stdout.strip() == "idle"

        until(is_idle)
        try:
            yield environment
        except AssertionError:
            print((home / "slurmctld.log").read_text(), (home / "slurmd.log").read_text())
            raise


def test_hosts_are_jobs_of_slurm(processes: Processes, tmp_path: Path) -> None:
    for name in ("munged", "slurmctld", "slurmd"):
        if shutil.which(name) is None:
            skip("program", f"{name} is not installed")
    rules = rules_with_a_disk(tmp_path)
    with slurm() as environment:
        path = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
        environment = {**environment, "PATH": path, "MANOMETER_PROGRAM": program()}
        words = ["sbatch", "--parsable", "--array=1-1", "--chdir", str(tmp_path), str(WAYS / "hosts.sbatch")]
        words += [processes.address, str(processes.certificates), str(rules)]
        job = subprocess.check_output(words, env=environment, text=True).strip()
        try:
            names = until(lambda: names_of_hosts(processes))
            assert names == [f"{os.uname().nodename}-1"]
            subprocess.run(["scancel", "--batch", "--signal=TERM", job], env=environment, check=True)
            until(lambda: not names_of_hosts(processes))
        except AssertionError:
            subprocess.run(["scancel", job], env=environment)
            raise

        def is_over() -> bool:
            return not subprocess.check_output(["squeue", "-h", "-j", job], env=environment, text=True).strip()

        until(is_over)


def test_the_manifests_are_those_of_kubernetes() -> None:
    documents = list(yaml.safe_load_all((WAYS / "kubernetes.yaml").read_text()))
    assert [document["kind"] for document in documents] == ["ConfigMap", "Service", "Deployment", "DaemonSet"]
    for document in documents:
        kubernetes_validate.validate(document, "1.31", strict=True)
    secrets = {
        volume["name"] for document in documents[2:] for volume in document["spec"]["template"]["spec"]["volumes"]
    }
    for document in documents[2:]:
        (container,) = document["spec"]["template"]["spec"]["containers"]
        assert {mount["name"] for mount in container["volumeMounts"]} <= secrets
        assert container["command"][:3] == ["python3", "-m", "manometer.cluster"]
        words = [*container["command"][2:], *container.get("args", [])]
        checked = [sys.executable, "-m", *words[:2], "--help"]
        known = subprocess.check_output(checked, text=True)
        assert all(word in known for word in words if str(word).startswith("--"))
