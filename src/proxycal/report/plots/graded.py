"""Plot: how a graded bias depends on each environment column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.report.numbers import number
from proxycal.report.plots.plot import Plot
from proxycal.report.style import BIASED, INK, label, plain, short, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.result import BiasShape, Fit

# Columns drawn, those along which the bias changes most; levels of a category drawn.
MOST, LEVELS = 6, 12


def graded(fit: Fit, ax: Axes | None = None) -> Axes:
    """The bias along the environment columns that move it most, one panel each, with pointwise intervals."""
    shown = drawn(fit)
    ax = styled(ax, height=0.5 + 1.9 * len(shown))
    ax.set_axis_off()
    for place, shape in enumerate(shown):
        # One panel below the other, in shares of the axes that were given.
        height = 1.0 / len(shown)
        panel = ax.inset_axes((0.0, 1.0 - (place + 0.72) * height, 1.0, 0.62 * height))
        styled(panel, height=0.0)
        _panel(fit, shape, panel)
    return ax


def drawn(fit: Fit) -> list[BiasShape]:
    """The shapes that are drawn, the one that changes most first."""
    shapes = fit.method_fit.details.shapes
    return sorted(shapes, key=lambda shape: -float(np.ptp(shape.bias)))[:MOST]


def _panel(fit: Fit, shape: BiasShape, ax: Axes) -> None:
    ax.axhline(0.0, color=INK, linewidth=1.0, linestyle=":")
    if shape.levels is None:
        at = fit.encoder.environment_values(shape.column, shape.at)
        ax.fill_between(at, shape.low, shape.high, color=BIASED, alpha=0.2, linewidth=0)
        ax.plot(at, shape.bias, color=BIASED, linewidth=2.0)
    else:
        keep = slice(None, LEVELS)
        at = shape.at[keep]
        ax.vlines(at, shape.low[keep], shape.high[keep], color=BIASED, linewidth=2.0)
        ax.plot(at, shape.bias[keep], "o", color=BIASED, markersize=6)
        ax.set_xticks(at, [plain(short(name, 12)) for name in shape.levels[keep]])
    label(ax, short(shape.column), "bias")


PLOT = Plot(
    kind="graded",
    section="evidence",
    title="The bias along the environment",
    alt=lambda fit: (
        "Bias by environment column: "
        + "; ".join(
            f"{shape.column} from {number(float(shape.bias.min()))} to {number(float(shape.bias.max()))}"
            for shape in drawn(fit)
        )
        + "."
    ),
    caption=lambda fit: (
        "Each panel varies one column and holds the others at their mean; bands and bars are pointwise "
        f"{fit.settings.level * 100:g}% intervals. "
        + "; ".join(f"{shape.column}: relative to {shape.relative_to}" for shape in drawn(fit))
        + ". A direct effect of the environment on the true outcome would look the same."
    ),
    draw=graded,
    lacking=lambda fit: (
        ""
        if fit.method_fit.details.shapes
        else "no bias that changes gradually with the environment was estimated"
    ),
)
