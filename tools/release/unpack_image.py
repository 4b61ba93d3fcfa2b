"""Unpacks an image as a runtime does, checks its digests, and prints its user: `unpack_image.py LAYOUT ROOT`."""

from __future__ import annotations

import hashlib
import json
import sys
import tarfile
from pathlib import Path
from typing import Any


def main(layout: Path, root: Path) -> str:
    """The user of the image, whose layers are then below `root`."""
    index = json.loads((layout / "index.json").read_text())
    manifest = json.loads(blob(layout, index["manifests"][0]).read_text())
    for entry in manifest["layers"]:
        with tarfile.open(blob(layout, entry)) as layer:
            layer.extractall(root, filter="fully_trusted")
    return json.loads(blob(layout, manifest["config"]).read_text())["config"]["User"]


def blob(layout: Path, entry: dict[str, Any]) -> Path:
    algorithm, digest = entry["digest"].split(":")
    path = layout / "blobs" / algorithm / digest
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if (found, path.stat().st_size) != (digest, entry["size"]):
        sys.exit(f"{path} is not what the image says: {found}")
    return path


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), Path(sys.argv[2])))
