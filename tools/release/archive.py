"""Archives whose bytes depend on their contents alone: sorted, one date, nobody's name."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

from contents import File, Folder, Link, Tree, below


def tar(entries: Mapping[str, File | Link | Folder], epoch: int) -> bytes:
    """A tar archive of the entries and of the folders above them."""
    folders = {str(folder): Folder() for path in entries for folder in Path(path).parents if str(folder) != "."}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as out:
        for path, entry in sorted({**folders, **entries}.items()):
            header = tarfile.TarInfo(path)
            header.mtime = epoch
            add(out, header, entry)
    return buffer.getvalue()


def add(out: tarfile.TarFile, header: tarfile.TarInfo, entry: File | Link | Folder) -> None:
    match entry:
        case File(data, mode):
            header.size, header.mode = len(data), mode
            out.addfile(header, io.BytesIO(data))
        case Link(target):
            header.type, header.linkname, header.mode = tarfile.SYMTYPE, target, 0o777
            out.addfile(header)
        case Folder(mode, owner):
            header.type, header.mode, header.uid, header.gid = tarfile.DIRTYPE, mode, owner, owner
            out.addfile(header)


def zstd(data: bytes) -> bytes:
    """Packed in one thread: several write other bytes on other machines."""
    return subprocess.run(
        ["zstd", "-19", "--single-thread", "--stdout"], input=data, check=True, capture_output=True
    ).stdout


def tar_zst(name: str, program: File, shared: Tree, epoch: int) -> bytes:
    """The release for any Linux: a folder `name` with the program and everything beside it."""
    return zstd(tar(below(name, {"manometer": program, **shared}), epoch))
