"""Plots: every row as a dot, reported against content and against calibrated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize

from proxycal.report.plots.plot import Plot
from proxycal.report.rows import dotted, what_content_is
from proxycal.report.style import BIASED, INK, MUTED, POINTS, UNBIASED, label, short, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.result import Fit

BY_PROBABILITY = LinearSegmentedColormap.from_list("p_biased", [UNBIASED, "#a3a3a3", BIASED])


def content(fit: Fit, ax: Axes | None = None) -> Axes:
    """Reported outcome against what the content predicts; a bias is a second, shifted cloud."""
    ax = styled(ax, height=3.3)
    _cloud(ax, fit, fit.rows.predicted.mu, fit.rows.y_obs)
    label(
        ax, f"content prediction of {short(fit.roles.outcome)} (mu)", f"{short(fit.roles.outcome)}, reported"
    )
    return ax


def calibrated(fit: Fit, ax: Axes | None = None) -> Axes:
    """Calibrated outcome against the reported one; on the dotted line nothing was changed."""
    ax = styled(ax, height=3.3)
    _cloud(ax, fit, fit.rows.y_obs, fit.rows.predicted.y_cal)
    label(ax, f"{short(fit.roles.outcome)}, reported", f"{short(fit.roles.outcome)}, calibrated")
    return ax


def _cloud(ax: Axes, fit: Fit, x: np.ndarray, y: np.ndarray) -> None:
    log = fit.settings.scale == "log"
    keep = dotted(fit)
    scale = ScalarMappable(Normalize(0.0, 1.0), BY_PROBABILITY)
    colours = scale.to_rgba(fit.rows.predicted.p_biased[keep])
    dots = ax.scatter(x[keep], y[keep], c=colours, s=12, alpha=0.75, linewidths=0, rasterized=True)
    dots.set_gid(POINTS)
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
    both = np.concatenate([x[keep], y[keep]])
    ends = [float(np.min(both)), float(np.max(both))]
    ax.plot(ends, ends, color=INK, linewidth=1.0, linestyle=":")
    bar = ax.figure.colorbar(scale, ax=ax, pad=0.02, aspect=30, ticks=[0.0, 0.5, 1.0])
    bar.set_label("probability of being biased", fontsize=9.5, color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=9.5, colors=MUTED, length=0)


def _zeros(fit: Fit) -> str:
    return (
        " Both axes are logarithmic: zeros, which stay zero, are not shown."
        if fit.settings.scale == "log"
        else ""
    )


CALIBRATED = Plot(
    kind="calibrated",
    section="evidence",
    title="Reported against calibrated",
    alt=lambda fit: (
        f"Scatter of calibrated against reported {fit.roles.outcome}, coloured by the probability of bias."
    ),
    caption=lambda fit: (
        "Rows on the dotted line were not changed; the others were moved by the size of the bias times "
        "their probability of being biased." + _zeros(fit)
    ),
    draw=calibrated,
    # Where nothing was changed, it is the dotted line and nothing else.
    on_page=lambda fit: not fit.why_left_alone,
)


CONTENT = Plot(
    kind="content",
    section="evidence",
    title="Reported against content",
    alt=lambda fit: (
        f"Scatter of reported {fit.roles.outcome} against its content prediction, coloured by the "
        "probability of bias."
    ),
    caption=lambda fit: (
        "Each dot is a row. On the dotted line, the reported value equals its content prediction."
        + what_content_is(fit)
        + _zeros(fit)
    ),
    draw=content,
    # Without a bias there are no two clouds to see; its colours would be those of a model with one.
    on_page=lambda fit: fit.verdict != "no bias found",
)
