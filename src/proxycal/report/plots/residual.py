"""Plot: outcome minus its content prediction, as a histogram with the fitted mixture."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from proxycal.report.helps import detectable
from proxycal.report.numbers import between, counted, number, signed_size
from proxycal.report.plots.fit_scale import on_fit_scale
from proxycal.report.plots.plot import Plot
from proxycal.report.rows import what_content_is
from proxycal.report.style import BIASED, INK, UNBIASED, label, legend, mark, plain, short, styled, tip_bars
from proxycal.report.summary import ratio_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.result import Fit


# Points of the fitted curve in the width of a bar, and how far it is smoothed, in bars.
PER_BAR, SMOOTH = 16, 0.5


def residual(fit: Fit, ax: Axes | None = None) -> Axes:
    """Outcome minus content, each row split into its biased and its unbiased part by p_biased."""
    ax = styled(ax, height=3.3)
    rows = on_fit_scale(fit)
    gap = rows.y - rows.mu
    weights = rows.weights
    none_found = fit.verdict == "no bias found"
    if none_found:
        # The content prediction is that of a model with a bias; without one, what is left has mean 0.
        gap = gap - float(np.average(gap, weights=weights))
    # The outermost rows would squeeze everything else into a few bars; they count in the first and the last.
    low, high = np.quantile(gap, [0.001, 0.999])
    low, high = (low, high) if high > low else (low - 0.5, low + 0.5)
    bins = np.linspace(low, high, int(np.clip(np.sqrt(len(gap)), 15, 60)) + 1)
    inside = np.clip(gap, low, high)
    if none_found:
        counts, _, bars = ax.hist(inside, bins=list(bins), weights=weights, color=UNBIASED)
        places = zip(counts, pairwise(bins), strict=True)
        tip_bars(bars, (f"{between(*ends)}: {counted(count)}" for count, ends in places))
    else:
        _split_bars(ax, inside, bins, rows.p_biased, weights)
    ax.axvline(0.0, color=INK, linewidth=1.0, linestyle=":")
    _mark(ax, fit)
    label(
        ax,
        f"{'log of ' if fit.settings.scale == 'log' else ''}{short(fit.roles.outcome, 20)} minus content "
        "prediction",
        "rows" if bool(np.all(weights == 1.0)) else "weight",
    )
    if not none_found:
        _fitted_curve(ax, fit, bins, float(weights.sum()))
        legend(ax)
    return ax


def _split_bars(ax: Axes, gap: np.ndarray, bins: np.ndarray, p: np.ndarray, weights: np.ndarray) -> None:
    """A histogram whose bars are split into unbiased and biased rows."""
    (unbiased, both), _, parts = ax.hist(
        [gap, gap],
        bins=list(bins),
        weights=[weights * (1 - p), weights * p],
        stacked=True,
        color=[UNBIASED, BIASED],
        label=["unbiased", "biased"],
    )
    texts = [
        f"{between(*ends)}: {counted(every)}, of which {number(every - clean, 3)} biased"
        for clean, every, ends in zip(unbiased, both, pairwise(bins), strict=True)
    ]
    for bars in (parts[0], parts[1]):  # type: ignore[index]
        tip_bars(bars, texts)


def _mark(ax: Axes, fit: Fit) -> None:
    """A line at the bias: at its estimate, or where none was found at the size that would have been."""
    size, text = fit.estimate.alpha, f"estimated bias {signed_size(fit.estimate, fit.settings.sign)}"
    if fit.settings.scale == "log":
        text = f"biased rows: {ratio_text(fit, fit.estimate)}"
    if fit.verdict == "not identified":
        text = "the bias, if there is one"
    elif fit.verdict == "no bias found":
        size, text = detectable(fit), "would have been found"
    if not np.isfinite(size):
        return
    shift = fit.settings.sign * size
    mark(ax, shift, plain(text), "--")


def _fitted_curve(ax: Axes, fit: Fit, bins: np.ndarray, total: float) -> None:
    """What the fitted mixture expects in a bar centred on each place: all rows, and those without a bias."""
    curve = fit.method_fit.details.curve
    if curve is None:
        return
    at = curve.at
    width = bins[1] - bins[0]
    half = width / 2.0
    # A few bars more on either side, so that smoothing sees what lies beyond the ends.
    x = np.arange(bins[0] - 3.0 * width, bins[-1] + 3.0 * width, width / PER_BAR)
    inside = (x >= bins[0]) & (x <= bins[-1])

    def expected(below: np.ndarray) -> np.ndarray:
        exact = total * (np.interp(x + half, at, below) - np.interp(x - half, at, below))
        # A spike at one value is spread by the content of its rows, one step for each of them. The second
        # pass gives back what the first takes off the peaks of the smooth part.
        once = smoothed(exact)
        return np.clip(2.0 * once - smoothed(once), 0.0, None)[inside]

    unbiased = expected(curve.unbiased)
    ax.plot(x[inside], unbiased + expected(curve.biased), color=INK, linewidth=1.6, label="fitted model")
    ax.plot(x[inside], unbiased, color=INK, linewidth=1.0, linestyle=(0, (4, 2)), label="its unbiased part")


def smoothed(heights: np.ndarray) -> np.ndarray:
    """A Gaussian filter, mirrored at the ends: that of scipy.ndimage takes longer to load than to write."""
    sd = SMOOTH * PER_BAR
    reach = round(4.0 * sd)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sd) ** 2)
    return np.convolve(np.pad(heights, reach, mode="symmetric"), kernel / kernel.sum(), mode="valid")


def _caption(fit: Fit) -> str:
    left = (
        "Logarithms of the rows above zero. " if fit.settings.scale == "log" else ""
    ) + "What is left of each report after subtracting what its content predicts. "
    left += f"{what_content_is(fit)} ".lstrip()
    if fit.verdict == "no bias found":
        return (
            left + "A reporting bias would show as a second copy of the distribution, shifted by its size. "
            "Dashed line: a size that would have been found in nine tables of ten like this one."
        )
    shifted = "its size" if fit.verdict == "not identified" else "the estimated bias"
    return (
        left + f"A reporting bias shows as a second copy of the distribution, shifted by {shifted}. Each row "
        "counts towards both colours, by its probability of being biased."
        + (
            ""
            if fit.method_fit.details.curve is None
            else " Solid line: the fitted model of all rows. Dashed curve: of unbiased rows."
        )
    )


PLOT = Plot(
    kind="residual",
    section="evidence",
    title="Outcome minus its content prediction",
    alt=lambda fit: (
        f"Histogram of {fit.roles.outcome} minus its content prediction"
        + ("." if fit.verdict == "no bias found" else ", split into unbiased and biased rows.")
    ),
    caption=_caption,
    draw=residual,
    wide=True,
)
