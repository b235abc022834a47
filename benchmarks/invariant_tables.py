"""Random tables as users have them: a recipe of plain choices, and the table, roles and settings it makes.

A recipe says of every property which choice was drawn; the first choice of each is the plain one, so that a
recipe that fails is shrunk by putting first choices back. The same recipe makes the same table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

from proxycal.table.roles import Roles

Recipe = dict[str, Any]
# Choices that are drawn more often stand more often; methods that take long stand once.
CHOICES: dict[str, tuple[Any, ...]] = {
    "n": (120, 60, 30, 40, 60, 90, 120, 40, 60, 90, 120, 200, 200, 300, 300, 450, 700, 1500),
    "proxies": (2, 1, 3, 4, 6),
    "environment": (2, 1, 3, 5),
    "alpha": (6.0, 0.0, 0.7, 2.0, 4.0, 15.0),
    "bias": ("rows", "graded", "by level", "sizes differ", "everybody"),
    "outcome": (
        "normal", "positive", "counts", "zeros", "rounded", "heaped", "share", "few values", "heavy tails",
    ),
    "noise": (0.4, 0.05, 1.5),
    "unit": (1.0, 1e-6, 1e9, 1000.0),
    "offset": (0.0, 100.0, -5.0),
    "method": ("auto", "exact", "moments", "gradual", "validated", "auto", "validated"),
    "direction": ("over", "under"),
    "scale": ("linear", "linear", "log"),
    "effect": ("constant", "constant", "constant", "linear", "by:kind"),
    "level": (0.95, 0.5, 0.999),
    "missing": ("drop", "impute", "raise"),
    "gaps": ("none", "none", "environment", "kind", "proxy", "outcome", "everywhere"),
    "kinds": ("two", "none", "rare", "rare", "many", "one row each", "numbers as text", "true and false"),
    "odd": (
        "none", "none", "none", "constant", "constant proxy", "duplicate", "collinear", "sum",
        "near outcome", "huge", "tiny", "two values", "date", "text proxy", "one value but once",
    ),
    "extreme": (
        "none", "none", "none", "report", "report beyond measure", "environment", "proxy", "negative",
    ),
    "weights": ("none", "none", "even", "decades", "one of all"),
    "counts": ("none", "none", "none", "ones", "few", "large"),
    "cluster": ("none", "none", "none", "few", "many", "own"),
    "trusted": ("none", "none", "none", "some", "unbiased", "all", "blank"),
    "truth": ("tenth", "none", "few", "third", "all", "one kind", "high reports", "none", "blank"),
    "inclusion": ("none", "none", "even", "uneven"),
    "log_proxies": ("none", "none", "none", "first"),
    "index": ("plain", "text", "twice", "dates"),
    "container": ("pandas", "polars", "parquet", "csv"),
    "change": (
        "none", "rows", "outcome unit", "proxy unit", "environment unit", "names of kinds", "columns",
        "weights unit",
    ),
    "ask": ("nothing", "report", "check", "audit", "effects"),
}  # fmt: skip
# Share of the recipes that stay as they were drawn, refused or not.
AS_DRAWN = 0.2
# Rows of the same world beside the fitted ones: next month's table.
NEW_ROWS = 40


@dataclass(frozen=True, slots=True)
class Case:
    """A table with its roles and the arguments of `ProxyCalibrator`; fresh : more rows of the same world."""

    recipe: Recipe
    table: Any
    fresh: Any
    roles: Roles
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def sign(self) -> float:
        """+1 where reports are said to be too high, -1 where too low."""
        return 1.0 if self.recipe["direction"] == "over" else -1.0


def random_recipe(seed: int) -> Recipe:
    """Every choice drawn by itself."""
    rng = np.random.default_rng([20_261_119, seed])
    drawn = {name: choices[int(rng.integers(len(choices)))] for name, choices in CHOICES.items()}
    recipe = {**drawn, "seed": seed}
    return recipe if rng.random() < AS_DRAWN else answerable(recipe)


def answerable(recipe: Recipe) -> Recipe:
    """The recipe without what is always refused, such as a method that needs truths where there are none."""
    made = dict(recipe)
    if made["method"] == "validated" and made["truth"] in ("none", "few", "blank"):
        made["method"] = "exact"
    if made["method"] not in ("exact", "validated", "auto"):
        made["effect"] = "constant"
    if made["effect"] == "by:kind" and made["kinds"] in ("none", "true and false", "one row each"):
        made["effect"] = "linear"
    if made["missing"] == "raise":
        made["gaps"] = "none"
    if made["gaps"] == "outcome":
        made["missing"] = "drop"
    if made["odd"] == "date":
        made["odd"] = "huge"
    if made["kinds"] == "many":
        made["n"] = max(made["n"], 300)
    if made["scale"] == "log" and made["extreme"] == "negative":
        made["extreme"] = "report"
    return made


def plain_recipe(seed: int = 0, **chosen: Any) -> Recipe:
    """The first of every choice, but for those given."""
    return {**{name: choices[0] for name, choices in CHOICES.items()}, "seed": seed, **chosen}


def make(recipe: Recipe) -> Case:
    """The table of a recipe."""
    rng = np.random.default_rng(recipe["seed"])
    n = recipe["n"] + NEW_ROWS
    sign = 1.0 if recipe["direction"] == "over" else -1.0
    kinds = _kinds(recipe["kinds"], n, rng)
    codes = pd.factorize(kinds)[0] if kinds is not None else np.zeros(n, dtype=int)
    e = rng.normal(size=(n, recipe["environment"]))
    if recipe["environment"] > 1:
        e[:, 1] = np.exp(e[:, 1])
    content = e @ rng.normal(0.0, 0.5, e.shape[1]) + 0.4 * (codes % 3) + rng.normal(size=n)
    biased, size = _bias(recipe, e, codes, rng)
    true, report = _outcome(recipe, content, sign * size * biased, rng)
    table: Any = pd.DataFrame({"y": report})
    slopes = rng.uniform(0.5, 1.5, int(recipe["proxies"])).tolist()
    for j, slope in enumerate(slopes):
        table[f"p{j + 1}"] = slope * content + recipe["noise"] * rng.normal(size=n)
    for j in range(e.shape[1]):
        table[f"e{j + 1}"] = e[:, j]
    if kinds is not None:
        table["kind"] = kinds
    _odd_column(recipe["odd"], table, true, rng)
    _extremes(recipe["extreme"], table, rng)
    roles = _design(recipe, table, true, biased, codes, rng)
    _gaps(recipe["gaps"], table, roles, rng)
    if roles["log_proxies"]:
        table["p1"] = np.exp(table["p1"].clip(-30.0, 30.0))
    return _case(recipe, table, roles)


def _kinds(choice: str, n: int, rng: np.random.Generator) -> Any:
    if choice == "none":
        return None
    if choice == "true and false":
        return rng.random(n) < 0.3
    if choice == "one row each":
        kinds = rng.choice(["a", "b", "c"], n).astype(object)
        kinds[: 3 if n > 60 else 1] = ["Don't know", "Z=9", "é"][: 3 if n > 60 else 1]
        return kinds
    names, shares = {
        "two": (["a", "b"], [0.5, 0.5]),
        "rare": (["a", "b", "c", "don't know"], [0.5, 0.35, 0.13, 0.02]),
        "many": ([f"state {i:02d}" for i in range(51)], None),
        "numbers as text": (["1", "2", "10"], None),
    }[choice]
    return rng.choice(np.array(names, dtype=object), n, p=shares)


def _bias(
    recipe: Recipe, e: np.ndarray, codes: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """How much each row is biased, from 0 to 1, and by what size, in sds of the content."""
    n, kind = len(e), recipe["bias"]
    pull = e @ rng.normal(0.0, 1.5, e.shape[1]) + np.where(codes % 2 == 1, 1.0, -0.5)
    size = np.full(n, float(recipe["alpha"]))
    if kind == "everybody":
        return np.ones(n), size
    if kind == "graded":
        return expit(pull), size
    if kind == "by level":
        size = size * np.where(codes % 2 == 1, 1.0, 0.4)
    if kind == "sizes differ":
        size = size * rng.gamma(4.0, 0.25, n)
    return (rng.random(n) < expit(pull)).astype(float), size


def _outcome(
    recipe: Recipe, content: np.ndarray, shift: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """True values and reports, in the units of the recipe; on the log scale a bias is a factor."""
    kind, noise = recipe["outcome"], recipe["noise"] * rng.normal(size=len(content))
    by_factor = recipe["scale"] == "log"
    if kind in ("positive", "zeros", "counts"):
        true = np.exp(1.0 + 0.7 * (content + noise))
        if kind == "counts":
            true = rng.poisson(true).astype(float)
        report = true * np.exp(0.3 * shift) if by_factor else true + np.exp(1.0) * shift
        if kind == "counts":
            report = np.round(np.maximum(report, 0.0))
        if kind == "zeros":
            none = rng.random(len(true)) < 0.4
            true, report = np.where(none, 0.0, true), np.where(none, 0.0, report)
    else:
        true, report = _measured(kind, content + noise, shift, by_factor, rng)
    unit, offset = recipe["unit"], recipe["offset"]
    true, report = unit * (true + offset), unit * (report + offset)
    # Most tables of the log scale hold no report below zero; "extreme" puts one in.
    return (np.maximum(true, 0.0), np.maximum(report, 0.0)) if by_factor else (true, report)


def _measured(
    kind: str, value: np.ndarray, shift: np.ndarray, by_factor: bool, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    if kind == "heavy tails":
        value = value + rng.standard_t(1.5, len(value))
    true = 20.0 + 4.0 * value
    report = true * np.exp(0.3 * shift) if by_factor else true + 4.0 * shift
    if kind == "share":
        return expit(value), np.clip(expit(value) + 0.1 * shift, 0.0, 1.0)
    step = {"rounded": 1.0, "heaped": 5.0, "few values": 20.0}.get(kind)
    return (true, report) if step is None else (np.round(true / step) * step, np.round(report / step) * step)


def _odd_column(choice: str, table: Any, true: np.ndarray, rng: np.random.Generator) -> None:
    n = len(table)
    made: Any = {
        "constant": lambda: np.full(n, 3.0),
        "constant proxy": lambda: np.zeros(n),
        "duplicate": lambda: table["e1"].to_numpy(),
        "collinear": lambda: 3.0 * table["e1"] - 2.0 + 1e-9 * rng.normal(size=n),
        "sum": lambda: table.filter(regex="^e").sum(axis=1),
        "near outcome": lambda: table["y"] * (1.0 + 1e-7 * rng.normal(size=n)),
        "huge": lambda: 1e15 * (1.0 + rng.random(n)),
        "tiny": lambda: 1e-15 * rng.normal(size=n),
        "two values": lambda: (rng.random(n) < 0.4).astype(int),
        "date": lambda: pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        "text proxy": lambda: np.where(table["p1"] > 0, "high", "low").astype(object),
        "one value but once": lambda: (np.arange(n) == 5).astype(float),
    }
    if choice in made:
        table["p_odd" if choice in ("constant proxy", "near outcome", "text proxy") else "e_odd"] = made[
            choice
        ]()


def _extremes(choice: str, table: Any, rng: np.random.Generator) -> None:
    row = int(rng.integers(len(table) - NEW_ROWS))
    spread = float(np.ptp(table["y"])) or 1.0
    if choice == "report":
        table.loc[row, "y"] += 20.0 * spread
    elif choice == "report beyond measure":
        table.loc[row, "y"] += 1e7 * spread
    elif choice == "negative":
        table.loc[row, "y"] -= 2.0 * spread
    elif choice == "environment":
        table.loc[row, "e1"] = 1e7
    elif choice == "proxy":
        table.loc[row, "p1"] = -1e7


def _design(
    recipe: Recipe,
    table: Any,
    true: np.ndarray,
    biased: np.ndarray,
    codes: np.ndarray,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Adds the columns of the further roles and returns which column is what."""
    n = len(table)
    roles: dict[str, Any] = {
        "outcome": "y",
        "proxies": [name for name in table if str(name).startswith("p")],
        "environment": [name for name in table if str(name).startswith(("e", "kind"))],
        "log_proxies": ["p1"] if recipe["log_proxies"] == "first" else [],
    }
    columns: dict[str, Any] = {
        "weights": {
            "even": lambda: rng.uniform(1.0, 2.0, n),
            "decades": lambda: 10.0 ** rng.uniform(-2.0, 4.0, n),
            "one of all": lambda: np.where(np.arange(n) == 7, 1e6, 1.0),
        },
        "counts": {
            "ones": lambda: np.ones(n, dtype=int),
            "few": lambda: rng.integers(1, 4, n),
            "large": lambda: rng.integers(1, 500, n),
        },
        "cluster": {
            "few": lambda: rng.integers(0, 6, n),
            "many": lambda: np.array([f"c{i}" for i in rng.integers(0, max(n // 5, 2), n)], dtype=object),
            "own": lambda: np.arange(n),
        },
        "trusted": {
            "some": lambda: (biased == 0.0) & (rng.random(n) < 0.3),
            "unbiased": lambda: biased == 0.0,
            "all": lambda: np.ones(n, dtype=bool),
            "blank": lambda: np.where(rng.random(n) < 0.1, 1.0, np.nan),
        },
    }
    for role, choices in columns.items():
        if recipe[role] in choices:
            table[role] = choices[recipe[role]]()
            roles[role] = role
    _truths(recipe, table, true, codes, roles, rng)
    return roles


def _truths(
    recipe: Recipe,
    table: Any,
    true: np.ndarray,
    codes: np.ndarray,
    roles: dict[str, Any],
    rng: np.random.Generator,
) -> None:
    n, choice = len(table), recipe["truth"]
    if choice == "none":
        return
    chance = {"tenth": 0.1, "few": 12.0 / n, "third": 1 / 3, "all": 1.0, "blank": 0.0}.get(choice, 0.3)
    chosen = rng.random(n) < chance
    if choice == "tenth":  # at least as many as a method asks for, in a small table too
        chosen[: n - NEW_ROWS] |= rng.permutation(n - NEW_ROWS) < 35
    if choice == "one kind":
        chosen = (codes == 0) & (rng.random(n) < 0.6)
    if choice == "high reports":
        chosen &= table["y"].to_numpy() > float(table["y"].median())
    table["truth"] = np.where(chosen, true, np.nan)
    roles["truth"] = "truth"
    if recipe["inclusion"] != "none":
        odds = np.full(n, 0.3) if recipe["inclusion"] == "even" else rng.uniform(0.02, 1.0, n)
        table["inclusion"] = np.where(chosen, odds, np.nan)
        roles["inclusion"] = "inclusion"


def _gaps(choice: str, table: Any, roles: dict[str, Any], rng: np.random.Generator) -> None:
    columns = {
        "environment": ["e1"],
        "kind": ["kind"] if "kind" in table else [],
        "proxy": ["p1"],
        "outcome": ["y"],
        "everywhere": [*roles["proxies"], *roles["environment"]],
    }.get(choice, [])
    share = 0.02 if choice in ("outcome", "everywhere") else 0.12
    for name in columns:
        if table[name].dtype == bool:
            table[name] = table[name].astype(object)
        table.loc[rng.random(len(table)) < share, name] = pd.NaT if table[name].dtype.kind == "M" else None


def _case(recipe: Recipe, table: Any, roles: dict[str, Any]) -> Case:
    arguments = {
        name: recipe[name] for name in ("method", "direction", "scale", "effect", "level", "missing")
    }
    if roles.pop("log_proxies"):
        arguments["log_proxies"] = ["p1"]
    fitted, fresh = table.iloc[:-NEW_ROWS].copy(), table.iloc[-NEW_ROWS:].copy()
    n, index = len(fitted), recipe["index"]
    if index == "text":
        fitted.index = pd.Index([f"row {i}" for i in range(n)])
    elif index == "twice":
        fitted.index = pd.Index(np.arange(n) // 2)
    elif index == "dates":
        fitted.index = pd.date_range("2000-01-01", periods=n)
    return Case(recipe, fitted, fresh, Roles(**roles), arguments)
