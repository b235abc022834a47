"""Plot: the errors that validated rows show, beside those that the fit expects of them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from proxycal.report.numbers import between, counted
from proxycal.report.plots.plot import Plot
from proxycal.report.style import BIASED, INK, MUTED, label, legend, short, styled, tip_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.result import Fit


def gaps(fit: Fit, ax: Axes | None = None) -> Axes:
    """Histogram of report minus truth in validated rows, and of what calibration subtracts from them."""
    ax = styled(ax, height=3.3)
    own = fit.method_fit.details.gaps
    assert own is not None  # `lacking` says where there are none
    sign = fit.settings.sign
    seen, expected = sign * own.seen, sign * own.expected
    low, high = np.quantile(np.concatenate([seen, expected]), [0.002, 0.998])
    low, high = (low, high) if high > low else (low - 0.5, low + 0.5)
    bins = np.linspace(low, high, int(np.clip(2.0 * np.sqrt(len(seen)), 15, 50)) + 1)
    counts, _, bars = ax.hist(
        np.clip(seen, low, high), bins=list(bins), color=BIASED, alpha=0.55, label="report minus truth"
    )
    places = zip(counts, pairwise(bins), strict=True)
    tip_bars(bars, (f"{counted(count)} off by {between(*ends)}" for count, ends in places))
    ax.hist(
        np.clip(expected, low, high),
        bins=list(bins),
        histtype="step",
        color=INK,
        linewidth=1.4,
        label="what calibration subtracts",
    )
    ax.axvline(0.0, color=MUTED, linewidth=1.0, linestyle=":")
    label(ax, f"error of {short(fit.roles.outcome)}", "validated rows")
    legend(ax)
    return ax


def _reading(fit: Fit) -> str:
    shape = [finding.reading for finding in fit.method_fit.findings if finding.topic == "error-shape"]
    return " ".join(shape)


PLOT = Plot(
    kind="gaps",
    section="evidence",
    title="Errors of validated rows",
    alt=lambda fit: (
        "Histogram of report minus truth in validated rows, and of what calibration subtracts from them."
    ),
    caption=lambda fit: (
        f"{_reading(fit)} The line shows what calibration subtracts from the same rows when it has not seen "
        "their truth."
    ),
    draw=gaps,
    lacking=lambda fit: (
        ""
        if fit.method_fit.details.gaps is not None
        else "it needs validated rows: name their column as the role truth and fit with method='validated'"
    ),
    wide=True,
)
