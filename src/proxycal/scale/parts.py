"""How tables are cut into parts: rows that follow each other, a piece of work and a file each.

The cut depends on the tables alone, not on who does the work, so that a run can go on with other workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from proxycal.effect.calibrate import BLOCK
from proxycal.errors import SettingsError, StoreError
from proxycal.scale.sources import BATCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.scale.sources import Source

# Enough rows to keep a worker busy for a second, few enough that a table of a million keeps several busy.
ROWS = BATCH
# A table of any size is at most this many parts, and a row group at most so many: a part that begins within a
# row group has to read over its first rows.
PARTS, PARTS_OF_GROUP = 64, 8
_PACKED = (".csv.gz", ".tsv.gz")


@dataclass(frozen=True, slots=True)
class Part:
    """Rows start to stop of the table at position `table` among those given, and the name of their file."""

    table: int
    start: int
    stop: int
    name: str

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.stop - self.start


def plan(sources: Sequence[Source], part_rows: int | None = None, ending: str | None = None) -> list[Part]:
    """The parts of tables, in order; files are named after the tables, with a number where there are several.

    part_rows : rows of a part of a Parquet table, rounded up to whole blocks; chosen if not given. A text
    table is one part: where its rows begin is known only to who has read those before.
    ending : of the files; that of their table if not given, .csv for a workbook.
    """
    if part_rows is not None and (isinstance(part_rows, bool) or part_rows < 1):
        raise SettingsError(f"part_rows={part_rows!r}: use a whole number of 1 or more")
    made = []
    for position, source in enumerate(sources):
        size = part_size(source, part_rows)
        starts = range(0, source.rows, size)
        stem, own = stem_and_ending(source.path)
        own = ".csv" if source.kind == "workbook" else own
        for number, start in enumerate(starts):
            name = f"{stem}-{number:05d}" if len(starts) > 1 else stem
            stop = min(start + size, source.rows)
            made.append(Part(position, start, stop, name + (own if ending is None else ending)))
    _refuse_same_names(made, sources)
    return made


def part_size(source: Source, part_rows: int | None = None) -> int:
    """Rows of a part of a table; the last may have fewer."""
    if source.kind != "parquet":
        return source.rows
    if part_rows is not None:
        return BLOCK * ceil(part_rows / BLOCK)
    least = max(ROWS, source.rows / PARTS, source.largest / PARTS_OF_GROUP)
    return BATCH * ceil(least / BATCH)


def stem_and_ending(path: str) -> tuple[str, str]:
    """The name of a file without its ending, and the ending.

    >>> stem_and_ending("data/losses.2024.csv.gz")
    ('losses.2024', '.csv.gz')
    """
    name = Path(path).name
    ending = "".join(Path(name).suffixes[-2:]) if name.lower().endswith(_PACKED) else Path(name).suffix
    return name[: -len(ending)], name[-len(ending) :]


def _refuse_same_names(parts: Sequence[Part], sources: Sequence[Source]) -> None:
    first: dict[str, Part] = {}
    for part in parts:
        # Compared without case, as some file systems do.
        other = first.setdefault(part.name.lower(), part)
        if other is not part:
            raise StoreError(
                f"'{sources[other.table].path}' and '{sources[part.table].path}' would both be written to "
                f"'{part.name}': rename one of them, or write them to folders of their own"
            )
