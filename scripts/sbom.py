"""Write a bill of materials: every package that an install of this version brings, as CycloneDX JSON.

    python scripts/sbom.py dist/proxycal-0.1.0.cdx.json

Names and versions are those of requirements/, which `make` installs and the tests run on. What `pip install
proxycal` needs is "required", what extras and tools add is "optional". The same files give the same bytes.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", flags=re.MULTILINE)


def bill(root: Path = ROOT) -> dict[str, object]:
    """The bill of materials of a clone."""
    version = re.search(r'__version__ = "(.+)"', (root / "src/proxycal/__init__.py").read_text("utf-8"))
    assert version is not None
    name = f"pkg:pypi/proxycal@{version[1]}"
    base, everything = (_pinned(root, level) for level in ("package", "everything"))
    parts = [_part(*one, "required" if one in base else "optional") for one in sorted(everything | base)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([name, parts]))}",
        "version": 1,
        "metadata": {"component": _part("proxycal", version[1], None) | {"type": "application"}},
        "components": parts,
        "dependencies": [{"ref": name, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def _pinned(root: Path, level: str) -> set[tuple[str, str]]:
    text = (root / "requirements" / f"{level}.txt").read_text(encoding="utf-8")
    named = re.findall(r"^-r ([a-z]+)\.txt", text, flags=re.MULTILINE)
    return set(_PINNED.findall(text)).union(*(_pinned(root, other) for other in named))


def _part(name: str, version: str, scope: str | None) -> dict[str, str]:
    purl = f"pkg:pypi/{name.lower()}@{version}"
    part = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    return part if scope is None else part | {"scope": scope}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(bill(), indent=2) + "\n", encoding="utf-8")
