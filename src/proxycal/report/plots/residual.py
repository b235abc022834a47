"""Plot: outcome minus its content prediction, as a histogram with the fitted mixture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.report.plots.fit_scale import on_fit_scale
from proxycal.report.plots.plot import Plot
from proxycal.report.style import BIASED, INK, UNBIASED, label, legend, plain, short, styled
from proxycal.report.summary import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.result import Fit


def residual(fit: Fit, ax: Axes | None = None) -> Axes:
    """Outcome minus content, each row split into its biased and its unbiased part by p_biased."""
    ax = styled(ax, height=3.3)
    rows = on_fit_scale(fit)
    gap = rows.y - rows.mu
    # The outermost rows would squeeze everything else into a few bars; they count in the first and the last.
    low, high = np.quantile(gap, [0.001, 0.999])
    low, high = (low, high) if high > low else (low - 0.5, low + 0.5)
    bins = np.linspace(low, high, int(np.clip(np.sqrt(len(gap)), 15, 60)) + 1)
    inside = np.clip(gap, low, high)
    p, weights = rows.p_biased, rows.weights
    ax.hist(
        [inside, inside],
        bins=list(bins),
        weights=[weights * (1 - p), weights * p],
        stacked=True,
        color=[UNBIASED, BIASED],
        label=["unbiased", "biased"],
    )
    ax.axvline(0.0, color=INK, linewidth=1.0, linestyle=":")
    shift = fit.settings.sign * fit.estimate.alpha
    if np.isfinite(shift):
        ax.axvline(shift, color=INK, linewidth=1.0, linestyle="--")
        ax.annotate(
            plain(f"estimated bias {number(shift)}"),
            xy=(shift, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            color=INK,
            fontsize=9,
        )
    label(
        ax,
        f"log of {short(fit.roles.outcome)} minus what its content predicts"
        if fit.settings.scale == "log"
        else f"{short(fit.roles.outcome)} minus what its content predicts (mu)",
        "rows" if bool(np.all(weights == 1.0)) else "weight",
    )
    _fitted_curve(ax, fit, bins, float(weights.sum()))
    legend(ax)
    return ax


def _fitted_curve(ax: Axes, fit: Fit, bins: np.ndarray, total: float) -> None:
    """What the fitted mixture expects in a bar centred on each place: all rows, and those without a bias."""
    curve = fit.method_fit.details.curve
    if curve is None:
        return
    at = curve.at
    half = (bins[1] - bins[0]) / 2.0
    x = np.linspace(bins[0] + half, bins[-1] - half, 300)

    def expected(below: np.ndarray) -> np.ndarray:
        return total * (np.interp(x + half, at, below) - np.interp(x - half, at, below))

    unbiased = expected(curve.unbiased)
    ax.plot(x, unbiased + expected(curve.biased), color=INK, linewidth=1.6, label="fitted mixture")
    ax.plot(x, unbiased, color=INK, linewidth=1.0, linestyle=(0, (4, 2)), label="its unbiased part")


PLOT = Plot(
    kind="residual",
    section="evidence",
    title="Outcome minus its content prediction",
    alt=lambda fit: (
        f"Histogram of {fit.roles.outcome} minus its content prediction, split into unbiased and biased rows."
    ),
    caption=lambda fit: (
        ("Logarithms of the rows above zero. " if fit.settings.scale == "log" else "")
        + "A reporting bias shows as a second copy of the distribution, shifted to the dashed line. Each row "
        "counts towards both colours, by its probability of being biased."
        + (
            ""
            if fit.method_fit.details.curve is None
            else " The solid line is the fitted mixture, the dashed curve its unbiased part."
        )
    ),
    draw=residual,
    wide=True,
)
