"""Tables that the page has open: one that was sent, or the example that comes with the package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxycal.app.reproduce import Source
from proxycal.app.tables import Table, read_upload
from proxycal.table.guess import UNUSED, Guess, guess_roles

if TYPE_CHECKING:
    from pathlib import Path

    from proxycal.reading.options import Reading

EXAMPLE = "weights.csv"
_WHY = {
    "outcome": "weight in kilograms; some reports are 20 kg too low",
    "proxies": "measured by staff, who never saw the report",
    "environment": "may drive both the weight and the bias",
    "id": "number of the participant",
}


@dataclass(frozen=True, slots=True)
class Opened:
    """A table with a first choice of roles. `number` tells it from the tables before it on the same page.

    direction : "over" or "under" where the table's maker stated it, else "": it is asked for, never guessed
    """

    number: int
    table: Table
    guesses: tuple[Guess, ...]
    source: Source
    direction: str = ""


def open_upload(number: int, path: Path, name: str, reading: Reading | None = None) -> Opened:
    """The file that was sent, with guessed roles."""
    table = read_upload(path, name, reading)
    return Opened(number, table, guess_roles(table.frame), Source(name, reading=table.reading))


def open_example(number: int, path: Path) -> Opened:
    """Weights with a known bias, written to `path` and read like any file; roles and direction are known."""
    from proxycal.files import write_table
    from proxycal.testing.example import EXAMPLE_ALPHA, biased_weights

    sim = biased_weights(seed=0)
    write_table(sim.table, path)
    table = read_upload(path, EXAMPLE)
    roles = {name: role for role, name in sim.roles}
    guesses = tuple(
        Guess(str(name), roles.get(name, UNUSED), _WHY.get(roles.get(name, UNUSED), "not needed"))
        for name in table.frame.columns
    )
    return Opened(number, table, guesses, Source(EXAMPLE, EXAMPLE_ALPHA), direction="under")
