"""The licences of all parts in one text: each text once, below the parts that it is of."""

from __future__ import annotations

import re
import subprocess
from collections import defaultdict
from pathlib import Path

from contents import File, Tree, repository_files
from parts import REPOSITORY, Part

TEXTS = Path(__file__).parent / "licences"


def files(parts: list[Part]) -> Tree:
    """The project's licences, those of the parts, and those of Rust's standard library, which its compiler brings."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    return {
        **repository_files("LICENSE-APACHE", "LICENSE-MIT"),
        "LICENSE-THIRD-PARTY": File(third_party(parts).encode()),
        "LICENSE-RUST-LIBRARY.html": File(Path(sysroot, "share/doc/rust/COPYRIGHT-library.html").read_bytes()),
    }


def third_party(parts: list[Part]) -> str:
    """The list of the parts with their SPDX expressions, then the texts."""
    users: dict[str, list[str]] = defaultdict(list)
    originals: dict[str, str] = {}
    for part in parts:
        for text in texts(part):
            key = re.sub(r"\s+", " ", text).strip()
            originals.setdefault(key, text.strip("\n"))
            users[key].append(f"{part.name} {part.version}")
    listed = "\n".join(f"{part.name} {part.version}: {part.licence}" for part in parts)
    rule = "=" * 80
    sections = [
        f"{rule}\n{', '.join(dict.fromkeys(users[key]))}\n{rule}\n\n{text}\n" for key, text in originals.items()
    ]
    head = (
        "Manometer is licensed under Apache-2.0 or MIT, as you prefer. It contains these parts by others, and Rust's "
        "standard library (LICENSE-RUST-LIBRARY.html).\n"
    )
    return "\n".join([head, listed, "", *sections])


def texts(part: Part) -> list[str]:
    """The texts in the part's folder, else the standard ones of its expression."""
    if part.files:
        return [path.read_text(errors="replace") for path in part.files]
    holders = ", ".join(name.split(" <")[0] for name in part.authors) or f"The {part.name} authors"
    names = re.findall(r"[\w.+-]+", re.sub(r"\b(OR|AND)\b", " ", part.licence))
    standard = [standard_text(name) for name in names]
    return [text.replace("<HOLDERS>", holders) for text in standard if text]


def standard_text(licence: str) -> str | None:
    if licence == "Apache-2.0":
        return (REPOSITORY / "LICENSE-APACHE").read_text()
    if licence == "MIT":
        return "Copyright (c) <HOLDERS>\n\n" + (REPOSITORY / "LICENSE-MIT").read_text()
    path = TEXTS / licence
    return path.read_text() if path.exists() else None
