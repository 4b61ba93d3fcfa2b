"""The software bill of materials, in CycloneDX 1.6.

Written here and not by a tool for cargo: those know neither the C and C++ sources inside of crates nor the page's
libraries.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timezone
from typing import Any

from parts import Part


def bill_of_materials(version: str, parts: list[Part], epoch: int) -> dict[str, Any]:
    """The document; equal parts give an equal one."""
    own = f"pkg:cargo/manometer@{version}"
    references = {(part.name, part.version): part.url for part in parts}
    contents = " ".join([own, *references.values()])
    needs = [
        {"ref": part.url, "dependsOn": sorted(references[key] for key in part.needs if key in references)}
        for part in parts
    ]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, contents)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, timezone.utc).isoformat(),
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "manometer",
                "version": version,
                "licenses": [{"expression": "Apache-2.0 OR MIT"}],
                "purl": own,
            },
        },
        "components": [component(part) for part in parts],
        "dependencies": [{"ref": own, "dependsOn": sorted(references.values())}, *needs],
    }


def component(part: Part) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": part.url,
        "name": part.name,
        "version": part.version,
        "licenses": [{"expression": part.licence}],
        "purl": part.url,
    }
    if part.sha256:
        found["hashes"] = [{"alg": "SHA-256", "content": part.sha256}]
    return found
