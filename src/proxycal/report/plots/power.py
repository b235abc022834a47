"""Plot: the chance of finding a bias, by its size; drawn and worded by its question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.questions import power_picture
from proxycal.report.plots.plot import Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.questions.power import Power
    from proxycal.result import Fit


def power(fit: Fit, ax: Axes | None = None) -> Axes:
    """The chance of finding a bias, by its size."""
    asked: Power = fit.questions["power"]  # type: ignore[assignment]
    return power_picture.draw_power(asked, ax)


PLOT = Plot(
    kind="power",
    section="attempts",
    title=power_picture.TITLE,
    alt=lambda fit: power_picture.ALT,
    caption=lambda fit: power_picture.CAPTION,
    draw=power,
    lacking=lambda fit: (
        "" if "power" in fit.questions else "power was not computed for this fit: call `power()` first"
    ),
)
