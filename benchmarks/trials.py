"""One trial: a data set whose truth is known, one fit of it, and what came out beside the truth.

The oracle is told A: least squares of y on (1, P, E, A), which is the limit for a linear world with Gaussian
noise. Where the noise has an atom or humps, a method that uses the shape can do better than the oracle.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.datasets import load_jobs
from proxycal.errors import ProxycalWarning
from proxycal.model import ProxyCalibrator
from proxycal.table.encode import Encoder
from proxycal.testing import Simulation, draw_world, inject_bias, simulate
from proxycal.testing.worlds import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

    from proxycal.table.roles import Roles


@dataclass(frozen=True, slots=True)
class Case:
    """A table to fit, and its truth: a (n,) in {0, 1}, alpha (n,) the bias a row has or would have.

    level : (n,) codes of the category that the bias differs by, or None.
    """

    table: pd.DataFrame
    roles: Roles
    a: np.ndarray
    alpha: np.ndarray
    level: np.ndarray | None = None


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a trial for each of its seeds."""
    return each_seed(settings, lambda seed: trial(draw(settings, seed)))


def each_seed(settings: Mapping[str, Any], run: Callable[[int], dict[str, Any]]) -> list[dict[str, Any]]:
    """A row per seed of a cell. A fit that raises is a row with its error."""
    rows: list[dict[str, Any]] = []
    for seed in settings["seeds"]:
        try:
            rows.append({"seed": seed, **run(seed), "error": None})
        except Exception as error:  # one bad data set is a result of the benchmark, not its end
            rows.append({"seed": seed, "error": f"{type(error).__name__}: {error}"})
    return rows


def draw(settings: Mapping[str, Any], seed: int) -> Case:
    """The data set of a cell and a seed: "synthetic", "JOBS", "JOBS resampled", or a kind of `draw_world`.

    >>> case = draw({"world": "gaussian", "n": 200, "alpha": 3.0}, seed=1)
    >>> case.table.shape, len(case.a)
    ((200, 11), 200)
    """
    n, alpha = int(settings["n"]), float(settings["alpha"])
    if settings["world"] == "synthetic":
        sim = simulate(
            n=n, d_z=settings["d_z"], d_e=10, alpha=alpha, noise=settings["noise"], random_state=seed
        )
        return _simulated(sim, alpha)
    if settings["world"] == "JOBS":
        jobs = load_jobs()
        return _simulated(inject_bias(jobs.table, jobs.roles, alpha=alpha, random_state=seed), alpha)
    if settings["world"] == "JOBS resampled":
        # Rows drawn with replacement make the 614 men a population, which an interval can be held against.
        jobs = load_jobs()
        rows = np.random.default_rng(seed).integers(0, len(jobs.table), size=n)
        table = jobs.table.iloc[rows].reset_index(drop=True)
        return _simulated(inject_bias(table, jobs.roles, alpha=alpha, random_state=seed), alpha)
    world = draw_world(settings["world"], n, alpha, seed)
    return Case(world.table(), world.roles, world.a, world.alpha, world.level)


def _simulated(sim: Simulation, alpha: float) -> Case:
    a = sim.truth["a"].to_numpy(dtype=float)
    return Case(sim.table, sim.roles, a, np.full(len(a), alpha))


def trial(case: Case) -> dict[str, Any]:
    """Fit once, with the defaults of the public interface, and put the answer beside the truth."""
    start = time.perf_counter()
    model = ProxyCalibrator(case.roles, direction="over").fit(case.table)
    seconds = time.perf_counter() - start
    with warnings.catch_warnings():
        # That an outcome is left alone is a warning for a user; here it is the verdict column.
        warnings.simplefilter("ignore", ProxycalWarning)
        p_biased = model.calibrate(case.table)["p_biased"].to_numpy()
    low, high = model.alpha_interval_
    best = oracle(case)
    row = {
        "alpha_true": _mean_bias(case.alpha, case.a),
        "alpha_hat": model.alpha_,
        "low": low,
        "high": high,
        "verdict": model.verdict_,
        "accuracy": float(np.mean((p_biased > 0.5) == (case.a == 1.0))),
        "oracle": float(best[0]),
        "seconds": round(seconds, 3),
    }
    return row if case.level is None else {**row, "levels": _levels(case, case.level, model, best[1:])}


def oracle(case: Case) -> np.ndarray:
    """Least squares of y on (1, P, E, A) with the true A: alpha; by level, one of each too."""
    arrays = Encoder.fit(case.table, case.roles).transform(case.table)
    a = case.a[:, None]
    if case.level is not None:
        a = a * (case.level[:, None] == np.arange(len(LEVELS)))
    X = np.column_stack([a, np.ones(len(a)), arrays.P, arrays.E])
    coefficients: np.ndarray = np.linalg.lstsq(X, case.table[case.roles.outcome].to_numpy(), rcond=None)[0]
    by_level = coefficients[: a.shape[1]]
    if case.level is None:
        return by_level
    return np.array([_mean_bias(by_level[case.level], case.a), *by_level])


def _mean_bias(alpha: np.ndarray, a: np.ndarray) -> float:
    """The mean bias over the biased, which is what one number for alpha means where alpha differs."""
    return float(alpha[a == 1.0].mean()) if a.any() else float(alpha.mean())


def _levels(case: Case, level: np.ndarray, model: ProxyCalibrator, best: np.ndarray) -> list[dict[str, Any]]:
    """The answer of each level; where the fit says that the bias does not differ, its one answer for all."""
    summary = model.summary()
    rows = []
    for code, name in enumerate(LEVELS):
        label = f"exact, level={name}"
        estimate = summary.loc[label if label in summary.index else "exact", ["alpha", "low", "high"]]
        alpha, low, high = estimate.to_numpy(dtype=float).tolist()
        rows.append({
            "level": name,
            "alpha_true": float(case.alpha[level == code].mean()),
            "alpha_hat": alpha,
            "low": low,
            "high": high,
            "oracle": float(best[code]),
            "told apart": label in summary.index,
        })  # fmt: skip
    return rows
