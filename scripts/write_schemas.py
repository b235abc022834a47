"""Write docs/schemas/: the JSON Schemas that `proxycal schema` prints, as files of the site.

.venv/bin/python scripts/write_schemas.py
"""

from __future__ import annotations

import json
from pathlib import Path

from proxycal.cli.schemas import names, schema_of
from proxycal.files import write_text

FOLDER = Path(__file__).parents[1] / "docs" / "schemas"


def main() -> None:
    """Write every schema, and remove those that are gone."""
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.glob("*.json"):
        if path.stem not in names():
            path.unlink()
    for name in names():
        write_text(FOLDER / f"{name}.json", json.dumps(schema_of(name), indent=2) + "\n")


if __name__ == "__main__":
    main()
