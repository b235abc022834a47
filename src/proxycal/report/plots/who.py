"""Plot: the share of biased rows by groups of each environment column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.report.numbers import percent
from proxycal.report.plots.plot import Plot
from proxycal.report.style import BIASED, INK, label, mark, plain, short, styled, tip
from proxycal.report.summary import ShareRow, shares, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.result import Fit

# Columns shown: those in which the share of biased rows varies most.
MAX_COLUMNS = 6


def who(fit: Fit, ax: Axes | None = None) -> Axes:
    """Share of biased rows by the groups of each environment column, with pointwise intervals."""
    rows = _widest(shares(fit))
    ax = styled(ax, height=0.9 + 0.24 * (len(rows) + len({row.column for row in rows})))
    ticks: list[float] = []
    labels: list[str] = []
    y = 0.0
    column = None
    for row in rows:
        if row.column != column:
            column = row.column
            ax.annotate(
                plain(short(row.column)),
                xy=(0.0, y),
                xycoords=("axes fraction", "data"),
                xytext=(-4, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                color=INK,
                fontsize=9.5,
                fontweight="bold",
            )
            y += 1.0
        band = ax.plot(
            [row.low, row.high], [y, y], color=BIASED, linewidth=2.0, solid_capstyle="butt", alpha=0.55
        )
        dot = ax.plot([row.share], [y], "o", color=BIASED, markersize=5)
        for part in (*band, *dot):
            words = (
                f"{percent(row.share)} of {row.n:,} rows, interval {percent(row.low)} to {percent(row.high)}"
            )
            tip(part, f"{row.column} {row.group}: {words}")
        ticks.append(y)
        labels.append(plain(short(row.group, 20)))
        y += 1.0
    mark(ax, fit.share_biased, f"all rows {percent(fit.share_biased)}")
    ax.set_yticks(ticks, labels)
    ax.set_ylim(y - 0.3, -0.7)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0%", "25%", "50%", "75%", "100%"])
    label(ax, "share of rows that are biased", "")
    ax.grid(axis="y", visible=False)
    return ax


def _widest(rows: tuple[ShareRow, ...]) -> list[ShareRow]:
    reach = spread(rows)
    kept = sorted(reach, key=lambda name: -reach[name])[:MAX_COLUMNS]
    return [row for name in kept for row in rows if row.column == name]


PLOT = Plot(
    kind="who",
    section="who",
    title="Share of biased rows",
    alt=lambda fit: (
        f"Share of biased {fit.roles.outcome} reports by groups of the environment columns; the table has "
        "the numbers."
    ),
    caption=lambda fit: (
        "Mean probability of bias by level or quartile, with pointwise "
        f"{fit.settings.level * 100:g}% intervals that take the fit as given."
        + (
            f" Shown: the {MAX_COLUMNS} columns in which the share varies most; the table has all."
            if len(fit.rows.environment) > MAX_COLUMNS
            else ""
        )
    ),
    draw=who,
    lacking=lambda fit: "" if fit.rows.environment else "the fit has no environment column: declare one",
)
