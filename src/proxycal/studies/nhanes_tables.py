"""Tables of the NHANES study, from its long-form results."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
from scipy.stats import kurtosis

from proxycal.datasets.nhanes import DIRECTIONS, ENVIRONMENT, OUTCOMES, load_nhanes
from proxycal.studies.nhanes import BMI_NAMES, MEAN_METHODS, ROW_METHODS
from proxycal.studies.tables import Grid
from proxycal.studies.validated import two_valued_floor

if TYPE_CHECKING:
    from collections.abc import Iterator

UNITS = {"weight": "kg", "height": "cm", "bmi": "kg/m2"}
MAIN_SHARE = 0.1
GROUPS = ("all", "Female", "Male", *BMI_NAMES)
# Whose errors are put side by side: the first of each pair against the second.
COMPARED = (
    ("proxycal", "self-report"),
    ("proxycal", "regression"),
    ("exact", "self-report"),
    ("exact", "regression"),
)


def spread(values: pd.Series, digits: int = 2) -> str:
    """Mean over draws, with their sd where there are several."""
    if values.empty:
        return "-"
    sd = f"±{values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{sd}"


def pick(long: pd.DataFrame, method: str, metric: str, group: str = "all") -> pd.DataFrame:
    """The results of one method, metric and group."""
    same = (long["method"] == method) & (long["metric"] == metric) & (long["group"] == group)
    return long[same]


def parts(long: pd.DataFrame) -> Iterator[tuple[bool, str, float, pd.DataFrame]]:
    """The results by proxies (with body fat or not), outcome and share validated."""
    for key, part in long.groupby(["body_fat", "outcome", "share"], sort=True):
        body_fat, outcome, share = cast("tuple[bool, str, float]", key)
        yield bool(body_fat), str(outcome), float(share), part


def _label(outcome: str, body_fat: bool) -> str:
    return f"{outcome}, body fat too" if body_fat else outcome


def verdict_table(long: pd.DataFrame) -> Grid:
    """What the package says by itself, a row per outcome and share."""
    rows = []
    for body_fat, outcome, share, part in parts(long):
        counts = pick(part, "fit", "verdict")["text"].value_counts()
        rows.append(
            (
                _label(outcome, body_fat),
                f"{share:.0%}",
                "; ".join(f"{text} ({count})" for text, count in counts.items()),
                spread(pick(part, "fit", "alpha")["value"]),
                spread(pick(part, "fit", "share")["value"]),
                spread(pick(part, "fit", "separation")["value"]),
                spread(pick(part, "fit", "relevance")["value"]),
            )
        )
    columns = ("outcome", "validated", "verdict (draws)", "alpha", "share biased", "alpha in residual sds")
    title = "Verdict, size of the bias and share of biased rows, mean ± sd over draws of the validated rows"
    return Grid("verdicts", title, tuple(("", name) for name in (*columns, "proxies explain")), tuple(rows))


def rmse_table(long: pd.DataFrame) -> Grid:
    """Error on the rows that were not validated, a column per method."""
    rows = []
    for body_fat, outcome, share, part in parts(long):
        cells = [spread(pick(part, method, "rmse")["value"]) for method in ROW_METHODS]
        name = f"{_label(outcome, body_fat)} ({UNITS[outcome]})"
        rows.append((name, f"{share:.0%}", str(part["seed"].nunique()), *cells))
    columns = ("outcome", "validated", "draws", *ROW_METHODS)
    title = "RMSE on rows that were not validated, mean ± sd over draws"
    return Grid("rmse", title, tuple(("", name) for name in columns), tuple(rows))


def pair_table(long: pd.DataFrame) -> Grid:
    """Differences of RMSE on the same draws: below zero, the first is better."""
    rows = []
    for _, outcome, share, part in parts(long[long["share"] > 0]):
        for first, second in COMPARED:
            difference = paired(part, first, second)
            rows.append(
                (
                    outcome,
                    f"{share:.0%}",
                    f"{first} less {second}",
                    spread(difference, 3),
                    "{} / {} / {}".format(*tally(difference)),
                )
            )
    columns = ("outcome", "validated", "RMSE of", "difference, mean ± sd", "draws: lower / same / higher")
    title = "Paired differences by draw: below zero, the first method has the smaller error"
    return Grid("pairs", title, tuple(("", name) for name in columns), tuple(rows))


def paired(part: pd.DataFrame, first: str, second: str) -> pd.Series:
    """RMSE of one method less that of another, by draw."""
    own, other = (pick(part, name, "rmse").set_index("seed")["value"] for name in (first, second))
    return own - other


def tally(difference: pd.Series) -> tuple[int, int, int]:
    """In how many draws the first was lower, the same (the report was left unchanged) and higher."""
    return int((difference < 0).sum()), int((difference == 0).sum()), int((difference > 0).sum())


def group_table(long: pd.DataFrame) -> Grid:
    """RMSE and mean error by sex and measured BMI at the main share."""
    rows = []
    here = long[long["share"] == MAIN_SHARE]
    for outcome, part in here.groupby("outcome", sort=True):
        for group in GROUPS:
            for metric, name in (("rmse", "RMSE"), ("bias", "mean error")):
                cells = [spread(pick(part, method, metric, group)["value"]) for method in ROW_METHODS]
                rows.append((str(outcome), group, name, *cells))
    columns = ("outcome", "group", "metric", *ROW_METHODS)
    title = f"By sex and measured BMI, {MAIN_SHARE:.0%} validated, rows that were not validated"
    return Grid("groups", title, tuple(("", name) for name in columns), tuple(rows))


def mean_table(long: pd.DataFrame) -> Grid:
    """The mean measurement of these people: how far off, how wide the interval."""
    rows = []
    for _, outcome, share, part in parts(long[long["share"] > 0]):
        for method in (*MEAN_METHODS, *ROW_METHODS):
            off = pick(part, method, "mean error")["value"]
            covers = pick(part, method, "covers")["value"]
            rows.append(
                (
                    outcome,
                    f"{share:.0%}",
                    method,
                    f"{np.sqrt(np.mean(off**2)):.3f}" if len(off) else "-",
                    spread(pick(part, method, "half width")["value"], 3),
                    f"{int(covers.sum())} of {len(covers)}" if len(covers) else "-",
                )
            )
    columns = ("outcome", "validated", "estimate", "RMSE of the mean", "half width of 95%", "covers")
    title = "The mean measurement of all people in the table"
    return Grid("means", title, tuple(("", name) for name in columns), tuple(rows))


def anatomy_table() -> Grid:
    """What the error of the reports is like: facts from all rows, since here the truth is known."""
    names = (
        "people", "mean error", "RMSE", "error within 2 units", "excess kurtosis", "explained by environment",
        "explained by the true value", "best single shift", "its share", "smallest RMSE with it",
    )  # fmt: skip
    columns = [anatomy(outcome) for outcome in OUTCOMES]
    rows = [(name, *[str(column[i]) for column in columns]) for i, name in enumerate(names)]
    title = "The reporting error (all rows; the truth is known)"
    heads = tuple(("", name) for name in ("", *[f"{outcome} ({UNITS[outcome]})" for outcome in OUTCOMES]))
    return Grid("anatomy", title, heads, tuple(rows))


def anatomy(outcome: str) -> tuple[str, ...]:
    """One column of `anatomy_table`."""
    table = load_nhanes(outcome).table
    reported, measured = (table[name].to_numpy(dtype=float) for name in OUTCOMES[outcome])
    gap = reported - measured
    sign = 1.0 if DIRECTIONS[outcome] == "over" else -1.0
    floor = two_valued_floor(gap, sign, np.arange(0.1, 30.0, 0.1))
    environment = pd.get_dummies(table[list(ENVIRONMENT)], drop_first=True).to_numpy(dtype=float)
    return (
        f"{len(gap)}",
        f"{gap.mean():.2f}",
        f"{np.sqrt(np.mean(gap**2)):.2f}",
        f"{np.mean(np.abs(gap) <= 2.0):.0%}",
        f"{kurtosis(gap):.1f}",
        f"{_explained(gap, environment):.1%}",
        f"{_explained(gap, measured[:, None]):.1%}",
        f"{sign * floor.alpha:+.1f}",
        f"{floor.share:.0%}",
        f"{floor.rmse:.2f}",
    )


def _explained(y: np.ndarray, X: np.ndarray) -> float:
    """R2 of y on X and a constant."""
    design = np.column_stack([np.ones(len(y)), X])
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return 1.0 - float(left.var() / y.var())
