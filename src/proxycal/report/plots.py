"""The pictures: each a function (data, ax=None) -> ax, in its own figure, touching no global state.

Blue is unbiased, vermilion is biased (Okabe and Ito's colour-blind safe pair), everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure

from proxycal.errors import SettingsError
from proxycal.report.summary import ShareRow, number, percent, shares, spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from proxycal.report.data import ReportData

UNBIASED = "#0072b2"
BIASED = "#d55e00"
INK = "#1b1f24"
MUTED = "#5b6470"
GRID = "#d5d9de"
BY_PROBABILITY = LinearSegmentedColormap.from_list("p_biased", [UNBIASED, "#a3a3a3", BIASED])

# Inches: a column of a page, so that 9-point labels stay 9 points.
WIDTH = 4.9
# A few thousand points already fill the picture; more only make the file heavy.
MAX_POINTS = 3000
# Columns in "who": those in which the share of biased rows moves most.
MAX_COLUMNS = 6


def residual(data: ReportData, ax: Axes | None = None) -> Axes:
    """Outcome minus content, each row split into its biased and its unbiased part by p_biased."""
    ax = styled(ax, height=3.3)
    gap = data.y_obs - data.mu
    # The outermost rows would squeeze everything else into a few bars; they count in the first and the last.
    low, high = np.quantile(gap, [0.001, 0.999])
    low, high = (low, high) if high > low else (low - 0.5, low + 0.5)
    bins = np.linspace(low, high, int(np.clip(np.sqrt(len(gap)), 15, 60)) + 1)
    inside = np.clip(gap, low, high)
    p, weights = data.p_biased, data.weights
    ax.hist(
        [inside, inside],
        bins=list(bins),
        weights=[weights * (1 - p), weights * p],
        stacked=True,
        color=[UNBIASED, BIASED],
        label=["as unbiased", "as biased"],
    )
    ax.axvline(0.0, color=INK, linewidth=1.0, linestyle=":")
    sign = 1.0 if data.direction == "over" else -1.0
    if np.isfinite(data.estimate.alpha):
        ax.axvline(sign * data.estimate.alpha, color=INK, linewidth=1.0, linestyle="--")
        ax.annotate(
            _plain(f"estimated bias {number(sign * data.estimate.alpha)}"),
            xy=(sign * data.estimate.alpha, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            color=INK,
            fontsize=9,
        )
    label(
        ax,
        f"{_short(data.outcome)} minus what its content predicts (mu)",
        "rows" if _unit(weights) else "weight",
    )
    legend(ax)
    return ax


def content(data: ReportData, ax: Axes | None = None) -> Axes:
    """Reported outcome against what the content predicts; a bias is a second, shifted cloud."""
    ax = styled(ax, height=3.6)
    _cloud(ax, data, data.mu, data.y_obs)
    label(ax, f"content prediction of {_short(data.outcome)} (mu)", f"{_short(data.outcome)}, reported")
    return ax


def calibrated(data: ReportData, ax: Axes | None = None) -> Axes:
    """Calibrated outcome against the reported one; on the dotted line nothing was changed."""
    ax = styled(ax, height=3.6)
    _cloud(ax, data, data.y_obs, data.y_cal)
    label(ax, f"{_short(data.outcome)}, reported", f"{_short(data.outcome)}, calibrated")
    return ax


def who(data: ReportData, ax: Axes | None = None) -> Axes:
    """Share of biased rows by the groups of each environment column, with pointwise intervals."""
    rows = _widest(shares(data))
    ax = styled(ax, height=0.9 + 0.24 * (len(rows) + len({row.column for row in rows})))
    ticks: list[float] = []
    labels: list[str] = []
    y = 0.0
    column = None
    for row in rows:
        if row.column != column:
            column = row.column
            ax.annotate(
                _plain(_short(row.column)),
                xy=(0.0, y),
                xycoords=("axes fraction", "data"),
                xytext=(-4, 0),
                textcoords="offset points",
                ha="right",
                va="center",
                color=INK,
                fontsize=9,
                fontweight="bold",
            )
            y += 1.0
        ax.plot([row.low, row.high], [y, y], color=BIASED, linewidth=2.0, solid_capstyle="butt", alpha=0.55)
        ax.plot([row.share], [y], "o", color=BIASED, markersize=5)
        ticks.append(y)
        labels.append(_plain(f"{_short(row.group)}  (n = {row.n:,})"))
        y += 1.0
    ax.axvline(data.share_biased, color=INK, linewidth=1.0, linestyle=":")
    ax.annotate(
        f"all rows {percent(data.share_biased)}",
        xy=(data.share_biased, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        color=INK,
        fontsize=9,
    )
    ax.set_yticks(ticks, labels)
    ax.set_ylim(y - 0.3, -0.7)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1.0], ["0%", "25%", "50%", "75%", "100%"])
    label(ax, "share of rows that are biased", "")
    ax.grid(axis="y", visible=False)
    return ax


def estimates(data: ReportData, ax: Axes | None = None) -> Axes:
    """The estimators side by side: the evidence is that they agree while each could fail in its own way."""
    ax = styled(ax, height=0.9 + 0.38 * len(data.estimates))
    names = []
    for y, row in enumerate(data.estimates):
        main = row.name == data.estimate.name
        colour = BIASED if main else MUTED
        names.append(_plain(row.name))
        if not np.isfinite(row.alpha):
            ax.annotate("no estimate", (0.0, y), xytext=(6, 0), textcoords="offset points", va="center",
                        color=MUTED, fontsize=9)  # fmt: skip
            continue
        if np.isfinite(row.low) and np.isfinite(row.high):
            ax.plot([row.low, row.high], [y, y], color=colour, linewidth=2.0, solid_capstyle="butt")
        ax.plot([row.alpha], [y], "o" if main else "D", color=colour, markersize=7 if main else 5)
    ax.axvline(0.0, color=INK, linewidth=1.0, linestyle=":")
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    label(ax, f"size of the bias in {_short(data.outcome)} ({data.level * 100:g}% intervals)", "")
    ax.grid(axis="y", visible=False)
    return ax


KINDS: dict[str, Callable[..., Axes]] = {
    "residual": residual,
    "content": content,
    "calibrated": calibrated,
    "who": who,
    "estimates": estimates,
}


def draw(kind: str, data: ReportData, ax: Axes | None = None) -> Axes:
    """Draw one picture by its name; a wrong name lists the right ones."""
    if kind not in KINDS:
        raise SettingsError(f"there is no plot {kind!r}; choose one of: {', '.join(KINDS)}")
    return KINDS[kind](data, ax)


def _cloud(ax: Axes, data: ReportData, x: np.ndarray, y: np.ndarray) -> None:
    keep = np.linspace(0, data.n - 1, min(data.n, MAX_POINTS)).astype(int)
    scale = ScalarMappable(Normalize(0.0, 1.0), BY_PROBABILITY)
    colours = scale.to_rgba(data.p_biased[keep])
    ax.scatter(x[keep], y[keep], c=colours, s=12, alpha=0.75, linewidths=0, rasterized=True)
    both = np.concatenate([x[keep], y[keep]])
    ends = [float(np.min(both)), float(np.max(both))]
    ax.plot(ends, ends, color=INK, linewidth=1.0, linestyle=":")
    bar = ax.figure.colorbar(scale, ax=ax, pad=0.02, aspect=30, ticks=[0.0, 0.5, 1.0])
    bar.set_label("probability of being biased", fontsize=9, color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=9, colors=MUTED, length=0)


def _widest(rows: tuple[ShareRow, ...]) -> list[ShareRow]:
    reach = spread(rows)
    kept = sorted(reach, key=lambda name: -reach[name])[:MAX_COLUMNS]
    return [row for name in kept for row in rows if row.column == name]


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
    ax.tick_params(labelsize=9, colors=MUTED, length=0)
    ax.grid(color=GRID, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def label(ax: Axes, x: str, y: str) -> None:
    """Axis labels; an empty one is left out."""
    ax.set_xlabel(_plain(x), fontsize=9.5, color=INK)
    if y:
        ax.set_ylabel(_plain(y), fontsize=9.5, color=INK)


def legend(ax: Axes) -> None:
    """A legend in one line."""
    # Below the axes: wherever the humps are, the legend does not sit on them.
    ax.legend(
        frameon=False,
        fontsize=9,
        labelcolor=INK,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.17),
        ncols=2,
        handlelength=1.2,
        markerscale=2.0,
    )


def _plain(text: str) -> str:
    """User strings are text, never formulas: a column called "$x$" is shown as "$x$", and on one line."""
    return " ".join(text.split()).replace("$", r"\$")


def _short(text: str, limit: int = 24) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _unit(weights: np.ndarray) -> bool:
    return bool(np.all(weights == 1.0))
