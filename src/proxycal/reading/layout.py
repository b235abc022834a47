"""How a text table is laid out: its letters (encoding) and what stands between its columns."""

from __future__ import annotations

import codecs
import csv
import gzip
import itertools
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, cast

from proxycal.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

# Preferred from the left where several would do.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_BYTES = 1 << 20
_SAMPLE = 200
# Windows-1252 is what programs mean by Latin-1; five of its bytes stand for nothing.
_LATIN = ("cp1252", "latin-1")


@dataclass(frozen=True, slots=True)
class Layout:
    """How a text table is read.

    encoding : of its letters, as Python names it. separator : between columns. skipped : lines before the
    header (Excel writes "sep=;" there).
    """

    encoding: str = "utf-8-sig"
    separator: str = ","
    skipped: int = 0


def layout_of(path: Path) -> Layout:
    """Find out how a CSV or TSV file, also packed by gzip, is laid out."""
    encoding = encoding_of(path)
    with opened_text(path, encoding) as lines:
        first = lines.readline()
        told = first.strip().lower()
        if told.startswith("sep=") and len(told) == len("sep=") + 1:
            return Layout(encoding, first.strip()[-1], 1)
        if first.rstrip("\r\n").lower() == "sep=\t":
            return Layout(encoding, "\t", 1)
        sample = [first, *itertools.islice(lines, _SAMPLE)]
    return Layout(encoding, separator_of(path, sample))


def opened_text(path: Path, encoding: str) -> IO[str]:
    """The file as text, unpacked where it is a .gz."""
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding=encoding, newline="")
    return path.open(encoding=encoding, newline="")


def encoding_of(path: Path) -> str:
    """UTF-8 where the whole file is, UTF-16 where it says so, else Latin-1 as Windows writes it."""
    with _opened_bytes(path) as file:
        start = file.read(_BYTES)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in start:
        raise StoreError(f"'{path}' is not a text table: save it as CSV, Excel (.xlsx) or Parquet")
    return next(name for name in ("utf-8-sig", *_LATIN) if _decodes(path, name))


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with _opened_bytes(path) as file:
            while piece := file.read(_BYTES):
                decoder.decode(piece)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _opened_bytes(path: Path) -> IO[bytes]:
    packed = path.name.lower().endswith(".gz")
    return cast("IO[bytes]", gzip.open(path, "rb") if packed else path.open("rb"))


def separator_of(path: Path, lines: list[str]) -> str:
    """What separates the columns: the sign that cuts all lines alike, and the header into the most names."""
    found: dict[str, tuple[float, int]] = {}
    for sign in SEPARATORS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=sign) if row]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            found[sign] = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
    if not found:
        return "\t" if path.name.lower().endswith((".tsv", ".tsv.gz")) else ","
    best = max(found.values())
    signs = [sign for sign, score in found.items() if score == best]
    if len(signs) > 1:
        raise StoreError(
            f"'{path}' may be separated by {SEPARATORS[signs[0]]} or by {SEPARATORS[signs[1]]}: put a line "
            f"'sep={signs[0]}' or 'sep={signs[1]}' before the header"
        )
    return signs[0]
