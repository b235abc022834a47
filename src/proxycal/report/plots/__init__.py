"""The plots of a result. One plot is one file here, with its declaration, and one line in `PLOTS`.

The declaration says all that pages, `model.plot` and error messages know of it. A drawing function draws
into its own figure unless it is given axes, and touches no global state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.errors import SettingsError
from proxycal.report.plots import estimates, gaps, gate, graded, power, residual, scatter, sizes, totals, who

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.report.plots.plot import Plot
    from proxycal.result import Fit

# In the order of the page.
PLOTS = (
    estimates.PLOT,
    gaps.PLOT,
    graded.PLOT,
    residual.PLOT,
    sizes.PLOT,
    scatter.CALIBRATED,
    scatter.CONTENT,
    totals.PLOT,
    who.PLOT,
    gate.PLOT,
    power.PLOT,
)
KINDS = {plot.kind: plot for plot in PLOTS}


def plots_of(fit: Fit) -> list[Plot]:
    """The plots that the page of this fit shows, in its order."""
    return [plot for plot in PLOTS if not plot.lacking(fit) and plot.on_page(fit)]


def main_plot(fit: Fit) -> Plot:
    """The plot that shows the result best: errors where some were measured, else what content leaves."""
    return gaps.PLOT if not gaps.PLOT.lacking(fit) else residual.PLOT


def draw(kind: str, fit: Fit, ax: Axes | None = None) -> Axes:
    """Draw one plot by its kind; an unknown kind is answered with the list of them."""
    if kind not in KINDS:
        raise SettingsError(f"there is no plot {kind!r}; choose one of: {', '.join(KINDS)}")
    if reason := KINDS[kind].lacking(fit):
        raise SettingsError(f"there is no plot {kind!r} of this fit: {reason}")
    return KINDS[kind].draw(fit, ax)
