"""The parts of a release by others: crates that are linked, the sources that they bundle, and libraries of the page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
# The program and Python's extension module; the wheel has both.
SHIPPED = ("manometer", "manometer-python")
LICENCE_FILE = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


@dataclass(frozen=True)
class Part:
    """A part by others; `licence` is an SPDX expression."""

    name: str
    version: str
    licence: str
    authors: tuple[str, ...]
    url: str
    files: tuple[Path, ...]
    sha256: str | None = None
    # The names and versions of the linked crates that it needs.
    needs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Bundled:
    """Sources in another language that a crate compiles in, with the files of their licence and of their version."""

    name: str
    licence: str
    files: tuple[str, ...]
    version: tuple[str, str]


BUNDLED = {
    "librocksdb-sys": Bundled(
        "rocksdb",
        "Apache-2.0",
        ("rocksdb/LICENSE.Apache", "rocksdb/LICENSE.leveldb"),
        ("rocksdb/include/rocksdb/version.h", r"#define ROCKSDB_(?:MAJOR|MINOR|PATCH) (\d+)"),
    ),
    "lz4-sys": Bundled(
        "lz4",
        "BSD-2-Clause",
        ("liblz4/lib/LICENSE",),
        ("liblz4/lib/lz4.h", r"#define LZ4_VERSION_(?:MAJOR|MINOR|RELEASE) +(\d+)"),
    ),
    "zstd-sys": Bundled(
        "zstd",
        "BSD-3-Clause",
        ("zstd/LICENSE",),
        ("zstd/lib/zstd.h", r"#define ZSTD_VERSION_(?:MAJOR|MINOR|RELEASE) +(\d+)"),
    ),
    "liblzma-sys": Bundled(
        "xz",
        "0BSD",
        ("xz/COPYING", "xz/COPYING.0BSD"),
        ("xz/src/liblzma/api/lzma/version.h", r"#define LZMA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)"),
    ),
    # In the public domain: its blessing stands in its sources.
    "libsqlite3-sys": Bundled("sqlite", "blessing", (), ("sqlite3/sqlite3.h", r'#define SQLITE_VERSION +"([\d.]+)"')),
    "lmdb-master-sys": Bundled(
        "lmdb",
        "OLDAP-2.8",
        ("lmdb/libraries/liblmdb/COPYRIGHT", "lmdb/libraries/liblmdb/LICENSE"),
        ("lmdb/libraries/liblmdb/lmdb.h", r"#define MDB_VERSION_(?:MAJOR|MINOR|PATCH)\s+(\d+)"),
    ),
}
# They name a library of the system, or only themselves, and bundle nothing.
BUNDLE_NOTHING = {"pyo3", "pyo3-ffi", "rayon-core"}


def version() -> str:
    """The version of the release: that of the workspace."""
    return tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def source_date() -> int:
    """The date of every file of the release: SOURCE_DATE_EPOCH, else that of the commit."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    command = ["git", "log", "-1", "--format=%ct"]
    return int(subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout)


def parts() -> list[Part]:
    """All parts by others, in the order of their names."""
    linked = linked_crates()
    packages = {(one["name"], one["version"]): one for one in metadata()["packages"]}
    checksums = lock_checksums()
    crates = [crate(packages[key], checksums[key], linked) for key in linked if packages[key]["source"]]
    bundled = [sources(packages[key]) for key in linked if bundles(packages[key])]
    return sorted(crates + bundled + page_libraries(), key=lambda part: (part.name, part.version))


def linked_crates() -> list[tuple[str, str]]:
    """Names and versions of the crates in the program and the extension module; procedural macros are not."""
    command = ["cargo", "tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"]
    for target in TARGETS:
        command += ["--target", target]
    for name in SHIPPED:
        command += ["--package", name]
    output = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    names = (line.split()[:2] for line in output.splitlines() if line)
    return sorted({(name, version.removeprefix("v")) for name, version in names})


def metadata() -> dict[str, Any]:
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    for target in TARGETS:
        command += ["--filter-platform", target]
    output = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    return json.loads(output)


def lock_checksums() -> dict[tuple[str, str], str | None]:
    lock = tomllib.loads((REPOSITORY / "Cargo.lock").read_text())
    return {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}


def crate(package: dict[str, Any], checksum: str | None, linked: list[tuple[str, str]]) -> Part:
    folder = Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and LICENCE_FILE.match(path.name))
    names = {need["name"] for need in package["dependencies"] if need["kind"] is None}
    return Part(
        name=package["name"],
        version=package["version"],
        # Before SPDX, a slash stood for OR.
        licence=(package["license"] or "NOASSERTION").replace("/", " OR "),
        authors=tuple(package["authors"]),
        url=f"pkg:cargo/{package['name']}@{package['version']}",
        files=tuple(path for path in files if path.suffix != ".rs"),
        sha256=checksum,
        needs=tuple(key for key in linked if key[0] in names),
    )


def bundles(package: dict[str, Any]) -> bool:
    """Whether a crate brings sources in another language.

    Raises:
        SystemExit: it may, and nobody has looked.
    """
    name = package["name"]
    if package["links"] and name not in BUNDLED and name not in BUNDLE_NOTHING:
        raise SystemExit(
            f"the crate {name} links {package['links']}: add the licence of what it bundles to BUNDLED in {__file__}, "
            "or its name to BUNDLE_NOTHING"
        )
    return name in BUNDLED


def sources(package: dict[str, Any]) -> Part:
    bundled = BUNDLED[package["name"]]
    folder = Path(package["manifest_path"]).parent
    header, pattern = bundled.version
    version = ".".join(re.findall(pattern, (folder / header).read_text())[:3])
    files = tuple(folder / name for name in bundled.files)
    return Part(bundled.name, version, bundled.licence, (), f"pkg:generic/{bundled.name}@{version}", files)


def page_libraries() -> list[Part]:
    """The libraries of the report, from the table of their folder."""
    vendor = REPOSITORY / "crates/manometer-report/vendor"
    rows = re.findall(
        r"^\| `[^`]+` \| `([^`]+)` \| (\S+) \| ([^,]+), `([^`]+)`", (vendor / "README.md").read_text(), re.M
    )
    return [
        Part(name, number, terms, (), f"pkg:npm/{name}@{number}", (vendor / file,))
        for name, number, terms, file in rows
    ]
