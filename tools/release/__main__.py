"""Everything of a release beside the programs and the wheel, which lie in DIST: `python3 tools/release DIST`.

Equal programs and commits give equal files, wherever and whenever this runs.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import archive
import contents
import deb
import image
import licences
import parts
import sbom
from contents import Tree, below

# The program for 64-bit ARM, which cannot run here: its pages and completions are those of the other.
AARCH64 = "manometer-aarch64"


def main(dist: Path) -> None:
    program = dist / "manometer"
    epoch, version, others = parts.source_date(), parts.version(), parts.parts()
    name = f"manometer-{version}"
    x86_64 = f"{name}-x86_64-linux"
    executable = contents.program_file(program)
    terms = licences.files(others)
    pages, completions = contents.manual_pages(program), contents.completions(program)
    folders = ("arrangements", "docs", "experiments")
    texts = {path: file for name in folders for path, file in below(name, contents.repository_folder(name)).items()}
    documents = {**contents.repository_files("README.md", "CHANGELOG.md"), **terms, **texts}
    shared = {**below("man/man1", pages), **below("completions", completions), **documents}

    for folder, file in ((x86_64, executable), (f"{name}-aarch64-linux", contents.program_file(dist / AARCH64))):
        (dist / f"{folder}.tar.zst").write_bytes(archive.tar_zst(folder, file, shared, epoch))
    package = deb.tree(executable, pages, completions, documents, debian_copyright(terms))
    deb.write(dist / f"manometer_{version}_amd64.deb", version, package, epoch)
    file_system = image.root(executable, image.libraries(program), terms)
    (dist / f"{x86_64}.oci.tar").write_bytes(image.layout(version, file_system, epoch))
    bill = json.dumps(sbom.bill_of_materials(version, others, epoch), indent=2)
    (dist / f"{name}.cdx.json").write_text(bill + "\n")
    write_checksums(dist)


def debian_copyright(terms: Tree) -> bytes:
    return b"Manometer: Apache-2.0 or MIT, as you prefer.\n\n" + terms["LICENSE-MIT"].data


def write_checksums(dist: Path) -> None:
    """SHA256SUMS of all other files, for `sha256sum --check`."""
    paths = sorted(path for path in dist.iterdir() if path.is_file() and path.name != "SHA256SUMS")
    rows = (f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)
    (dist / "SHA256SUMS").write_text("".join(rows))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
