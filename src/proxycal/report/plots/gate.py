"""Plot: what predicts being biased, as odds ratios of the environment columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from proxycal.report.numbers import between, number
from proxycal.report.plots.plot import Plot
from proxycal.report.style import BIASED, INK, MUTED, label, plain, short, styled, tip
from proxycal.report.summary import gate_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.result import Fit, GateTerm


def gate(fit: Fit, ax: Axes | None = None) -> Axes:
    """What multiplies the odds of being biased, by environment column, with pointwise intervals."""
    terms = fit.method_fit.details.gate
    ax = styled(ax, height=1.0 + 0.27 * len(terms))
    for y, row in enumerate(terms):
        sure = row.low > 1.0 or row.high < 1.0
        colour = BIASED if sure else MUTED
        parts = ax.plot([row.odds], [y], "o" if sure else "D", color=colour, markersize=6 if sure else 5)
        if np.isfinite(row.low) and np.isfinite(row.high):
            parts += ax.plot([row.low, row.high], [y, y], color=colour, linewidth=2.0, solid_capstyle="butt")
        for part in parts:
            interval = between(row.low, row.high, 3)
            tip(part, f"{gate_label(row)}: odds times {number(row.odds, 3)}, interval {interval}")
    ax.set_xscale("log")
    ax.axvline(1.0, color=INK, linewidth=1.0, linestyle=":")
    # Odds of this kind often span less than a factor of ten: ticks at 1, 2, 5 of each power.
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_yticks(range(len(terms)), [plain(short(_name(row), 28)) for row in terms])
    ax.set_ylim(len(terms) - 0.4, -0.6)
    label(ax, f"odds ratio, {fit.settings.level * 100:g}% intervals", "")
    ax.grid(axis="y", visible=False)
    return ax


def _name(row: GateTerm) -> str:
    """What changes, without the level that it is compared with: there is no room for both."""
    return gate_label(row) if row.level is None else f"{row.column}: {row.level}"


def _caption(fit: Fit) -> str:
    levels = any(row.reference for row in fit.method_fit.details.gate)
    return (
        "With the other columns held fixed. "
        + (
            "A level is compared with the reference level of its column, which the table names. "
            if levels
            else ""
        )
        + f"Grey: the {fit.settings.level * 100:g}% interval includes 1, no difference."
    )


PLOT = Plot(
    kind="gate",
    section="who",
    title="What predicts being biased",
    alt=lambda fit: "Odds ratios of being biased by environment column; the table beside it has the numbers.",
    caption=_caption,
    draw=gate,
    lacking=lambda fit: (
        ""
        if fit.method_fit.details.gate
        else f"method='{fit.settings.method}' has no model of who is biased: fit with method='exact'"
    ),
)
