"""Figures of the studies: estimates beside the truth and the published figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from proxycal.files import atomic_file
from proxycal.studies.pages import paper_table
from proxycal.studies.tables import LABELS

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

# Colours that stay apart for colour-blind readers (Okabe and Ito); a method keeps its own everywhere.
COLOURS = {
    "proxy-only": "#E69F00",
    "environment-only": "#56B4E9",
    "tedvae": "#CC79A7",
    "tedvae-treatment": "#999999",
    "paper": "#D55E00",
    "exact": "#0072B2",
    "oracle": "#009E73",
}


def synthetic_figure(summary: pd.DataFrame) -> Figure:
    """Estimated alpha over n, a panel per true alpha; a line per method, mean over d_z and noise."""
    own = summary[summary["metric"] == "alpha"]
    alphas = sorted(own["alpha"].unique())
    figure = Figure(figsize=(3.6 * len(alphas), 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = np.atleast_1d(figure.subplots(1, len(alphas)))
    published = paper_table("table2_alpha")
    for panel, alpha in zip(panels, alphas, strict=True):
        here = own[own["alpha"] == alpha]
        panel.axhline(alpha, color="0.6", linewidth=1.0)
        for method in dict.fromkeys(here["method"]):
            by_n = here[here["method"] == method].groupby("n")["mean"].mean()
            panel.plot(by_n.index, by_n.to_numpy(), "o-", color=COLOURS[method], label=method, markersize=4)
        sizes = published["n"].isin(here["n"].unique()) & published["d_z"].isin(here["d_z"].unique())
        by_n = published[sizes & (published["alpha"] == alpha)].groupby("n")["mean"].mean()
        panel.plot(by_n.index, by_n.to_numpy(), "x", color="black", label="published")
        panel.set(title=f"true alpha {alpha:g}", xlabel="rows", xscale="log")
    panels[0].set_ylabel("estimated alpha, mean over data sets")
    panels[-1].legend(fontsize=7)
    return figure


def semisynthetic_figure(summary: pd.DataFrame, dataset: str) -> Figure:
    """Estimated alpha of every method, mean and sd over folds, a panel per true alpha."""
    own = summary[(summary["metric"] == "alpha") & (summary["dataset"] == dataset)]
    alphas = sorted(own["alpha"].unique())
    figure = Figure(figsize=(3.6 * len(alphas), 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = np.atleast_1d(figure.subplots(1, len(alphas), sharey=True))
    published = paper_table("table3_semisynthetic")
    for panel, alpha in zip(panels, alphas, strict=True):
        panel.axvline(alpha, color="0.6", linewidth=1.0)
        for row in own[own["alpha"] == alpha].to_dict("records"):
            label = LABELS[row["method"]].format(d_z=row["d_z"])
            spread = 0.0 if np.isnan(row["sd"]) else row["sd"]
            panel.errorbar(row["mean"], label, xerr=spread, fmt="o", color=COLOURS[row["method"]])
            same = (published["method"] == label) & (published["alpha"] == alpha)
            for mean in published.loc[same & (published["dataset"] == dataset), "mean"]:
                panel.plot(mean, label, "x", color="black")
        panel.set(title=f"{dataset}, true alpha {alpha:g}", xlabel="estimated alpha (x: published)")
    return figure


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """The figure as PNG and PDF, whole or not at all."""
    paths = [folder / f"{name}.{ending}" for ending in ("png", "pdf")]
    for path in paths:
        with atomic_file(path) as temporary:
            # No dates in the files: the same results give the same bytes.
            metadata = {"CreationDate": None} if path.suffix == ".pdf" else {"Software": None}
            figure.savefig(temporary, dpi=150, metadata=metadata)
    return paths
