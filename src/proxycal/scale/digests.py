"""What tells the content of a file from any other, found by all workers together.

SHA-256 is a chain: one file is one worker's work. So the digest of a file is that of its segments' digests.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from proxycal.files import explained
from proxycal.parallel import Engine, map_as_done

if TYPE_CHECKING:
    from collections.abc import Sequence

# Bytes of a segment, and those in memory at a time.
SEGMENT, PIECE = 2**25, 2**20


def digests(
    paths: Sequence[str], *, jobs: int = 1, engine: Engine = "joblib", scheduler: str | None = None
) -> list[str]:
    """The digest of each file, in hexadecimal; jobs, engine, scheduler : as in `engine.map_as_done`."""
    places = [(path, start) for path in paths for start in range(0, os.path.getsize(path), SEGMENT)]
    found = dict(map_as_done(_of_segment, places, jobs=jobs, engine=engine, scheduler=scheduler))
    whole = {path: hashlib.sha256() for path in paths}
    for position, (path, _) in enumerate(places):
        whole[path].update(found[position])
    return [whole[path].hexdigest() for path in paths]


def digest_of(path: Path) -> str:
    """The digest of one file, found by this process."""
    whole = hashlib.sha256()
    for start in range(0, path.stat().st_size, SEGMENT):
        whole.update(_of_segment((str(path), start)))
    return whole.hexdigest()


def _of_segment(place: tuple[str, int]) -> bytes:
    path, start = place
    found = hashlib.sha256()
    with explained(Path(path), "read"), open(path, "rb") as content:
        content.seek(start)
        for at in range(0, SEGMENT, PIECE):
            found.update(content.read(min(PIECE, SEGMENT - at)))
    return found.digest()
