"""County maps and the bar chart of the disaster study, for screen and print."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from proxycal.datasets.county_shapes import HEIGHT, WIDTH, counties, states
from proxycal.datasets.losses import HAZARDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes

# |tau| is a difference of logs: exp(|tau|) is the factor between a report and those of like counties.
FACTORS = (1.5, 2.5, 5.0, 10.0)
WORDS = (
    "less than 1.5 times",
    "1.5 to 2.5 times",
    "2.5 to 5 times",
    "5 to 10 times",
    "more than 10 times",
)
# Steps of cividis, light to dark: for colour-blind readers and in grey print an order, none of them white.
COLOURS = ("#f6e15b", "#bcae6c", "#7f7c75", "#434e6c", "#00224e")
NO_EVENT = "#ffffff"
MISSING = "no event with a reported loss"
# A county with an event and no comparable county is not one without an event.
NO_MATCH, UNMATCHED = "#d9d9d9", "event, no comparable county"


def colours_of(tau_abs: np.ndarray) -> list[str]:
    """The colour of each |tau|; NaN is an event without a match.

    >>> colours_of(np.array([np.log(1.2), np.log(4.0), np.nan])) == [COLOURS[0], COLOURS[2], NO_MATCH]
    True
    """
    steps = np.searchsorted(np.log(FACTORS), tau_abs, side="right")
    return [
        COLOURS[step] if known else NO_MATCH for step, known in zip(steps, np.isfinite(tau_abs), strict=True)
    ]


def four_maps(table: pd.DataFrame, year: int, verdicts: Mapping[str, str]) -> Figure:
    """A map per hazard of the mean |tau| of every county in one year; white is a county without an event."""
    figure = Figure(figsize=(11.0, 8.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2).ravel()
    here = table[table["year"] == year]
    for panel, hazard in zip(panels, HAZARDS, strict=True):
        mean = here[here["hazard"] == hazard].groupby("fips")["tau_abs"].mean()
        _draw_map(panel, dict(zip(mean.index, colours_of(mean.to_numpy()), strict=True)))
        verdict = verdicts.get(hazard, "no rows")
        panel.set_title(f"{hazard} ({len(mean):,} counties; verdict: {verdict})", fontsize=11)
    handles = [Patch(facecolor=NO_EVENT, edgecolor="0.5", label=MISSING)]
    handles += [Patch(facecolor=colour, label=word) for colour, word in zip(COLOURS, WORDS, strict=True)]
    if here["tau_abs"].isna().any():
        handles.append(Patch(facecolor=NO_MATCH, label=UNMATCHED))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=9.5,
        title="Factor between a county's report and those of unbiased counties with the same damage",
    )  # fmt: skip
    figure.suptitle(f"Reporting bias by county, {year}: mean |tau|", fontsize=14)
    return figure


def bar_chart(bars: pd.DataFrame, true_alpha: Mapping[str, float] | None = None) -> Figure:
    """Mean |tau| by hazard with intervals, and beside each bar the estimated size of the bias."""
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    x = np.arange(len(bars))
    reach = np.abs(bars[["low", "high"]].to_numpy().T - bars["tau_abs"].to_numpy())
    axes.bar(
        x - 0.2, bars["tau_abs"], 0.36, yerr=reach, capsize=4, color="#7f7c75",
        label="mean |tau|, all counties",
    )  # fmt: skip
    spread = np.abs(bars[["alpha_low", "alpha_high"]].to_numpy().T - bars["alpha"].to_numpy())
    axes.errorbar(
        x + 0.2, bars["alpha"], yerr=spread, fmt="D", capsize=4, color="#00224e",
        label="alpha, bias of the biased counties",
    )  # fmt: skip
    if true_alpha is not None:
        truth = [true_alpha[name] for name in bars["hazard"]]
        axes.plot(
            x + 0.2, truth, "_", color="#d55e00", markersize=26, zorder=1, label="true alpha (simulated)"
        )
    axes.set_xticks(x, bars["hazard"])
    axes.set_ylabel("log dollars")
    axes.set_ylim(bottom=0.0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title("Reporting bias by hazard, with 95% intervals", fontsize=12)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    return figure


def _draw_map(axes: Axes, colours: Mapping[str, str]) -> None:
    shapes = [(ring, colours.get(shape.code, NO_EVENT)) for shape in counties() for ring in shape.rings]
    axes.add_collection(
        PolyCollection(
            [ring for ring, _ in shapes],
            facecolors=[colour for _, colour in shapes],
            edgecolors="0.82",
            linewidths=0.15,
            # Outlines of 3,142 counties as vectors make a PDF that is slow to open.
            rasterized=True,
        )
    )
    borders = [ring for shape in states() for ring in shape.rings]
    axes.add_collection(PolyCollection(borders, facecolors="none", edgecolors="0.35", linewidths=0.4))
    axes.set_xlim(-60, WIDTH)
    axes.set_ylim(HEIGHT, 0)
    axes.set_aspect("equal")
    axes.set_axis_off()
