"""How every picture looks: colours, type sizes, axes.

Blue is unbiased, vermilion is biased (Okabe and Ito's colour-blind safe pair), everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

UNBIASED = "#0072b2"
BIASED = "#d55e00"
INK = "#1b1f24"
MUTED = "#5b6470"
GRID = "#d5d9de"

# How the name of a part of a drawing begins, where the rest is what to say of it.
TIP = "tip: "
# The name of the part that has a dot for each row.
POINTS = "points"

# Inches. A column of a page is as wide as a phone, so that its text can be read on one; a picture that takes
# the whole page is drawn a second time at that width.
WIDTH, PAGE_WIDTH = 3.9, 7.4


def styled(ax: Axes | None, height: float) -> Axes:
    """An axes of a fresh figure at column width unless one was given, styled alike."""
    if ax is None:
        ax = Figure(figsize=(WIDTH, height), layout="constrained", dpi=150).add_subplot()
        ax.figure.patch.set_alpha(0.0)
    ax.patch.set_alpha(0.0)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(GRID)
    ax.tick_params(labelsize=9.5, colors=MUTED, length=0)
    ax.grid(color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def label(ax: Axes, x: str, y: str) -> None:
    """Axis labels; an empty one is left out."""
    ax.set_xlabel(plain(x), fontsize=10, color=INK)
    if y:
        ax.set_ylabel(plain(y), fontsize=10, color=INK)


def legend(ax: Axes) -> None:
    """A legend in one line."""
    # Below the axes: the legend never covers the bars.
    ax.legend(
        frameon=False,
        fontsize=9.5,
        labelcolor=INK,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.17),
        ncols=2,
        handlelength=1.2,
        markerscale=2.0,
    )


def mark(ax: Axes, at: float, text: str, linestyle: str = ":") -> None:
    """A line at a value, and above the axes, where nothing is drawn, what it is."""
    ax.axvline(at, color=INK, linewidth=1.0, linestyle=linestyle)
    ax.annotate(
        text,
        xy=(at, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        color=INK,
        fontsize=9.5,
    )


def tip(artist: Artist, text: str) -> None:
    """What a page shows when a reader points at this part of a picture."""
    artist.set_gid(TIP + " ".join(text.split()))


def tip_bars(bars: Any, texts: Iterable[str]) -> None:
    """The same for each bar of a histogram."""
    for bar, text in zip(bars, texts, strict=True):
        tip(bar, text)


def plain(text: str) -> str:
    """User strings are text, never formulas: a column called "$x$" is shown as "$x$", and on one line."""
    return " ".join(text.split()).replace("$", r"\$")


def short(text: str, limit: int = 24) -> str:
    """A name that leaves room for others."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
