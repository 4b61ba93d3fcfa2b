"""Puts the program into the wheel of the Python package, so that `pip install manometer` gives both:
`python3 tools/release/python_wheel.py WHEEL PROGRAM OUT`.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from datetime import datetime, timezone
from pathlib import Path

import licences
import parts
from contents import File, Tree, program_file

EXECUTABLE = 0o100755
PLAIN = 0o100644


def add_program(wheel: Path, program: File, licences: Tree, out: Path, epoch: int) -> Path:
    """Writes the wheel with the program among its scripts and with the licences, under its own name to `out`."""
    with zipfile.ZipFile(wheel) as source:
        files = {
            name: File(source.read(name), mode(source, name)) for name in source.namelist() if not name.endswith("/")
        }
    info = next(name.split("/")[0] for name in files if name.endswith(".dist-info/RECORD"))
    files[info.replace(".dist-info", ".data/scripts/manometer")] = File(program.data, EXECUTABLE)
    files |= {f"{info}/licenses/{name}": File(file.data, PLAIN) for name, file in licences.items()}
    record = f"{info}/RECORD"
    del files[record]
    rows = [f"{name},sha256={digest(file.data)},{len(file.data)}\n" for name, file in sorted(files.items())]
    files[record] = File("".join([*rows, f"{record},,\n"]).encode(), PLAIN)
    out.mkdir(parents=True, exist_ok=True)
    path = out / wheel.name
    write(path, files, epoch)
    return path


def mode(source: zipfile.ZipFile, name: str) -> int:
    return EXECUTABLE if (source.getinfo(name).external_attr >> 16) & 0o111 else PLAIN


def write(path: Path, files: Tree, epoch: int) -> None:
    """A zip archive whose bytes depend on the files alone; the metadata comes last, as the standard asks for."""
    date = datetime.fromtimestamp(epoch, timezone.utc).timetuple()[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for name, file in sorted(files.items(), key=lambda one: (".dist-info/" in one[0], one[0])):
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = file.mode << 16
            out.writestr(entry, file.data, compresslevel=9)


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    built, program, out = (Path(word) for word in sys.argv[1:])
    add_program(built, program_file(program), licences.files(parts.parts()), out, parts.source_date())
