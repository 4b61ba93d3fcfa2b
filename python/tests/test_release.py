"""What tools/release writes: equal bytes for equal contents, complete lists of parts, a wheel that pip installs."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from scene import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tools" / "release"))
import archive
import contents
import deb
import image
import licences
import parts
import python_wheel
import sbom
import unpack_image
from contents import File, Folder, Link

EPOCH = 1_700_000_000
PROGRAM = Path("/bin/true")


@pytest.fixture(scope="module")
def others() -> list[parts.Part]:
    return parts.parts()


def test_equal_contents_give_equal_archives_whatever_their_order_and_date() -> None:
    entries = {"b/program": File(b"x", 0o755), "a": File(b"y"), "lib": Link("usr/lib"), "data": Folder(0o700, 7)}
    one = archive.tar(entries, EPOCH)
    assert one == archive.tar(dict(reversed(entries.items())), EPOCH)
    with tarfile.open(fileobj=io.BytesIO(one)) as tar:
        found = {entry.name: entry for entry in tar}
    assert list(found) == ["a", "b", "b/program", "data", "lib"]
    assert {(entry.mtime, entry.uname) for entry in found.values()} == {(EPOCH, "")}
    assert (found["b/program"].mode, found["a"].mode, found["data"].uid) == (0o755, 0o644, 7)
    assert found["lib"].linkname == "usr/lib"
    packed = archive.zstd(one)
    assert packed == archive.zstd(one)
    assert subprocess.run(["zstd", "--decompress"], input=packed, capture_output=True, check=True).stdout == one


def test_the_package_names_what_it_needs_and_has_equal_bytes_again(tmp_path: Path) -> None:
    pages = {"manometer.1": File(b".TH manometer 1\n")}
    completions = {name: File(b"# completions\n") for name in contents.COMPLETIONS.values()}
    files = deb.tree(contents.program_file(PROGRAM), pages, completions, {"README.md": File(b"read me")}, b"MIT")
    one, two = tmp_path / "one.deb", tmp_path / "two.deb"
    deb.write(one, "1.2.3", files, EPOCH)
    deb.write(two, "1.2.3", dict(reversed(files.items())), EPOCH)
    assert one.read_bytes() == two.read_bytes()

    def field(name: str) -> str:
        return subprocess.check_output(["dpkg-deb", "--field", one, name], text=True).strip()

    assert (field("Version"), field("Architecture")) == ("1.2.3", "amd64")
    assert field("Depends").startswith("libc6 (>= 2.")
    listed = subprocess.check_output(["dpkg-deb", "--contents", one], text=True)
    assert "root/root" in listed
    assert "./usr/bin/manometer\n" in listed
    assert "./usr/share/man/man1/manometer.1.gz\n" in listed
    assert "./usr/share/zsh/vendor-completions/_manometer\n" in listed


def test_the_manual_is_shipped_with_what_it_links_to() -> None:
    manual = contents.repository_folder("docs")
    assert "tasks/noisy-neighbour-rocksdb.md" in manual
    for target in re.findall(r"\]\(([^)#:]+)", manual["index.md"].data.decode()):
        assert target in manual, target


def test_the_image_has_the_libraries_a_user_and_digests_that_hold(tmp_path: Path) -> None:
    libraries = image.libraries(PROGRAM)
    root = image.root(contents.program_file(PROGRAM), libraries, {"LICENSE-MIT": File(b"MIT")})
    one = image.layout("1.2.3", root, EPOCH)
    assert one == image.layout("1.2.3", root, EPOCH)
    layout, unpacked = tmp_path / "layout", tmp_path / "root"
    with tarfile.open(fileobj=io.BytesIO(one)) as tar:
        tar.extractall(layout, filter="data")
    if os.geteuid() == 0:
        assert unpack_image.main(layout, unpacked) == "65532:65532"
        assert (unpacked / "data").stat().st_uid == 65532
        assert (unpacked / "usr/bin/manometer").read_bytes() == PROGRAM.read_bytes()
        for library in libraries:
            assert (unpacked / library.lstrip("/")).exists(), library
        assert list((unpacked / "usr/share/doc").glob("libc6/copyright"))
    index = json.loads((layout / "index.json").read_text())
    manifest = layout / "blobs/sha256" / index["manifests"][0]["digest"].removeprefix("sha256:")
    manifest.write_bytes(manifest.read_bytes() + b" ")
    with pytest.raises(SystemExit, match="is not what the image says"):
        unpack_image.main(layout, unpacked)


def test_every_part_has_a_version_a_licence_and_its_text(others: list[parts.Part]) -> None:
    named = {part.name: part for part in others}
    assert {"rocksdb", "zstd", "lz4", "xz", "sqlite", "lmdb", "vega", "clap", "pyo3"} <= set(named)
    assert not {"manometer", "manometer-measure", "proptest", "serde_derive", "cc"} & set(named)
    assert named["librocksdb-sys"].version.endswith("+" + named["rocksdb"].version)
    for part in others:
        assert part.version[0].isdigit(), part
        assert part.licence != "NOASSERTION", part
        assert licences.texts(part), f"{part.name}: {part.licence} has no text"
    files = licences.files(others)
    assert b"The Rust Standard Library" in files["LICENSE-RUST-LIBRARY.html"].data
    text = files["LICENSE-THIRD-PARTY"].data.decode()
    assert "sqlite 3." in text
    assert "May you do good and not evil" in text


def test_a_crate_that_may_bundle_sources_is_asked_about() -> None:
    assert parts.bundles({"name": "zstd-sys", "links": "zstd"})
    assert not parts.bundles({"name": "serde", "links": None})
    with pytest.raises(SystemExit, match="the crate new-sys links new: add the licence"):
        parts.bundles({"name": "new-sys", "links": "new"})


def test_the_bill_of_materials_refers_to_what_it_lists(others: list[parts.Part]) -> None:
    bill = sbom.bill_of_materials("1.2.3", others, EPOCH)
    assert bill == sbom.bill_of_materials("1.2.3", others, EPOCH)
    listed = {one["bom-ref"] for one in bill["components"]} | {bill["metadata"]["component"]["bom-ref"]}
    assert len(listed) == len(others) + 1
    needs = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    assert set(needs) == listed
    assert {ref for refs in needs.values() for ref in refs} <= listed
    parquet = next(ref for ref in listed if ref.startswith("pkg:cargo/parquet@"))
    assert any(ref.startswith("pkg:cargo/bytes@") for ref in needs[parquet])
    crates = [one for one in bill["components"] if one["purl"].startswith("pkg:cargo/")]
    assert all(len(one["hashes"][0]["content"]) == 64 for one in crates)


def test_pip_installs_the_program_of_the_wheel(tmp_path: Path) -> None:
    built = tmp_path / "built" / "manometer-1.2.3-py3-none-any.whl"
    built.parent.mkdir()
    metadata = "Metadata-Version: 2.1\nName: manometer\nVersion: 1.2.3\n"
    kind = "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with zipfile.ZipFile(built, "w") as out:
        out.writestr("manometer_of_a_test.py", "answer = 42\n")
        out.writestr("manometer-1.2.3.dist-info/METADATA", metadata)
        out.writestr("manometer-1.2.3.dist-info/WHEEL", kind)
        out.writestr("manometer-1.2.3.dist-info/RECORD", "")
    program = File(b"#!/bin/sh\necho manometer of the wheel\n", 0o755)
    terms = {"LICENSE-MIT": File(b"MIT")}
    one = python_wheel.add_program(built, program, terms, tmp_path / "one", EPOCH)
    two = python_wheel.add_program(built, program, terms, tmp_path / "two", EPOCH)
    assert one.name == built.name
    assert one.read_bytes() == two.read_bytes()

    with zipfile.ZipFile(one) as files:
        record = files.read("manometer-1.2.3.dist-info/RECORD").decode()
        for name, digest, size in csv.reader(record.splitlines()):
            if name.endswith("RECORD"):
                continue
            data = files.read(name)
            assert int(size) == len(data)
            algorithm, text = digest.split("=", 1)
            assert algorithm == "sha256"
            assert base64.urlsafe_b64decode(text + "=") == hashlib.sha256(data).digest()
    # Otherwise pip removes the package that the other tests import.
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--ignore-installed"]
    subprocess.run([*pip, "--prefix", tmp_path / "installed", one], check=True)
    printed = subprocess.check_output([tmp_path / "installed/bin/manometer"], text=True)
    assert printed == "manometer of the wheel\n"
