"""The pictures: each a function (fit, ax=None) -> ax, in its own figure, touching no global state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from proxycal.errors import SettingsError
from proxycal.report.style import BIASED, INK, MUTED, UNBIASED, label, legend, plain, short, styled
from proxycal.report.summary import ShareRow, gate_label, number, percent, shares, spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from proxycal.result import Fit

BY_PROBABILITY = LinearSegmentedColormap.from_list("p_biased", [UNBIASED, "#a3a3a3", BIASED])

# A few thousand points already fill the picture; more only make the file heavy.
MAX_POINTS = 3000
# Columns in "who": those in which the share of biased rows moves most.
MAX_COLUMNS = 6


def residual(fit: Fit, ax: Axes | None = None) -> Axes:
    """Outcome minus content, each row split into its biased and its unbiased part by p_biased."""
    ax = styled(ax, height=3.3)
    gap = fit.rows.y_obs - fit.rows.predicted.mu
    # The outermost rows would squeeze everything else into a few bars; they count in the first and the last.
    low, high = np.quantile(gap, [0.001, 0.999])
    low, high = (low, high) if high > low else (low - 0.5, low + 0.5)
    bins = np.linspace(low, high, int(np.clip(np.sqrt(len(gap)), 15, 60)) + 1)
    inside = np.clip(gap, low, high)
    p, weights = fit.rows.predicted.p_biased, fit.rows.weights
    ax.hist(
        [inside, inside],
        bins=list(bins),
        weights=[weights * (1 - p), weights * p],
        stacked=True,
        color=[UNBIASED, BIASED],
        label=["as unbiased", "as biased"],
    )
    ax.axvline(0.0, color=INK, linewidth=1.0, linestyle=":")
    shift = fit.settings.sign * fit.estimate.alpha
    if np.isfinite(shift):
        ax.axvline(shift, color=INK, linewidth=1.0, linestyle="--")
        ax.annotate(
            plain(f"estimated bias {number(shift)}"),
            xy=(shift, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            color=INK,
            fontsize=9,
        )
    label(
        ax,
        f"{short(fit.roles.outcome)} minus what its content predicts (mu)",
        "rows" if bool(np.all(weights == 1.0)) else "weight",
    )
    _fitted_curve(ax, fit, bins)
    legend(ax)
    return ax


def _fitted_curve(ax: Axes, fit: Fit, bins: np.ndarray) -> None:
    """What the fitted mixture expects in a bar centred on each place: all rows, and those without a bias."""
    curve = fit.method_fit.details.curve
    if curve is None:
        return
    at, total = curve.at, float(fit.rows.weights.sum())
    half = (bins[1] - bins[0]) / 2.0
    x = np.linspace(bins[0] + half, bins[-1] - half, 300)

    def expected(below: np.ndarray) -> np.ndarray:
        return total * (np.interp(x + half, at, below) - np.interp(x - half, at, below))

    unbiased = expected(curve.unbiased)
    ax.plot(x, unbiased + expected(curve.biased), color=INK, linewidth=1.6, label="fitted mixture")
    ax.plot(x, unbiased, color=INK, linewidth=1.0, linestyle=(0, (4, 2)), label="its unbiased part")


def content(fit: Fit, ax: Axes | None = None) -> Axes:
    """Reported outcome against what the content predicts; a bias is a second, shifted cloud."""
    ax = styled(ax, height=3.6)
    _cloud(ax, fit, fit.rows.predicted.mu, fit.rows.y_obs)
    label(
        ax, f"content prediction of {short(fit.roles.outcome)} (mu)", f"{short(fit.roles.outcome)}, reported"
    )
    return ax


def calibrated(fit: Fit, ax: Axes | None = None) -> Axes:
    """Calibrated outcome against the reported one; on the dotted line nothing was changed."""
    ax = styled(ax, height=3.6)
    _cloud(ax, fit, fit.rows.y_obs, fit.rows.predicted.y_cal)
    label(ax, f"{short(fit.roles.outcome)}, reported", f"{short(fit.roles.outcome)}, calibrated")
    return ax


def who(fit: Fit, ax: Axes | None = None) -> Axes:
    """Share of biased rows by the groups of each environment column, with pointwise intervals."""
    rows = _widest(shares(fit))
    ax = styled(ax, height=0.9 + 0.24 * (len(rows) + len({row.column for row in rows})))
    ticks: list[float] = []
    labels: list[str] = []
    y = 0.0
    column = None
    for row in rows:
        if row.column != column:
            column = row.column
            ax.annotate(
                plain(short(row.column)),
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
        labels.append(plain(f"{short(row.group)}  (n = {row.n:,})"))
        y += 1.0
    ax.axvline(fit.share_biased, color=INK, linewidth=1.0, linestyle=":")
    ax.annotate(
        f"all rows {percent(fit.share_biased)}",
        xy=(fit.share_biased, 1.0),
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


def estimates(fit: Fit, ax: Axes | None = None) -> Axes:
    """The estimators side by side: the evidence is that they agree while each could fail in its own way."""
    ax = styled(ax, height=0.9 + 0.38 * len(fit.estimates))
    names = []
    for y, row in enumerate(fit.estimates):
        main = row.name == fit.estimate.name
        colour = BIASED if main else MUTED
        names.append(plain(row.name))
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
    label(ax, f"size of the bias in {short(fit.roles.outcome)} ({fit.settings.level * 100:g}% intervals)", "")
    ax.grid(axis="y", visible=False)
    return ax


def gate(fit: Fit, ax: Axes | None = None) -> Axes:
    """What multiplies the odds of being biased, by environment column, with pointwise intervals."""
    terms = fit.method_fit.details.gate
    if not terms:
        raise SettingsError(f"method='{fit.settings.method}' has no gate to plot: fit with method='exact'")
    ax = styled(ax, height=1.0 + 0.27 * len(terms))
    for y, row in enumerate(terms):
        sure = row.low > 1.0 or row.high < 1.0
        colour = BIASED if sure else MUTED
        if np.isfinite(row.low) and np.isfinite(row.high):
            ax.plot([row.low, row.high], [y, y], color=colour, linewidth=2.0, solid_capstyle="butt")
        ax.plot([row.odds], [y], "o" if sure else "D", color=colour, markersize=6 if sure else 5)
    ax.set_xscale("log")
    ax.axvline(1.0, color=INK, linewidth=1.0, linestyle=":")
    # Odds of this kind often span less than a factor of ten: ticks at 1, 2, 5 of each power.
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_yticks(range(len(terms)), [plain(short(gate_label(row), 34)) for row in terms])
    ax.set_ylim(len(terms) - 0.4, -0.6)
    label(ax, f"odds of being biased, times ({fit.settings.level * 100:g}%)", "")
    ax.grid(axis="y", visible=False)
    return ax


def power(fit: Fit, ax: Axes | None = None) -> Axes:
    """The chance of finding a bias, by its size, where that was asked."""
    asked: Any = fit.questions.get("power")
    if asked is None:
        raise SettingsError("the power was not asked of this fit: call power() or `proxycal power RUN` first")
    return asked.plot(ax)


KINDS: dict[str, Callable[..., Axes]] = {
    "residual": residual,
    "content": content,
    "calibrated": calibrated,
    "who": who,
    "estimates": estimates,
    "gate": gate,
    "power": power,
}


def draw(kind: str, fit: Fit, ax: Axes | None = None) -> Axes:
    """Draw one picture by its name; a wrong name lists the right ones."""
    if kind not in KINDS:
        raise SettingsError(f"there is no plot {kind!r}; choose one of: {', '.join(KINDS)}")
    return KINDS[kind](fit, ax)


def _cloud(ax: Axes, fit: Fit, x: np.ndarray, y: np.ndarray) -> None:
    keep = np.linspace(0, len(fit.rows.y_obs) - 1, min(len(fit.rows.y_obs), MAX_POINTS)).astype(int)
    scale = ScalarMappable(Normalize(0.0, 1.0), BY_PROBABILITY)
    colours = scale.to_rgba(fit.rows.predicted.p_biased[keep])
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
