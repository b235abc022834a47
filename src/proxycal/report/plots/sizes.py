"""Plot: how large the bias of the biased rows is, where sizes vary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.report.plots.plot import Plot
from proxycal.report.style import BIASED, INK, label, styled
from proxycal.report.summary import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.result import Fit

BINS = 40


def sizes(fit: Fit, ax: Axes | None = None) -> Axes:
    """The size of each row's bias, if it has one, with the weight of its being biased."""
    ax = styled(ax, height=2.6)
    size, chance = _sizes(fit)
    ax.hist(size, bins=BINS, weights=chance, color=BIASED, alpha=0.55)
    ax.axvline(fit.estimate.alpha, color=INK, linewidth=1.0, linestyle=":")
    ax.annotate(
        f"mean {number(fit.estimate.alpha)}",
        xy=(fit.estimate.alpha, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        color=INK,
        fontsize=9,
    )
    label(ax, "size of the bias of a biased row", "rows")
    return ax


def _sizes(fit: Fit) -> tuple[np.ndarray, np.ndarray]:
    """Sizes (n,) in the stated direction, and the weight of each row: its own, by its chance of a bias."""
    predicted = fit.rows.predicted
    chance = predicted.p_biased
    seen = chance > 1e-3
    size = np.abs(predicted.shift[seen]) / chance[seen]
    return size, (fit.rows.weights * chance)[seen]


PLOT = Plot(
    kind="sizes",
    section="evidence",
    title="How large the bias is",
    alt=lambda fit: "Histogram of the sizes of the bias over the biased rows, with their mean.",
    caption=lambda fit: (
        f"The law that won: {fit.method_fit.details.law}. The size of a row is what its outcome and its "
        "content make of it, drawn towards the others of its kind; rows count by their chance of a bias."
    ),
    draw=sizes,
    lacking=lambda fit: (
        ""
        if fit.verdict == "bias found" and fit.method_fit.details.law
        else "one size serves all biased rows, or no bias was found"
    ),
)
