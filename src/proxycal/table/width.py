"""What many columns cost: said before a fit, since its time grows with the square of their number."""

from __future__ import annotations

from proxycal.table.audited import Trouble
from proxycal.table.wording import counted

# Seconds of a fit of 2,000 rows with 200 columns, and how they grow at most. Measured: 3, 21 and 22 s
# with 100, 200 and 300 columns; how many components the noise takes decides most and is seen only later.
SECONDS, ROWS, COLUMNS, POWER = 21.0, 2000, 200, 2.0
# Shorter than this nobody needs to be told.
LONG = 15.0


def wide_seconds(rows: int, columns: int) -> float:
    """Seconds that the model comparison may take because of the number of (encoded) columns.

    >>> round(wide_seconds(2000, 200)), round(wide_seconds(2000, 20), 2)
    (21, 0.21)
    """
    return float(SECONDS * rows / ROWS * (columns / COLUMNS) ** POWER)


def costly(rows: int, columns: int) -> list[Trouble]:
    """A forecast where a fit takes long because of its columns."""
    seconds = wide_seconds(rows, columns)
    if columns < COLUMNS / 2 or seconds < LONG:
        return []
    return [
        Trouble(
            f"{counted(rows, 'row')} for {counted(columns, 'encoded column')}",
            f"A fit with this many columns may take up to {_in_words(seconds)}; with half of them, "
            f"{_in_words(seconds / 2**POWER)}.",
            "Wait, or keep the proxies that measure the content most directly, or the mean of similar ones.",
            float(columns),
        )
    ]


def _in_words(seconds: float) -> str:
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} seconds"
    return f"{round(seconds / 60)} minutes" if seconds < 5400 else f"{round(seconds / 3600)} hours"
