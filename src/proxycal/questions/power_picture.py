"""The picture of power: the chance of finding a bias, by its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.questions.power import TARGET
from proxycal.report.numbers import number
from proxycal.report.style import BIASED, MUTED, UNBIASED, label, mark, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.questions.power import Power

TITLE = "What size of bias these rows could show"
ALT = "Chance of the verdict bias found by the size of an injected bias; the table has the numbers."
CAPTION = (
    "Biases of known size were injected into these rows and fitted. The leftmost point has none: how often a "
    "bias is found although there is none."
)


def draw_power(power: Power, ax: Axes | None = None) -> Axes:
    """Chance of "bias found" by size in sds, with pointwise 95% intervals; size 0 in red."""
    ax = styled(ax, height=3.3)
    alphas, chance, low, high = (
        np.array([getattr(point, name) for point in power.points])
        for name in ("alpha", "chance", "low", "high")
    )
    none = alphas == 0.0
    # Sizes are tried on a grid that widens, with 0 on it: evenly spaced places, not a scale.
    place = np.arange(len(alphas), dtype=float)
    errors = np.clip(np.vstack([chance - low, high - chance]), 0.0, None)
    ax.plot(place[~none], chance[~none], color=UNBIASED, linewidth=1.4)
    for part, colour in ((~none, UNBIASED), (none, BIASED)):
        ax.errorbar(place[part], chance[part], errors[:, part], fmt="o", color=colour, markersize=4.5)
    ax.axhline(TARGET, color=MUTED, linewidth=0.8, linestyle=":")
    if np.isfinite(power.detectable):
        at = float(np.interp(power.detectable, alphas, place))
        mark(ax, at, f"{TARGET:.0%} from {power.detectable:.2g} sd on", "--")
    ax.set_xticks(place.tolist(), [number(float(size)) for size in alphas])
    ax.set_xlim(-0.4, place[-1] + 0.4)
    ax.set_ylim(-0.03, 1.05)
    label(ax, "injected bias, in sd of the outcome", 'chance of "bias found"')
    return ax
