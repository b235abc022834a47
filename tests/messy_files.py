"""Twelve tables as people keep them, written from one truth that is kept.

    python tests/messy_files.py FOLDER

Each holds the same losses by county under other names and in another mess; truth.csv has what is true of each
row. Where a file cannot be read as it is, `refused` holds what its message must say.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from openpyxl import Workbook

if TYPE_CHECKING:
    from collections.abc import Callable

STATES = ("Alabama", "Georgia", "Kansas", "Nevada", "Ohio", "Texas")
ROWS = 480
# What biased rows report of their loss.
KEPT = 0.4


@dataclass(frozen=True)
class Messy:
    """One file: its name, the names of its columns of each role, and what a reader has to say of it.

    by : the column of the states. options : further options of the commands. refused : words of the message
    where the file cannot be understood, and then nothing else counts.
    """

    name: str
    outcome: str = "reported_loss"
    proxies: tuple[str, ...] = ("flooded_area", "homes_flooded")
    environment: tuple[str, ...] = ("income", "staff")
    by: str = "state"
    options: tuple[str, ...] = ()
    refused: str = ""
    write: Callable[[pd.DataFrame, Path], None] = field(default=lambda table, path: None)


def losses(n: int = ROWS, seed: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    """Losses by county with ordinary columns, and the true loss of each row: (n,)."""
    rng = np.random.default_rng(seed)
    wealth, staff = rng.normal(size=n), rng.normal(size=n)
    size = 11.0 + 0.3 * wealth + 0.9 * rng.normal(size=n)
    low = rng.random(n) < 1.0 / (1.0 + np.exp(0.8 + 1.6 * staff))
    true = np.exp(size + 0.12 * rng.normal(size=n))
    table = pd.DataFrame(
        {
            "fips": [f"{1001 + 2 * i:05d}" for i in range(n)],
            "state": np.sort(rng.choice(STATES, n)),
            "county": [f"County {i + 1}" for i in range(n)],
            "date": pd.date_range("2023-01-02", periods=n, freq="15h").normalize(),
            "reported_loss": np.round(true * np.where(low, KEPT, 1.0)),
            "flooded_area": np.round(np.exp(size - 6.0 + 0.12 * rng.normal(size=n)), 2),
            "homes_flooded": np.ceil(np.exp(0.8 * size - 3.0 + 0.12 * rng.normal(size=n))),
            "income": np.round(52_000.0 + 9_000.0 * wealth),
            "staff": np.round(12.0 + 3.0 * staff, 1),
        }
    )
    return table, true


def noisy(n: int = 1200, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """The same with the noise of ordinary tables, in which proxies show no bias: (n,) is the truth.

    Log sd of the outcome given its content 0.35, of each proxy 0.5; 26% of the rows report 60%.
    """
    rng = np.random.default_rng(seed)
    wealth, staff = rng.normal(size=n), rng.normal(size=n)
    size = 11.0 + 0.3 * wealth + 0.9 * rng.normal(size=n)
    low = rng.random(n) < 1.0 / (1.0 + np.exp(1.53 + 1.6 * staff))
    true = np.exp(size + 0.35 * rng.normal(size=n))
    table = pd.DataFrame(
        {
            "fips": [f"{1001 + 2 * i:05d}" for i in range(n)],
            "state": np.sort(rng.choice(STATES, n)),
            "reported_loss": np.round(true * np.where(low, 0.6, 1.0)),
            "flooded_area": np.round(np.exp(size - 6.0 + 0.5 * rng.normal(size=n)), 2),
            "homes_flooded": np.ceil(np.exp(size - 6.0 + 0.5 * rng.normal(size=n))),
            "income": np.round(52_000.0 + 9_000.0 * wealth),
            "staff": np.round(12.0 + 3.0 * staff, 1),
        }
    )
    return table, true


def truths(table: pd.DataFrame, true: np.ndarray) -> pd.Series:
    """The true total of each state, and of all rows."""
    by_state = pd.Series(true).groupby(table["state"].to_numpy()).sum()
    return pd.concat([by_state, pd.Series({"overall": true.sum()})])


def _rows(table: pd.DataFrame) -> list[list[Any]]:
    return [[_plain(value) for value in row] for row in table.astype(object).to_numpy()]


def _plain(value: Any) -> Any:
    if isinstance(value, pd.Timestamp):
        return value.to_pydatetime()
    return value.item() if isinstance(value, np.generic) else value


def _save(lines: list[list[Any]], path: Path, name: str = "Sheet1") -> Workbook:
    book = Workbook()
    sheet = book.active
    sheet.title = name
    for line in lines:
        sheet.append(line)
    book.save(path)
    return book


def cover_sheet(table: pd.DataFrame, path: Path) -> None:
    """A cover and a list of codes beside the table."""
    book = Workbook()
    cover = book.active
    cover.title = "Read me"
    for line in (["Flood losses 2023"], ["Prepared by the Office of Emergency Management"], ["Version", 3]):
        cover.append(line)
    codes = book.create_sheet("Codes")
    codes.append(["code", "meaning"])
    for at, state in enumerate(STATES):
        codes.append([at + 1, state])
    data = book.create_sheet("Losses by county")
    data.append(list(table.columns))
    for line in _rows(table):
        data.append(line)
    book.save(path)


def title_rows(table: pd.DataFrame, path: Path) -> None:
    """Three lines and a gap above the names."""
    titles = [["Reported flood losses by county, 2023"], ["Source: county emergency managers"], ["Draft"], []]
    _save([*titles, list(table.columns), *_rows(table)], path)


def merged_headers(table: pd.DataFrame, path: Path) -> None:
    """Names in two lines, the upper ones merged over the columns they are for."""
    names = ["FIPS", "State", "County", "Date", "reported", "area", "homes", "income", "staff"]
    upper = ["County", None, None, None, "Loss", "Flooded", None, "Circumstances", None]
    book = _save([upper, names, *_rows(table)], path)
    for cells in ("A1:D1", "F1:G1", "H1:I1"):
        book.active.merge_cells(cells)
    book.save(path)


def subtotals(table: pd.DataFrame, path: Path) -> None:
    """A total after each state, and of all."""
    sums = ["reported_loss", "flooded_area", "homes_flooded"]
    lines: list[list[Any]] = [list(table.columns)]

    def total(label: str, rows: pd.DataFrame) -> list[Any]:
        known = {"county": label, **{name: _plain(rows[name].sum()) for name in sums}}
        return [known.get(name) for name in table.columns]

    for state, rows in table.groupby("state"):
        lines += [*_rows(rows), total(f"Total {state}", rows)]
    _save([*lines, total("Grand total", table)], path)


def footnotes(table: pd.DataFrame, path: Path) -> None:
    """Gaps between blocks and remarks below."""
    lines: list[list[Any]] = [list(table.columns)]
    for _, rows in table.groupby("state"):
        lines += [*_rows(rows), []]
    lines += [["* preliminary"], ["Losses of uninsured homes are estimates of the counties."]]
    _save([*lines, ["Source: state offices; downloaded on 3 March 2024"]], path)


def signs(table: pd.DataFrame, path: Path) -> None:
    """Dollars with their sign and per cent with theirs, in a CSV."""
    share = table["staff"] / 25.0
    changed = table.assign(
        reported_loss=[f"${value:,.2f}" for value in table["reported_loss"]],
        income=[f"${value:,.0f}" for value in table["income"]],
        staff=[f"{value:.1%}" for value in share],
        homes_flooded=[f"{value:,.0f}" for value in table["homes_flooded"]],
    )
    changed.to_csv(path, index=False)


def no_answers(table: pd.DataFrame, path: Path) -> None:
    """What people write where they have no number."""
    changed = table.astype({"income": object, "staff": object, "homes_flooded": object})
    for at, (name, text) in enumerate(
        (("income", "n/a"), ("income", "unknown"), ("staff", "-"), ("homes_flooded", "#REF!"))
    ):
        changed.loc[changed.index[at + 5 :: 97], name] = text
    _save([list(changed.columns), *_rows(changed)], path)


def european(table: pd.DataFrame, path: Path) -> None:
    """Semicolons, decimal commas, points between thousands, days first."""

    def german(value: float, digits: int) -> str:
        return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))

    changed = pd.DataFrame(
        {
            "AGS": table["fips"],
            "Land": table["state"],
            "Kreis": table["county"],
            "Datum": table["date"].dt.strftime("%d.%m.%Y"),
            "gemeldeter Schaden": [german(value, 2) for value in table["reported_loss"]],
            "Fläche": [german(value, 2) for value in table["flooded_area"]],
            "Häuser": [german(value, 0) for value in table["homes_flooded"]],
            "Einkommen": [german(value, 0) for value in table["income"]],
            "Personal": [german(value, 1) for value in table["staff"]],
        }
    )
    changed.to_csv(path, index=False, sep=";", encoding="utf-8-sig")


def latin_1(table: pd.DataFrame, path: Path) -> None:
    """Accents in an old encoding, and dates as text with the name of the month."""
    changed = table.assign(
        county=[f"Cañón {at + 1}" for at in range(len(table))],
        date=table["date"].dt.strftime("%d %B %Y"),
    ).rename(columns={"reported_loss": "pérdida_reportada", "flooded_area": "área", "homes_flooded": "casas"})
    changed.to_csv(path, index=False, encoding="latin-1")


def two_tables(table: pd.DataFrame, path: Path) -> None:
    """A small table of the states to the right, behind an empty column."""
    counts = table.groupby("state")["reported_loss"].agg(["size", "sum"]).reset_index()
    beside = [["State", "Counties", "Reported"], *_rows(counts)]
    lines = []
    for at, line in enumerate([list(table.columns), *_rows(table)]):
        lines.append([*line, None, *(beside[at] if at < len(beside) else [])])
    _save(lines, path)


def units_row(table: pd.DataFrame, path: Path) -> None:
    """The units in a line of their own below the names."""
    units = ["", "", "", "", "USD", "km2", "number", "USD", "persons"]
    _save([list(table.columns), units, *_rows(table)], path)


def doubled_names(table: pd.DataFrame, path: Path) -> None:
    """Two columns of one name: nobody can say which of them is meant."""
    doubled = table.assign(before=(0.9 * table["reported_loss"]).round())
    names = ["reported_loss" if name == "before" else name for name in doubled.columns]
    doubled.set_axis(names, axis=1).to_csv(path, index=False)


ALL = (
    Messy("cover sheet.xlsx", write=cover_sheet),
    Messy("title rows.xlsx", write=title_rows),
    Messy(
        "merged headers.xlsx",
        outcome="Loss / reported",
        proxies=("Flooded / area", "Flooded / homes"),
        environment=("Circumstances / income", "Circumstances / staff"),
        by="County / State",
        write=merged_headers,
    ),
    Messy("subtotals.xlsx", options=("--total-rows", "drop"), write=subtotals),
    Messy("footnotes.xlsx", write=footnotes),
    Messy("dollars and per cent.csv", write=signs),
    Messy("no answers.xlsx", options=("--missing", "impute"), write=no_answers),
    Messy(
        "European.csv",
        outcome="gemeldeter Schaden",
        proxies=("Fläche", "Häuser"),
        environment=("Einkommen", "Personal"),
        by="Land",
        write=european,
    ),
    Messy("latin-1.csv", outcome="pérdida_reportada", proxies=("área", "casas"), write=latin_1),
    Messy("two tables.xlsx", write=two_tables),
    Messy("units row.xlsx", write=units_row),
    Messy("doubled names.csv", refused="reported_loss", write=doubled_names),
)


def write_all(folder: Path) -> pd.Series:
    """Write the twelve files and truth.csv; the true totals by state are returned."""
    table, true = losses()
    for messy in ALL:
        messy.write(table, folder / messy.name)
    table[["fips", "state"]].assign(true_loss=true).to_csv(folder / "truth.csv", index=False)
    return truths(table, true)


if __name__ == "__main__":
    print(write_all(Path(sys.argv[1])).to_string())
