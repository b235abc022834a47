"""Figures of the NHANES study: error by share of validated rows, by group, and what the error is like."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from proxycal.datasets.nhanes import OUTCOMES, load_nhanes
from proxycal.studies.nhanes import BMI_NAMES
from proxycal.studies.validated import two_valued_floor

if TYPE_CHECKING:
    import pandas as pd

# Colours that stay apart for colour-blind readers (Okabe and Ito), and markers for print.
STYLES = {
    "self-report": ("#000000", "s"),
    "proxycal": ("#009E73", "D"),
    "exact": ("#0072B2", "o"),
    "regression": ("#D55E00", "^"),
}
_UNITS = {"weight": "kg", "height": "cm", "bmi": "kg/m2"}


def by_share(long: pd.DataFrame) -> Figure:
    """RMSE on rows that were not validated over the share that was, a panel per outcome."""
    own = long[(long["metric"] == "rmse") & (long["group"] == "all")]
    outcomes = [name for name in OUTCOMES if name in set(own["outcome"])]
    figure = Figure(figsize=(3.6 * len(outcomes), 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = np.atleast_1d(figure.subplots(1, len(outcomes)))
    for panel, outcome in zip(panels, outcomes, strict=True):
        for i, (method, (colour, marker)) in enumerate(STYLES.items()):
            part = own[(own["outcome"] == outcome) & (own["method"] == method)]
            errors = part.groupby("share")["value"].agg(["mean", "std"]).fillna(0.0)
            # Side by side, so that equal errors do not hide each other.
            at = 100.0 * errors.index.to_numpy() + 0.25 * (i - 1.5)
            panel.errorbar(
                at, errors["mean"], errors["std"], color=colour, marker=marker, label=method, capsize=2,
                markersize=5, linewidth=1.2,
            )  # fmt: skip
        panel.set(title=outcome, xlabel="validated rows, per cent", ylabel=f"RMSE, {_UNITS[outcome]}")
    panels[-1].legend(fontsize=7)
    return figure


def by_group(long: pd.DataFrame, share: float) -> Figure:
    """Mean error by sex and measured BMI, a panel per outcome."""
    own = long[(long["metric"] == "bias") & (long["share"] == share)]
    outcomes = [name for name in OUTCOMES if name in set(own["outcome"])]
    figure = Figure(figsize=(3.8 * len(outcomes), 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = np.atleast_1d(figure.subplots(1, len(outcomes), sharey=True))
    names = ("all", "Female", "Male", *BMI_NAMES)
    for panel, outcome in zip(panels, outcomes, strict=True):
        panel.axvline(0.0, color="0.6", linewidth=1.0)
        for i, (method, (colour, marker)) in enumerate(STYLES.items()):
            part = own[(own["outcome"] == outcome) & (own["method"] == method)]
            mean = part.groupby("group")["value"].mean().reindex(list(names))
            at = np.arange(len(names))[::-1] - 0.15 * (i - 1.5)
            panel.plot(mean, at, marker, color=colour, label=method, markersize=5)
        panel.set(title=f"{outcome}, {share:.0%} validated", xlabel=f"mean error, {_UNITS[outcome]}")
    panels[0].set_yticks(np.arange(len(names))[::-1], names)
    panels[-1].legend(fontsize=7)
    return figure


def the_error() -> Figure:
    """The error of reported weight: its shape, and how it goes with the true weight."""
    table = load_nhanes("weight").table
    reported, measured = (table[name].to_numpy(dtype=float) for name in OUTCOMES["weight"])
    gap = reported - measured
    floor = two_valued_floor(gap, -1.0, np.arange(0.1, 30.0, 0.1))
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    left.hist(np.clip(gap, -25, 25), bins=np.arange(-25, 26, 1.0), color="#56B4E9", edgecolor="white")
    left.axvline(0.0, color="black", linewidth=1.0)
    left.axvline(-floor.alpha, color="#D55E00", linewidth=1.2, linestyle="--", label="best single shift")
    left.set(xlabel="reported less measured weight, kg (ends: beyond 25)", ylabel="people")
    left.legend(fontsize=7)
    edges = np.quantile(measured, np.linspace(0.0, 1.0, 11))
    place = np.clip(np.searchsorted(edges, measured, side="right") - 1, 0, 9)
    at = [float(measured[place == i].mean()) for i in range(10)]
    spread = [np.quantile(gap[place == i], (0.1, 0.5, 0.9)) for i in range(10)]
    low, middle, high = (np.array([quantiles[k] for quantiles in spread]) for k in range(3))
    right.axhline(0.0, color="0.6", linewidth=1.0)
    right.fill_between(at, low, high, color="#56B4E9", alpha=0.4, label="middle 80% of people")
    right.plot(at, middle, "o-", color="#0072B2", label="median")
    right.plot(at, [float(gap[place == i].mean()) for i in range(10)], "x", color="black", label="mean")
    right.set(xlabel="measured weight, kg (tenths)", ylabel="reported less measured, kg")
    right.legend(fontsize=7)
    return figure
