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
from proxycal.studies.case_study_measures import RATIO

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes

    from proxycal.studies.case_study_measures import Measure

# Steps of cividis, light to dark: for colour-blind readers and in grey print an order, none of them white.
COLOURS = ("#f6e15b", "#bcae6c", "#7f7c75", "#434e6c", "#00224e")
NO_EVENT = "#ffffff"
MISSING = "no event with a reported loss"
# A county with an event and no number is not one without an event.
NO_MATCH = "#d9d9d9"


def colours_of(measure: Measure, values: np.ndarray) -> list[str]:
    """The colour of each value; NaN is an event without a number.

    >>> colours_of(RATIO, np.array([1.0, 3.0, np.nan])) == [COLOURS[0], COLOURS[3], NO_MATCH]
    True
    """
    return [NO_MATCH if step is None else COLOURS[step] for step in measure.steps(values)]


def four_maps(
    table: pd.DataFrame, year: int, verdicts: Mapping[str, str], measure: Measure = RATIO
) -> Figure:
    """A map per hazard of a measure of every county in one year; white is a county without an event."""
    figure = Figure(figsize=(11.0, 8.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2).ravel()
    here = table[table["year"] == year]
    unknown = False
    for panel, hazard in zip(panels, HAZARDS, strict=True):
        rows = here[here["hazard"] == hazard]
        values = measure.of(rows)
        unknown |= bool(np.isnan(values).any())
        _draw_map(panel, dict(zip(rows["fips"], colours_of(measure, values), strict=True)))
        verdict = verdicts.get(hazard, "no rows")
        panel.set_title(f"{hazard} ({len(rows):,} counties; verdict: {verdict})", fontsize=11)
    handles = [Patch(facecolor=NO_EVENT, edgecolor="0.5", label=MISSING)]
    steps = zip(COLOURS, measure.words, strict=True)
    # Between two dollar signs matplotlib would set formulas.
    handles += [Patch(facecolor=colour, label=word.replace("$", r"\$")) for colour, word in steps]
    if unknown:
        handles.append(Patch(facecolor=NO_MATCH, label=measure.unknown))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=9.5,
        title=measure.title,
    )  # fmt: skip
    figure.suptitle(f"Reporting bias by county, {year}", fontsize=14)
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
