"""The package for Debian and Ubuntu."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import tempfile
from pathlib import Path

from contents import File, Tree, below

# Where the shells of Debian look for completions; Elvish and PowerShell look nowhere.
COMPLETIONS = {
    "manometer.bash": "usr/share/bash-completion/completions/manometer",
    "manometer.fish": "usr/share/fish/vendor_completions.d/manometer.fish",
    "_manometer": "usr/share/zsh/vendor-completions/_manometer",
    "manometer.elv": "usr/share/doc/manometer/completions/manometer.elv",
    "_manometer.ps1": "usr/share/doc/manometer/completions/_manometer.ps1",
}
DOC = "usr/share/doc/manometer"

CONTROL = """\
Package: manometer
Version: {version}
Architecture: amd64
Maintainer: The Manometer authors
Installed-Size: {size_kib}
Depends: {depends}
Recommends: smartmontools, nvme-cli
Suggests: fio, redis-server, memcached
Section: utils
Priority: optional
Description: pressure gauge for key-value storage
 Measures what a key-value store loses to noisy neighbours on its disk:
 RocksDB and seven other engines, under synthetic load or recorded traces,
 with confidence intervals.
"""


def tree(program: File, pages: Tree, completions: Tree, documents: Tree, copyright: bytes) -> Tree:
    """Its files by their paths."""
    packed = {f"usr/share/man/man1/{name}.gz": File(gz(page.data)) for name, page in pages.items()}
    return {
        "usr/bin/manometer": program,
        **packed,
        **{COMPLETIONS[name]: file for name, file in completions.items()},
        **below(DOC, documents),
        f"{DOC}/copyright": File(copyright),
    }


def gz(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=9, mtime=0)


def write(path: Path, version: str, files: Tree, epoch: int) -> None:
    """Writes the package; equal files give equal bytes."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "root"
        for name, file in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(file.data)
            (root / name).chmod(file.mode)
        control = CONTROL.format(
            version=version,
            size_kib=sum(len(file.data) for file in files.values()) // 1024,
            depends=depends(root / "usr/bin/manometer"),
        )
        (root / "DEBIAN").mkdir()
        (root / "DEBIAN/control").write_text(control)
        for below_root in [root, *root.rglob("*")]:
            if below_root.is_dir():
                below_root.chmod(0o755)
            os.utime(below_root, (epoch, epoch))
        command = ["dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", root, path]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


def depends(program: Path) -> str:
    """The packages that hold the program's libraries, from the version on that has the symbols that it needs."""
    with tempfile.TemporaryDirectory() as folder:
        # dpkg-shlibdeps works for the source package in whose folder it is.
        (Path(folder) / "debian").mkdir()
        (Path(folder) / "debian/control").write_text("Source: manometer\n\nPackage: manometer\nArchitecture: any\n")
        command = ["dpkg-shlibdeps", "-O", program.resolve()]
        output = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    found = re.search(r"^shlibs:Depends=(.+)$", output, re.M)
    if not found:
        raise SystemExit(f"dpkg-shlibdeps says nothing of {program}: {output}")
    return found[1]
