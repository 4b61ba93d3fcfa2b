"""What a release holds besides the program: manual pages, completions, experiments, arrangements, licences."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from parts import REPOSITORY

# The name of a shell's completions, as the shell looks for them.
COMPLETIONS = {
    "bash": "manometer.bash",
    "elvish": "manometer.elv",
    "fish": "manometer.fish",
    "powershell": "_manometer.ps1",
    "zsh": "_manometer",
}


@dataclass(frozen=True)
class File:
    data: bytes
    mode: int = 0o644


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True)
class Folder:
    """A folder that is empty, or that not everybody may write to as usual."""

    mode: int = 0o755
    owner: int = 0


# Paths below the root of an archive, and what lies there.
Tree = dict[str, File]


def program_file(program: Path) -> File:
    return File(program.read_bytes(), 0o755)


def manual_pages(program: Path) -> Tree:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program.resolve(), "man", folder], check=True)
        return {path.name: File(path.read_bytes()) for path in Path(folder).iterdir()}


def completions(program: Path) -> Tree:
    return {name: File(output(program, "complete", shell)) for shell, name in COMPLETIONS.items()}


def output(program: Path, *words: str) -> bytes:
    return subprocess.run([program.resolve(), *words], check=True, capture_output=True).stdout


def repository_files(*names: str) -> Tree:
    return {name: File((REPOSITORY / name).read_bytes()) for name in names}


def repository_folder(name: str) -> Tree:
    """All files that the repository has below a folder, by their paths in it."""
    command = ["git", "-C", REPOSITORY / name, "ls-files", "-z"]
    paths = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\0")
    return {path: File((REPOSITORY / name / path).read_bytes()) for path in paths if path}


def below(folder: str, files: Tree) -> Tree:
    return {f"{folder}/{name}": file for name, file in files.items()}
