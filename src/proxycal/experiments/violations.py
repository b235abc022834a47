"""Worlds that break one assumption each: what alpha came out, which finding fired, was the verdict right."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.engine import map_as_done
from proxycal.errors import SettingsError
from proxycal.experiments.worlds import World, draw_world
from proxycal.model import ProxyCalibrator

if TYPE_CHECKING:
    from collections.abc import Sequence

ALPHA_SD = 3.0
# An alpha this far from the truth, claimed as found, is a wrong number.
WRONG = 0.1


@dataclass(frozen=True, slots=True)
class Violation:
    """kind : of `worlds.py`. expected : topic of the finding that should fire; "" where none should."""

    kind: str
    alpha_sd: float
    expected: str
    leak: float = 0.0


VIOLATIONS = {
    "clean": Violation("gaussian", ALPHA_SD, ""),
    "clean, no bias": Violation("gaussian", 0.0, ""),
    "leak 0.2": Violation("gaussian", ALPHA_SD, "exclusion", 0.2),
    "leak 0.5": Violation("gaussian", ALPHA_SD, "exclusion", 0.5),
    "leak 1.0": Violation("gaussian", ALPHA_SD, "exclusion", 1.0),
    "useless proxies": Violation("gaussian", ALPHA_SD, "relevance"),
    "varying alpha": Violation("alpha by level", 1.0, "constancy"),
    "heteroscedastic": Violation("heteroscedastic", ALPHA_SD, "heteroscedasticity"),
    "E in the mean": Violation("E in the mean", ALPHA_SD, ""),
    "skewed": Violation("exponential", ALPHA_SD, ""),
}
# These say what they saw by a p-value even where the model copes with it.
_BY_P = {"constancy": 0.05, "heteroscedasticity": 1e-3}
# Asked of a table without a bias, these have nothing to find.
_ABOUT_A_BIAS = ("race", "gate", "first-stage", "separation")


def broken(name: str, n: int, seed: int) -> tuple[World, pd.DataFrame]:
    """A world, and the table that an analyst would get of it once the assumption is broken.

    >>> world, table = broken("leak 1.0", n=100, seed=0)
    >>> bool(np.allclose(table["p_2"] - world.P[:, 1], world.alpha * world.a))
    True
    """
    if name not in VIOLATIONS:
        raise SettingsError(f"violation {name!r} is not known: use one of {', '.join(VIOLATIONS)}")
    one = VIOLATIONS[name]
    world = draw_world(one.kind, n, one.alpha_sd, seed)
    table = world.table()
    if one.leak:
        table["p_2"] += one.leak * world.alpha * world.a
    if name == "useless proxies":
        names = list(world.roles.proxies)
        order = np.random.default_rng(seed).permutation(n)
        table[names] = table[names].to_numpy()[order]
    return world, table


def one_trial(item: tuple[str, int], n: int) -> dict[str, Any]:
    """Fit and check one broken table; item : name of the violation, seed."""
    name, seed = item
    world, table = broken(name, n, seed)
    model = ProxyCalibrator(world.roles).fit(table)
    fired = sorted({one.topic for one in model.check() if not one.ok or _seen(one.topic, one.value)})
    if VIOLATIONS[name].alpha_sd == 0.0:
        fired = [topic for topic in fired if topic not in _ABOUT_A_BIAS]
    true = float(world.alpha[world.a == 1.0].mean())
    found = model.verdict_ == "bias found"
    right = not found if true == 0.0 else not found or abs(model.alpha_ / true - 1.0) <= WRONG
    expected = VIOLATIONS[name].expected
    return {
        "world": name,
        "seed": seed,
        "alpha_true": true,
        "alpha_hat": model.alpha_,
        "verdict": model.verdict_,
        "no wrong number": right,
        "as expected": expected in fired if expected else not fired,
        "fired": ", ".join(fired),
    }


def _seen(topic: str, value: float | None) -> bool:
    return topic in _BY_P and value is not None and value < _BY_P[topic]


def run_violations(names: Sequence[str], n: int, seeds: Sequence[int], jobs: int = 1) -> pd.DataFrame:
    """Every named world with every seed, a row each, in that order."""
    items = [(name, seed) for name in names for seed in seeds]
    done = dict(map_as_done(partial(one_trial, n=n), items, jobs=jobs))
    return pd.DataFrame([done[i] for i in range(len(items))])


def summary(trials: pd.DataFrame) -> pd.DataFrame:
    """A row per world: alpha beside the truth, shares of right answers, of verdicts, and what fired most."""
    rows = []
    for name, part in trials.groupby("world", sort=False):
        topics = [topic for text in part["fired"] for topic in text.split(", ") if topic]
        most = pd.Series(topics, dtype=object).value_counts().head(3)
        rows.append({
            "world": name,
            "repetitions": len(part),
            "alpha_true": part["alpha_true"].mean(),
            "alpha_hat": part["alpha_hat"].mean(),
            "bias found": (part["verdict"] == "bias found").mean(),
            "no wrong number": part["no wrong number"].mean(),
            "expected": VIOLATIONS[str(name)].expected or "nothing",
            "as expected": part["as expected"].mean(),
            "fired most": ", ".join(f"{topic} {count}" for topic, count in most.items()),
        })  # fmt: skip
    return pd.DataFrame(rows).set_index("world")
