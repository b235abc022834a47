"""Plot: reported and calibrated totals of groups of rows, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import AutoLocator, FuncFormatter

from proxycal.report.numbers import amount, total_text
from proxycal.report.plots.plot import Plot
from proxycal.report.style import BIASED, INK, MUTED, label, plain, short, styled, tip
from proxycal.report.summary import change_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.effect.grouped import Totals
    from proxycal.result import Fit

# Groups shown: the largest of the column in which calibration differs most.
MAX_GROUPS = 12


def totals(fit: Fit, ax: Axes | None = None) -> Axes:
    """A line per group from what was reported to what is calibrated, with the interval of the latter."""
    shown = shown_totals(fit)
    rows = shown.records()
    rows = sorted(rows[:-1], key=lambda row: -row["calibrated"])[:MAX_GROUPS] if shown.by else rows
    ax = styled(ax, height=1.3 + 0.3 * len(rows))
    for y, row in enumerate(rows):
        # Dark over light: the interval, then both values.
        band = ax.plot([row["low"], row["high"]], [y, y], color=BIASED, linewidth=5.0, alpha=0.35,
                       solid_capstyle="butt", label="interval" if y == 0 else None)  # fmt: skip
        ax.plot([row["reported"], row["calibrated"]], [y, y], color=MUTED, linewidth=0.8, zorder=1)
        before = ax.plot([row["reported"]], [y], "D", color=MUTED, markersize=5, linestyle="none",
                         label="reported" if y == 0 else None)  # fmt: skip
        after = ax.plot([row["calibrated"]], [y], "o", color=BIASED, markersize=6, linestyle="none",
                        label="calibrated" if y == 0 else None)  # fmt: skip
        words = total_text(row)
        tip(before[0], f"{row['group']}: reported {words.reported}")
        for part in (*band, *after):
            tip(part, f"{row['group']}: calibrated {words.calibrated}, interval {words.interval}")
        ax.annotate(change_text(shown, row), xy=(1.0, y), xycoords=("axes fraction", "data"), xytext=(4, 0),
                    textcoords="offset points", va="center", color=INK, fontsize=9.5)  # fmt: skip
    names = [row["group"] if shown.by else "all rows" for row in rows]
    ax.set_yticks(range(len(rows)), [plain(short(name)) for name in names])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    # Places, not bars: from zero on, the intervals of large totals would be too short to see.
    ax.margins(x=0.1)
    ax.xaxis.set_major_locator(AutoLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: brief(value)))
    by = f", by {short(shown.by)}" if shown.by else ""
    label(ax, f"{shown.statistic} of {short(fit.roles.outcome)}{by}", "")
    ax.grid(axis="y", visible=False)
    # Above the axes, whose height changes with the number of groups, and over the names of the groups on a
    # narrow page.
    ax.legend(
        frameon=False,
        fontsize=9.5,
        labelcolor=INK,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=3,
        handlelength=1.2,
        columnspacing=1.2,
    )
    return ax


def brief(value: float) -> str:
    """A number of any size in a few characters.

    >>> brief(12_500_000.0), brief(0.0), brief(-3000.0)
    ('12.5M', '0', '-3K')
    """
    for unit, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        if abs(value) >= unit:
            return f"{value / unit:.4g}{letter}"
    return f"{value:.4g}"


def shown_totals(fit: Fit) -> Totals:
    """The totals of the column whose groups calibration changes most differently, or of all rows."""
    grouped = [part for part in fit.totals if part.by is not None and len(part.labels) > 2]
    return max(grouped, key=_spread) if grouped else fit.totals[0]


def _spread(part: Totals) -> float:
    known = part.change_pct[:-1][np.isfinite(part.change_pct[:-1])]
    return float(np.ptp(known)) if len(known) else 0.0


PLOT = Plot(
    kind="totals",
    section="totals",
    title="Before and after calibration",
    alt=lambda fit: (
        f"{fit.totals[0].statistic.capitalize()} of {fit.roles.outcome}: reported "
        f"{amount(float(fit.totals[0].reported[-1]))}, calibrated "
        f"{amount(float(fit.totals[0].calibrated[-1]))}; the table has those of groups."
    ),
    caption=lambda fit: (
        f"From the reported to the calibrated {fit.totals[0].statistic}, with its "
        f"{fit.settings.level * 100:g}% interval as a band. Right: the change."
    ),
    draw=totals,
    lacking=lambda fit: (
        ""
        if fit.totals
        else "the table was read in pieces: `proxycal totals RUN TABLE` or model.totals adds it up"
    ),
    on_page=lambda fit: fit.verdict == "bias found",
    wide=True,
)
