"""Makes machines hosts of a cluster, by SSH: `pyinfra INVENTORY docs/cluster/hosts.py`.

The data of each machine, in the inventory or with `--data NAME=VALUE`:

- `scheduler`: the address of the scheduler, such as tls://192.0.2.1:8786
- `certificates`: the directory that `manometer cluster init` made
- `rules`: the file of what the host allows
- `program`: the built program `manometer`
- `wheel`: the Python package, as `make wheel` builds it; or
- `python`: a Python of the machine that has the package with its extra `cluster`
- `prefix`: where all of it is put; by default /opt/manometer
- `service`: the service manager that keeps it running: `systemd`, the default, or `none`
"""

from io import StringIO
from pathlib import Path

from pyinfra import host
from pyinfra.operations import files, pip, server, systemd

prefix = host.data.get("prefix", "/opt/manometer")
python = host.data.get("python", f"{prefix}/venv/bin/python")
start = f"{python} -m manometer.cluster host --scheduler {host.data.scheduler}"
start += f" --security {prefix}/certificates --rules {prefix}/host.toml"

# Only root may read the key: whoever has it can run programs on every host.
files.directory(path=f"{prefix}/certificates", mode="700")
for name in sorted(Path(host.data.certificates).iterdir()):
    files.put(src=str(name), dest=f"{prefix}/certificates/{name.name}", mode="600")
files.put(src=host.data.rules, dest=f"{prefix}/host.toml", mode="644")
files.directory(path=f"{prefix}/bin")
files.put(src=host.data.program, dest=f"{prefix}/bin/manometer", mode="755")
if host.data.get("python") is None:
    wheel = Path(host.data.wheel)
    files.put(src=str(wheel), dest=f"{prefix}/{wheel.name}")
    server.shell(commands=[f"test -x {prefix}/venv/bin/pip || python3 -m venv {prefix}/venv"])
    pip.packages(packages=[f"{prefix}/{wheel.name}[cluster]"], pip=f"{prefix}/venv/bin/pip")

unit = f"""\
[Unit]
Description=Manometer host
After=network-online.target

[Service]
Environment=MANOMETER_PROGRAM={prefix}/bin/manometer
ExecStart={start}
Restart=always
KillMode=mixed

[Install]
WantedBy=multi-user.target
"""
files.put(src=StringIO(unit), dest=f"{prefix}/manometer-host.service", mode="644")
if host.data.get("service", "systemd") == "systemd":
    files.link(path="/etc/systemd/system/manometer-host.service", target=f"{prefix}/manometer-host.service")
    systemd.service(service="manometer-host", running=True, enabled=True, restarted=True, daemon_reload=True)
