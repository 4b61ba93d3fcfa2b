"""The container image, as an OCI layout in a tar archive, made without a daemon.

It holds the program, the shared libraries that it needs and what they need, and a user who is not root.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from archive import tar
from contents import File, Folder, Link, Tree, below

USER = 65532
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


Root = dict[str, File | Link | Folder]


def root(program: File, libraries: list[str], documents: Tree) -> Root:
    """The image's file system."""
    found: Root = {
        "usr/bin/manometer": program,
        "etc/passwd": File(
            f"root:x:0:0:root:/root:/sbin/nologin\nmanometer:x:{USER}:{USER}::/data:/sbin/nologin\n".encode()
        ),
        "etc/group": File(f"root:x:0:\nmanometer:x:{USER}:\n".encode()),
        **below("usr/share/doc/manometer", documents),
        **{name: Link(f"usr/{name}") for name in ("bin", "lib", "lib64")},
        **{name: Folder() for name in ("dev", "proc", "sys")},
        "tmp": Folder(0o1777),
        "data": Folder(owner=USER),
    }
    for library in libraries:
        found[f"usr/{library.removeprefix('/').removeprefix('usr/')}"] = File(Path(library).read_bytes(), 0o755)
        package, terms = package_copyright(library)
        found[f"usr/share/doc/{package}/copyright"] = File(terms)
    return found


def libraries(program: Path) -> list[str]:
    """The paths of the shared libraries and of the loader, as the loader finds them."""
    output = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return sorted(set(re.findall(r"(/\S+) \(0x", output)))


def package_copyright(library: str) -> tuple[str, bytes]:
    """The Debian package of a library, and its licence."""
    for path in (library, str(Path(library).resolve()), f"/usr{library}"):
        found = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True, check=False).stdout
        if found:
            name = found.split(":")[0]
            return name, Path(f"/usr/share/doc/{name}/copyright").read_bytes()
    raise SystemExit(f"no Debian package holds {library}: its licence is unknown")


def layout(version: str, files: Root, epoch: int) -> bytes:
    """The image as a tar archive: `skopeo copy oci-archive:FILE …`, `podman load`, `docker load` take it."""
    layer = tar(files, epoch)
    packed = gzip.compress(layer, compresslevel=9, mtime=0)
    created = datetime.fromtimestamp(epoch, timezone.utc).isoformat().replace("+00:00", "Z")
    config = {
        "created": created,
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Env": ["PATH=/usr/bin", "HOME=/data"],
            "Entrypoint": ["/usr/bin/manometer"],
            "Cmd": ["--help"],
            "WorkingDir": "/data",
            "Volumes": {"/data": {}},
            "Labels": {
                "org.opencontainers.image.title": "manometer",
                "org.opencontainers.image.version": version,
                "org.opencontainers.image.licenses": "Apache-2.0 OR MIT",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{sha256(layer)}"]},
        "history": [{"created": created, "created_by": "tools/release"}],
    }
    blobs: Tree = {}
    layer_entry = blob(blobs, LAYER, packed)
    config_entry = blob(blobs, CONFIG, document(config))
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config_entry, "layers": [layer_entry]}
    entry = blob(blobs, MANIFEST, document(manifest))
    entry["annotations"] = {"org.opencontainers.image.ref.name": f"manometer:{version}"}
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]}
    blobs["index.json"] = File(document(index))
    blobs["oci-layout"] = File(document({"imageLayoutVersion": "1.0.0"}))
    return tar(blobs, epoch)


def blob(blobs: Tree, media_type: str, data: bytes) -> dict[str, Any]:
    """Adds a blob, and returns what refers to it."""
    blobs[f"blobs/sha256/{sha256(data)}"] = File(data)
    return {"mediaType": media_type, "digest": f"sha256:{sha256(data)}", "size": len(data)}


def document(value: dict[str, Any]) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
