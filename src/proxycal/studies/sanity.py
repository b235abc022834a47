"""Sanity pages of a data set whose truth is known, as the paper's appendix describes them.

1 histograms of every key variable        3 recovered against true latents, after alignment
2 core metrics and correlations           4 the terms of both losses by epoch
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from proxycal.files import atomic_file
from proxycal.studies.metrics import align
from proxycal.studies.protocol import truth_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from proxycal.studies.protocol import Truth
    from proxycal.testing.simulation import Simulation


@dataclass(frozen=True, slots=True)
class Core:
    """Whether a data set encodes what it should; R2 are of linear regressions.

    y_true_by_z, y_true_by_each_z : R2(Y_true | Z) and (d,) R2(Y_true | Z_i); NaN and empty without Z
    y_obs_by_y_true, gain_of_a : R2(Y_obs | Y_true), and how much A adds to it
    proxy_alignment, proxy_leak : (p,) correlation of each proxy with Y_true; with A, given Y_true
    names, correlation : of Z, A, Y_true, Y_obs
    """

    y_true_by_z: float
    y_true_by_each_z: np.ndarray
    y_obs_by_y_true: float
    gain_of_a: float
    proxy_alignment: np.ndarray
    proxy_leak: np.ndarray
    names: tuple[str, ...]
    correlation: np.ndarray


def core_metrics(y_obs: np.ndarray, P: np.ndarray, truth: Truth) -> Core:
    """The structural metrics of y_obs (n,), P (n, p) and the truth."""
    y, a, z = truth.y_true, truth.a, truth.z
    each = [] if z is None else [_r2(y, column[:, None]) for column in z.T]
    alone = _r2(y_obs, y[:, None])
    a_left = a - _fitted(a, y[:, None])
    P_left = P - np.column_stack([_fitted(p, y[:, None]) for p in P.T])
    parts = [] if z is None else list(z.T)
    names = (*[f"Z_{k + 1}" for k in range(len(parts))], "A", "Y_true", "Y_obs")
    return Core(
        y_true_by_z=np.nan if z is None else _r2(y, z),
        y_true_by_each_z=np.array(each),
        y_obs_by_y_true=alone,
        gain_of_a=_r2(y_obs, np.column_stack([y, a])) - alone,
        proxy_alignment=np.array([np.corrcoef(p, y)[0, 1] for p in P.T]),
        proxy_leak=np.array([np.corrcoef(p, a_left)[0, 1] for p in P_left.T]),
        names=names,
        correlation=np.corrcoef(np.vstack([*parts, a, y, y_obs])),
    )


def _fitted(y: np.ndarray, X: np.ndarray) -> np.ndarray:
    design = np.column_stack([np.ones(len(y)), X])
    return np.asarray(design @ np.linalg.lstsq(design, y, rcond=None)[0])


def _r2(y: np.ndarray, X: np.ndarray) -> float:
    """R2 of least squares of y (n,) on X (n, c) and a constant."""
    return float(1.0 - np.var(y - _fitted(y, X)) / np.var(y))


def write_pages(
    sim: Simulation,
    alpha: float,
    folder: Path,
    z_hat: np.ndarray | None = None,
    history: Mapping[str, np.ndarray] | None = None,
    title: str = "simulated data",
) -> list[Path]:
    """Write sanity.pdf with all pages, and each page as PNG; returns the paths.

    z_hat (n, d) and history are those of a fit with method="paper" (`latents`, `history`); without them, or
    without true latents, the pages that need them are left out.
    """
    truth = truth_of(sim, alpha)
    y_obs = sim.table[sim.roles.outcome].to_numpy(dtype=float)
    P = sim.table[list(sim.roles.proxies)].to_numpy(dtype=float)
    E = sim.table[list(sim.roles.environment)].to_numpy(dtype=float)
    pages = {
        "histograms": histograms(y_obs, P, E, truth, title),
        "core": core_page(core_metrics(y_obs, P, truth), sim.roles.proxies, title),
    }
    if z_hat is not None and truth.z is not None:
        pages["latents"] = latents_page(truth.z, z_hat, title)
    if history:
        pages["elbo"] = elbo_page(history, title)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / "sanity.pdf"]
    with atomic_file(paths[0]) as temporary, PdfPages(temporary, metadata={"CreationDate": None}) as pdf:
        for figure in pages.values():
            pdf.savefig(figure)
    for number, (name, figure) in enumerate(pages.items(), start=1):
        paths.append(folder / f"sanity-{number}-{name}.png")
        with atomic_file(paths[-1]) as temporary:
            figure.savefig(temporary, dpi=110, metadata={"Software": None})
    return paths


def histograms(y_obs: np.ndarray, P: np.ndarray, E: np.ndarray, truth: Truth, title: str) -> Figure:
    """Page 1: E_1, every Z, A, Y_true, Y_obs and every proxy."""
    z = np.empty((len(y_obs), 0)) if truth.z is None else truth.z
    shown = {"E_1": E[:, 0], **{f"Z_{k + 1}": column for k, column in enumerate(z.T)}, "A": truth.a}
    shown |= {"Y_true": truth.y_true, "Y_obs": y_obs, **{f"P_{k + 1}": p for k, p in enumerate(P.T)}}
    columns = 4
    rows = -(-len(shown) // columns)
    figure = _page(columns * 2.6, rows * 2.0, f"Distributions: {title}")
    for panel, (name, values) in zip(figure.subplots(rows, columns).flat, shown.items(), strict=False):
        panel.hist(values, bins=np.array([-0.25, 0.25, 0.75, 1.25]) if name == "A" else 30, color="#0072B2")
        panel.set_title(name, fontsize=9)
    _hide_empty(figure)
    return figure


def core_page(core: Core, proxies: Sequence[str], title: str) -> Figure:
    """Page 2: the metrics as bars and words, and the correlation matrix."""
    figure = _page(11.0, 4.2, f"Core metrics: {title}")
    words, bars, matrix = figure.subplots(1, 3, width_ratios=[1.0, 1.0, 1.3])
    lines = {
        "R2(Y_true | Z)": core.y_true_by_z,
        "R2(Y_obs | Y_true)": core.y_obs_by_y_true,
        "Delta R2 of A": core.gain_of_a,
        **{f"R2(Y_true | Z_{k + 1})": value for k, value in enumerate(core.y_true_by_each_z)},
    }
    lines = {name: value for name, value in lines.items() if np.isfinite(value)}
    words.barh(list(lines), list(lines.values()), color="#0072B2")
    words.set(xlim=(0.0, 1.0), title="R2")
    words.invert_yaxis()
    where = np.arange(len(proxies))
    bars.barh(where - 0.2, core.proxy_alignment, 0.4, color="#009E73", label="with Y_true")
    bars.barh(where + 0.2, core.proxy_leak, 0.4, color="#D55E00", label="with A, given Y_true")
    bars.set_yticks(where, list(proxies))
    bars.set(xlim=(-1.0, 1.0), title="correlation of the proxies")
    bars.legend(fontsize=7, loc="lower left")
    shade = matrix.imshow(core.correlation, vmin=-1.0, vmax=1.0, cmap="RdBu_r")
    matrix.set_xticks(range(len(core.names)), core.names, rotation=90, fontsize=7)
    matrix.set_yticks(range(len(core.names)), core.names, fontsize=7)
    matrix.set_title("correlations")
    figure.colorbar(shade, ax=matrix, shrink=0.8)
    return figure


def latents_page(z: np.ndarray, z_hat: np.ndarray, title: str) -> Figure:
    """Page 3: each true latent against its recovered one, paired, turned and scaled."""
    guess = align(z, z_hat).apply(z_hat)
    columns = min(5, z.shape[1])
    rows = -(-z.shape[1] // columns)
    # No narrower than its title, which is as long for one latent as for five.
    figure = _page(max(columns * 2.4, 7.2), rows * 2.5, f"Recovered against true latents: {title}")
    panels = figure.subplots(rows, columns, squeeze=False)
    for k, (panel, true, recovered) in enumerate(zip(panels.flat, z.T, guess.T, strict=False)):
        panel.plot(true, recovered, ".", markersize=2, color="#0072B2", rasterized=True)
        panel.axline((0.0, 0.0), slope=1.0, color="0.6", linewidth=0.8)
        panel.set_title(f"Z_{k + 1}, R2 {_r2(true, recovered[:, None]):.2f}", fontsize=9)
    _hide_empty(figure)
    return figure


def elbo_page(history: Mapping[str, np.ndarray], title: str) -> Figure:
    """Page 4: reconstruction, KL and loss of both stages by epoch, training and validation."""
    stages, terms = ("content", "bias"), ("reconstruction", "kl", "loss")
    figure = _page(9.0, 5.0, f"Terms of the loss by epoch, in nats per row: {title}")
    panels = figure.subplots(len(stages), len(terms))
    for row, stage in zip(panels, stages, strict=True):
        for panel, term in zip(row, terms, strict=True):
            for rows, colour in (("train", "#0072B2"), ("validation", "#D55E00")):
                curve = history[f"{stage}.{rows}_{term}"]
                panel.plot(np.arange(1, len(curve) + 1), curve, color=colour, label=rows)
            panel.set_title(f"{stage}: {term}", fontsize=9)
    panels[0, 0].legend(fontsize=7)
    return figure


def _page(width: float, height: float, title: str) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=11)
    return figure


def _hide_empty(figure: Figure) -> None:
    for panel in figure.axes:
        panel.set_axis_on() if panel.has_data() else panel.set_axis_off()
