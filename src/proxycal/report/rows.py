"""The rows that the page lists and its pictures show, named as the reader knows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.result import plain
from proxycal.table.surface import in_file

if TYPE_CHECKING:
    from proxycal.result import Fit

# A few thousand points already fill a picture; more only make the file heavy.
MAX_ROWS = 3000
# Rows in the table of the page before a reader asks for more.
FIRST_ROWS = 10
# Sizes that differ by less than this share of the largest are one size, computed row by row.
ALIKE = 1e-3
# The first row of data in a spreadsheet: the row of the headings comes before it.
_FIRST_OF_FILE = 2


@dataclass(frozen=True, slots=True)
class RowTable:
    """Rows of a fit, those that calibration changes most first.

    heading : what their names are, "" where they have none. places : (m,) positions among the rows of the
    fit. names : (m,) text. reported, calibrated, low, high, p_biased : (m,) as numbers that JSON has.
    """

    heading: str
    places: np.ndarray
    names: list[str]
    reported: list[Any]
    calibrated: list[Any]
    low: list[Any]
    high: list[Any]
    p_biased: list[Any]

    def to_dict(self, fit: Fit) -> dict[str, Any]:
        """What the script of the page reads: the rows, and for each dot of a picture its row among them."""
        line = {place: i for i, place in enumerate(self.places.tolist())}
        return {
            "heading": self.heading,
            "calibrated": not fit.why_left_alone,
            "data": self.records(len(self.names)),
            "dots": [line[place] for place in dotted(fit).tolist()],
        }

    def records(self, most: int = FIRST_ROWS) -> list[tuple[Any, ...]]:
        """The first rows, a tuple each: name, reported, calibrated, low, high, p_biased."""
        columns = (self.names, self.reported, self.calibrated, self.low, self.high, self.p_biased)
        return list(zip(*columns, strict=True))[:most]


def thinned(fit: Fit) -> np.ndarray:
    """Positions of at most `MAX_ROWS` rows, evenly spaced."""
    n = len(fit.rows.y_obs)
    return np.linspace(0, n - 1, min(n, MAX_ROWS)).astype(int)


def dotted(fit: Fit) -> np.ndarray:
    """Positions of the rows that pictures show as dots: on the log scale zeros have no place."""
    rows = thinned(fit)
    return rows[fit.rows.y_obs[rows] > 0.0] if fit.settings.scale == "log" else rows


def row_sizes(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Sizes (n,) of the bias in the stated direction, and the weight of each row: its own, by its chance."""
    predicted = fit.rows.predicted
    chance = predicted.p_biased
    seen = chance > 1e-3
    size = np.abs(predicted.shift[seen]) / chance[seen]
    return size, (fit.rows.weights * chance)[seen]


def sizes_vary(fit: Fit) -> bool:
    """Whether biased rows differ in the size of their bias: a wider law may speak of who is biased only."""
    size, _ = row_sizes(fit)
    return len(size) > 0 and bool(np.ptp(size) > ALIKE * np.max(size))


def row_table(fit: Fit) -> RowTable:
    """The rows as the page lists them."""
    rows = fit.rows
    places = thinned(fit)
    places = places[np.argsort(-np.abs(rows.predicted.shift[places]), kind="stable")]
    heading, names = row_names(fit)
    predicted = rows.predicted
    return RowTable(
        heading,
        places,
        [names[place] for place in places] if heading else [""] * len(places),
        *(
            [plain(float(f"{value:.6g}"), None) for value in values[places]]
            for values in (
                rows.y_obs,
                predicted.y_cal,
                predicted.y_cal_low,
                predicted.y_cal_high,
                predicted.p_biased,
            )
        ),
    )


def row_names(fit: Fit) -> tuple[str, list[str]]:
    """What the rows shown are called, with a heading; nothing where they are a sample of the fitted rows.

    A reader of a file knows the rows by their numbers there, a reader of a frame by its index.
    """
    names = fit.labels.astype(str).tolist()
    if len(names) != len(fit.rows.y_obs):
        return "", []
    if fit.roles.id is not None:
        return fit.roles.id, names
    if in_file() and all(name.isdecimal() for name in names):
        return "row", [f"{int(name) + _FIRST_OF_FILE}" for name in names]
    return "index", names


def what_content_is(fit: Fit) -> str:
    """What a picture says of the content prediction where a truth has several reports."""
    if not fit.roles.reports:
        return ""
    also = " and the proxies" if fit.roles.proxies else ""
    return f" The content prediction of a report is what the other reports of its row{also} say."
