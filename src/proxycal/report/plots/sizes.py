"""Plot: how large the bias of the biased rows is, where sizes vary."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from proxycal.report.numbers import between, counted, size_text
from proxycal.report.plots.plot import Plot
from proxycal.report.rows import row_sizes, sizes_vary
from proxycal.report.style import BIASED, label, mark, short, styled, tip_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.result import Fit

BINS = 40


def sizes(fit: Fit, ax: Axes | None = None) -> Axes:
    """The size of each row's bias, if it has one, with the weight of its being biased."""
    ax = styled(ax, height=2.6)
    size, chance = row_sizes(fit)
    counts, bins, bars = ax.hist(size, bins=BINS, weights=chance, color=BIASED, alpha=0.55)
    places = zip(counts, pairwise(bins), strict=True)
    tip_bars(bars, (f"{counted(count)} with a bias of {between(*ends)}" for count, ends in places))
    mark(ax, fit.estimate.alpha, f"mean {size_text(fit.estimate).size}")
    label(ax, f"size of the bias of a biased row of {short(fit.roles.outcome)}", "rows")
    return ax


PLOT = Plot(
    kind="sizes",
    section="evidence",
    title="How large the bias is",
    alt=lambda fit: "Histogram of the sizes of the bias over the biased rows, with their mean.",
    caption=lambda fit: (
        f"Biased rows differ in the size of their bias: {fit.method_fit.details.law}. The size of a row is "
        "estimated from its report and its content, and shrunk towards the mean; each row counts by its "
        "probability of being biased."
    ),
    draw=sizes,
    lacking=lambda fit: (
        ""
        if fit.verdict == "bias found" and fit.method_fit.details.law and sizes_vary(fit)
        else "all biased rows have a bias of the same size, or no bias was found"
    ),
)
