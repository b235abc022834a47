"""What a plot declares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from proxycal.result import Fit


@dataclass(frozen=True, slots=True)
class Plot:
    """One kind of plot: where the page shows it, what it says, and how it is drawn.

    Parameters
    ----------
    kind : str
        What `model.plot` calls it.
    section : {"estimators", "evidence", "totals", "who", "attempts"}
        The section of the page.
    title : str
        Its heading.
    alt, caption : callable
        From a fit: what it shows, for those who cannot see it, and how to read it.
    draw : callable
        (fit, ax=None) -> ax.
    lacking : callable, optional
        From a fit: why this fit has no such plot and what to do, "" where it has one.
    on_page : callable, optional
        From a fit: whether the page shows it, where the fit has it.
    wide : bool, default False
        Whether it takes the whole width of the page.

    """

    kind: str
    section: Literal["estimators", "evidence", "totals", "who", "attempts"]
    title: str
    alt: Callable[[Fit], str]
    caption: Callable[[Fit], str]
    draw: Callable[[Fit, Axes | None], Axes]
    lacking: Callable[[Fit], str] = lambda fit: ""
    on_page: Callable[[Fit], bool] = lambda fit: True
    wide: bool = False
