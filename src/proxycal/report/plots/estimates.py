"""Plot: the estimators side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.report.numbers import size_text
from proxycal.report.plots.plot import Plot
from proxycal.report.style import BIASED, INK, MUTED, label, plain, styled, tip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.result import Fit


def estimates(fit: Fit, ax: Axes | None = None) -> Axes:
    """The estimators side by side; they rely on different assumptions."""
    ax = styled(ax, height=0.9 + 0.38 * len(fit.estimates))
    names = []
    for y, row in enumerate(fit.estimates):
        main = row.name == fit.estimate.name
        colour = BIASED if main else MUTED
        names.append(plain(row.name))
        if not np.isfinite(row.alpha):
            ax.annotate("no estimate", (0.0, y), xytext=(6, 0), textcoords="offset points", va="center",
                        color=MUTED, fontsize=9.5)  # fmt: skip
            continue
        parts = ax.plot([row.alpha], [y], "o" if main else "D", color=colour, markersize=7 if main else 5)
        if np.isfinite(row.low) and np.isfinite(row.high):
            parts += ax.plot([row.low, row.high], [y, y], color=colour, linewidth=2.0, solid_capstyle="butt")
        for part in parts:
            tip(part, f"{row.name}: {size_text(row).size}, interval {size_text(row).interval}")
    ax.axvline(0.0, color=INK, linewidth=1.0, linestyle=":")
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    unit = "log size of the bias" if fit.settings.factor else "size of the bias"
    label(ax, f"{unit}, {fit.settings.level * 100:g}% intervals", "")
    ax.grid(axis="y", visible=False)
    return ax


PLOT = Plot(
    kind="estimates",
    section="estimators",
    title="Estimators side by side",
    alt=lambda fit: (
        "Estimated size of the bias by estimator: "
        + ", ".join(f"{row.name} {size_text(row).size}" for row in fit.estimates)
        + "."
    ),
    caption=lambda fit: (
        "The size of the bias of each reporter, where the model has one."
        if fit.roles.reports
        else "The estimators rely on different assumptions; agreement means no single assumption decides the "
        "result."
    ),
    draw=estimates,
)
