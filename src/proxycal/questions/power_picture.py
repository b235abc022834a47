"""The picture of power: the chance of finding a bias, by its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.report.style import BIASED, INK, MUTED, UNBIASED, label, styled
from proxycal.report.summary import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def power_curve(
    alphas: np.ndarray,
    chance: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    detectable: float,
    ax: Axes | None = None,
) -> Axes:
    """Chance of "bias found" by size in sds, each (m,), with pointwise 95% intervals; size 0 in red."""
    ax = styled(ax, height=3.3)
    none = alphas == 0.0
    # Sizes are tried on a grid that widens, with 0 on it: evenly spaced places, not a scale.
    place = np.arange(len(alphas), dtype=float)
    errors = np.clip(np.vstack([chance - low, high - chance]), 0.0, None)
    ax.plot(place[~none], chance[~none], color=UNBIASED, linewidth=1.4)
    for part, colour in ((~none, UNBIASED), (none, BIASED)):
        ax.errorbar(place[part], chance[part], errors[:, part], fmt="o", color=colour, markersize=4.5)
    ax.axhline(0.9, color=MUTED, linewidth=0.8, linestyle=":")
    if np.isfinite(detectable):
        at = float(np.interp(detectable, alphas, place))
        left = at > place[-1] / 2.0
        ax.axvline(at, color=INK, linewidth=1.0, linestyle="--")
        ax.annotate(
            f"90% from {number(detectable)} sd on",
            xy=(at, 0.0),
            xytext=(-4 if left else 4, 4),
            textcoords="offset points",
            ha="right" if left else "left",
            color=INK,
            fontsize=9,
        )
    ax.set_xticks(place.tolist(), [number(float(size)) for size in alphas])
    ax.set_xlim(-0.4, place[-1] + 0.4)
    ax.set_ylim(-0.03, 1.05)
    label(ax, "injected bias, in standard deviations of the outcome", 'chance of "bias found"')
    return ax
