"""The paper's two simulated studies as cells of a sweep: a cell is one data set under one method, all folds.

synthetic       n x d_z x alpha x noise: 150 data sets of section 5.1
semisynthetic   a known bias in a real table: JOBS, and OHIE where its files are given; d_z 5, 10, 15, 20
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from proxycal.datasets import load_jobs, load_ohie, ohie_stand_in
from proxycal.datasets.ohie import STAND_IN
from proxycal.errors import SettingsError
from proxycal.extras import require_torch
from proxycal.methods.paper.settings import PaperSettings
from proxycal.settings import Settings
from proxycal.studies import baselines
from proxycal.studies.pages import code_digest
from proxycal.studies.protocol import (
    N_FOLDS,
    Answer,
    exact_answers,
    judge,
    make_folds,
    paper_answers,
    truth_of,
)
from proxycal.studies.sweep import Cell
from proxycal.testing.simulation import inject_bias, simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from proxycal.datasets import Dataset
    from proxycal.studies.protocol import Fold, Truth
    from proxycal.studies.sweep import Done
    from proxycal.testing.simulation import Simulation

METHODS = ("proxy-only", "environment-only", "tedvae", "tedvae-treatment", "paper", "exact", "oracle")
# What every cell computes with.
LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas")
NETWORKS = ("tedvae", "tedvae-treatment", "paper")
# The column that a trial assigned, of the tables that come from one.
TREATMENTS = {"JOBS": "treat", "OHIE": "treatment", STAND_IN: "treatment"}
SIZES, LATENTS, ALPHAS, NOISES = (
    (500, 1000, 2500, 5000, 10000),
    (1, 2, 5, 10, 20),
    (1, 5, 10),
    ("gaussian", "poisson"),
)
REAL_LATENTS = (5, 10, 15, 20)
QUICK_FOLDS = 3
# Noise of the proxies with `as_published`: they are published as reconstructed with an RMSE of 0.1 to 0.2,
# which ours of sd 0.5 does not allow.
PUBLISHED_NOISE: dict[str, Any] = {"sd_proxy": 0.2}
# What the networks are asked beyond their defaults, which are the published values where stated.
NETWORK: dict[str, Any] = {}
# Published settings of real data: 100 epochs instead of 50.
REAL_EPOCHS = 100
_SOURCES = tuple(
    Path(__file__).with_name(f"{name}.py")
    for name in ("studies", "protocol", "metrics", "baselines", "tedvae")
)


@dataclass(frozen=True, slots=True)
class Study:
    """What to run: a name, its cells, whether it is the short form, and by which settings of the paper."""

    name: str
    cells: tuple[Cell, ...]
    quick: bool
    as_published: bool = False

    @property
    def trains_networks(self) -> bool:
        """Whether any of its methods needs torch."""
        return any(cell.settings["method"] in NETWORKS for cell in self.cells)


def synthetic(quick: bool, methods: Sequence[str] = METHODS, as_published: bool = False) -> Study:
    """The synthetic study; the short form is one row of table 2 (n = 500, d_z = 5), three folds.

    >>> len(synthetic(False, ["exact"]).cells), len(synthetic(True, ["exact"]).cells)
    (150, 6)
    """
    sizes, latents = ((500,), (5,)) if quick else (SIZES, LATENTS)
    folds = QUICK_FOLDS if quick else N_FOLDS
    cells = [
        _cell({
            "study": "synthetic", "dataset": "synthetic", "n": n, "d_z": d_z, "alpha": alpha, "noise": noise,
            "method": method, "folds": folds, "seed": n + d_z,
        })
        for n, d_z, alpha, noise in itertools.product(sizes, latents, ALPHAS, NOISES)
        for method in _known(methods) if method != "tedvae-treatment"
    ]  # fmt: skip
    return Study("synthetic", _marked(cells, as_published), quick, as_published)


def semisynthetic(
    quick: bool,
    methods: Sequence[str] = METHODS,
    datasets: Mapping[str, str] | None = None,
    as_published: bool = False,
) -> Study:
    """The semi-synthetic study; the short form has d_z 5 and 10 only and three folds.

    datasets : beside JOBS: "OHIE" -> folder of its files, "simulated stand-in" -> "" for a table like it.

    >>> [len(semisynthetic(quick, ["paper"]).cells) for quick in (False, True)]
    [12, 6]
    """
    latents, folds = (REAL_LATENTS[:2], QUICK_FOLDS) if quick else (REAL_LATENTS, N_FOLDS)
    cells = []
    for (dataset, folder), alpha, method in itertools.product(
        ({"JOBS": ""} | dict(datasets or {})).items(), ALPHAS, _known(methods)
    ):
        # Only the paper's method has content latents of a chosen number.
        for d_z in latents if method == "paper" else (latents[0],):
            cells.append(_cell({
                "study": "semisynthetic", "dataset": dataset, "folder": folder, "d_z": d_z, "alpha": alpha,
                "method": method, "folds": folds, "seed": 0,
            }))  # fmt: skip
    return Study("semisynthetic", _marked(cells, as_published), quick, as_published)


def _marked(cells: Sequence[Cell], as_published: bool) -> tuple[Cell, ...]:
    """The cells, told to use `PaperSettings.published()` where that is asked for."""
    if not as_published:
        return tuple(cells)
    return tuple(Cell(cell.key, {**cell.settings, "as_published": True}) for cell in cells)


def _cell(settings: dict[str, Any]) -> Cell:
    named = [key for key in ("dataset", "n", "d_z", "alpha", "noise", "method") if key in settings]
    return Cell(",".join(f"{key}={settings[key]}" for key in named).replace(" ", "-"), settings)


def _known(methods: Sequence[str]) -> list[str]:
    unknown = [name for name in methods if name not in METHODS]
    if unknown or not methods:
        raise SettingsError(
            f"method {unknown[0] if unknown else ''!r} is not known: use one or more of {', '.join(METHODS)}"
        )
    return [name for name in METHODS if name in methods]


def require_networks(methods: Sequence[str]) -> None:
    """Refuse methods that train networks where torch is missing."""
    networks = [name for name in methods if name in NETWORKS]
    if networks:
        others = ",".join(name for name in METHODS if name not in NETWORKS)
        require_torch(f"the method '{networks[0]}' of a study", f"use --methods {others}")


def config(study: Study) -> dict[str, Any]:
    """All that decides the figures: the cells, the code and the libraries it computes with."""
    listed = repr([(cell.key, dict(cell.settings)) for cell in study.cells])
    libraries = (*LIBRARIES, "torch") if study.trains_networks else LIBRARIES
    return {
        "study": study.name,
        "quick": study.quick,
        "cells": hashlib.sha256(listed.encode()).hexdigest()[:12],
        "code": code_digest(*_SOURCES),
        **{name: metadata.version(name) for name in libraries},
    }


def run_cell(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a row per fold and metric."""
    sim = draw(settings)
    truth = truth_of(sim, float(settings["alpha"]))
    folds = make_folds(sim, int(settings["folds"]), int(settings["seed"]))
    answers = ask(settings, folds, truth)
    return [
        {"fold": f, "metric": metric, "value": value}
        for f, (answer, fold) in enumerate(zip(answers, folds, strict=True))
        for metric, value in judge(answer, fold, truth).items()
    ]


def draw(settings: Mapping[str, Any]) -> Simulation:
    """The data set of a cell; all methods of a data set, and all its alphas, see the same units."""
    alpha, seed = float(settings["alpha"]), int(settings["seed"])
    if settings["dataset"] == "synthetic":
        return simulate(
            n=settings["n"],
            d_z=settings["d_z"],
            d_e=10,
            alpha=alpha,
            noise=settings["noise"],
            random_state=seed,
            **(PUBLISHED_NOISE if settings.get("as_published") else {}),
        )
    real = _real(settings["dataset"], settings["folder"])
    return inject_bias(real.table, real.roles, alpha=alpha, random_state=seed)


def _real(name: str, folder: str) -> Dataset:
    if name == "OHIE":
        return load_ohie(folder)
    return ohie_stand_in() if name == STAND_IN else load_jobs()


def ask(settings: Mapping[str, Any], folds: Sequence[Fold], truth: Truth) -> list[Answer]:
    """The answers of a cell's method."""
    method, seed = settings["method"], int(settings["seed"])
    require_networks([method])
    if method == "paper":
        held_out = bool(settings.get("as_published"))
        return paper_answers(folds, paper_settings(settings), among_held_out=held_out)
    if method == "exact":
        return exact_answers(folds, Settings(direction="over", random_state=seed))
    if method.startswith("tedvae"):
        from proxycal.studies.tedvae import TedvaeSettings

        treatment = TREATMENTS[settings["dataset"]] if method == "tedvae-treatment" else None
        network = PaperSettings(**_network(settings))
        return baselines.tedvae(folds, TedvaeSettings(network), seed, treatment)
    if method == "oracle":
        return baselines.oracle(folds, truth)
    return {"proxy-only": baselines.proxy_only, "environment-only": baselines.environment_only}[method](folds)


def paper_settings(settings: Mapping[str, Any]) -> Settings:
    """What the paper's method is asked to do in a cell."""
    paper = {**_network(settings), "d_z": settings["d_z"]}
    return Settings.from_dict(
        {"direction": "over", "method": "paper", "random_state": settings["seed"], "paper": paper}
    )


def _network(settings: Mapping[str, Any]) -> dict[str, Any]:
    published = asdict(PaperSettings.published()) if settings.get("as_published") else {}
    return published | {"epochs": 50 if settings["study"] == "synthetic" else REAL_EPOCHS, **NETWORK}


def long_form(done: Iterable[Done]) -> pd.DataFrame:
    """A row per cell, fold, method and metric; a cell that failed is one row with its error."""
    rows: list[dict[str, Any]] = []
    for cell in done:
        kept = {
            key: value
            for key, value in cell.settings.items()
            if key not in ("folds", "folder", "as_published")
        }
        values = cell.rows if cell.error is None else [{"fold": -1, "metric": "error", "value": None}]
        rows += [{"cell": cell.key, **kept, **row, "error": cell.error or ""} for row in values]
    frame = pd.DataFrame(rows)
    frame["value"] = frame["value"].astype(float)
    return frame
