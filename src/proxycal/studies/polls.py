"""`proxycal experiment polls`: the lean of sponsored polls, found without the results and judged by them.

    outcome      margin of the poll, Democrat less Republican; clusters are races
    proxies      mean margins in two disjoint halves of the other pollsters' unsponsored polls of the race
    environment  sponsor, method, office, sample size, days to the election
    truth        margin of the poll less that of the election, which no fit sees

Least squares of the true error on the same environment is what the fit should find.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.datasets.polls import OUTCOME, TRUTH, load_polls
from proxycal.errors import ProxycalWarning
from proxycal.model import ProxyCalibrator
from proxycal.studies.graded import why

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxycal.table.roles import Roles

PARTIES, NOBODY = ("D", "R"), "none"
COLUMNS = ("sponsor", "method", "office")
# Tables drawn by race, and tables with sponsors shuffled within races.
DRAWS, SHUFFLES = 100, 100
NEUTRAL = "unsponsored"


@dataclass(frozen=True, slots=True)
class Exact:
    """The default method on the same polls: its verdict, what decided it, seconds of processor time."""

    verdict: str
    reason: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Study:
    """All that the page tells.

    table : polls; seconds : of processor time for the fit
    exact : what the default method says of the same polls, None where it was not asked
    levels : column, level, against which level, bias and se without results, truth and truth_se with them
    eras : sponsors by era fitted alone, and errors of sponsored polls with that era left out
    shared : share of the variance of errors that the polls of a race have in common
    resampled : how often intervals of sponsors hold, and how often a lean is found where there is none
    """

    table: pd.DataFrame
    about: str
    seconds: float
    verdict: str
    sentence: str
    levels: pd.DataFrame
    eras: pd.DataFrame
    shared: float
    resampled: pd.DataFrame
    exact: Exact | None = None


def run(quick: bool = False, progress: Callable[[int, int], None] | None = None) -> Study:
    """The whole study; quick : few draws.

    Parameters
    ----------
    quick : bool, default False
        Draw 3 tables in place of 100, and leave out the default method.
    progress : callable, optional
        Called with (done, total) after each draw.

    """
    polls = load_polls()
    table = polls.table.assign(error=polls.table[OUTCOME] - polls.table[TRUTH])
    start = time.process_time()
    model = fit(table, polls.roles)
    seconds = time.process_time() - start
    draws = (3, 3) if quick else (DRAWS, SHUFFLES)
    return Study(
        table=table,
        about=polls.about,
        seconds=seconds,
        verdict=model.verdict_,
        sentence=repr(model).splitlines()[-1],
        levels=compare_levels(model.summary(), table),
        eras=by_era(table, polls.roles),
        shared=shared_by_race(table),
        resampled=resampled(table, polls.roles, *draws, progress),
        exact=None if quick else ask_exact(table, polls.roles),
    )


def ask_exact(table: pd.DataFrame, roles: Roles) -> Exact:
    """The default method, which looks for reports that are either right or off."""
    start = time.process_time()
    with warnings.catch_warnings():
        # What a warning would say stands in the verdict and its reason.
        warnings.simplefilter("ignore", ProxycalWarning)
        model = ProxyCalibrator(roles, direction="over").fit(table)
    return Exact(model.verdict_, why(model), time.process_time() - start)


def fit(table: pd.DataFrame, roles: Roles) -> ProxyCalibrator:
    """The gradual method on some polls."""
    return ProxyCalibrator(roles, direction="over", method="gradual").fit(table)


def leans(summary: pd.DataFrame) -> pd.DataFrame:
    """The bias of sponsored polls against the others, a row per party: alpha, se, low, high."""
    rows = summary.loc[[f"gradual, sponsor={party}" for party in PARTIES], ["alpha", "se", "low", "high"]]
    return rows.astype(float).set_axis(list(PARTIES))


def compare_levels(summary: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Every level of sponsor, method and office beside what the results say."""
    truth = true_leans(table)
    rows = []
    for column, reference in references(table).items():
        for level in sorted(set(table[column]) - {reference}):
            own = summary.loc[f"gradual, {column}={level}"]
            rows.append(
                {
                    "column": column,
                    "level": level,
                    "against": reference,
                    "polls": int((table[column] == level).sum()),
                    "bias": own["alpha"],
                    "se": own["se"],
                    "truth": truth.loc[f"{column}={level}", "bias"],
                    "truth_se": truth.loc[f"{column}={level}", "se"],
                }
            )
    frame = pd.DataFrame(rows)
    frame["apart"] = (frame["bias"] - frame["truth"]) / np.hypot(frame["se"], frame["truth_se"])
    return frame


def references(table: pd.DataFrame) -> dict[str, str]:
    """The level of each category that the others are compared with: the commonest, as in the method."""
    return {column: str(table[column].value_counts().index[0]) for column in COLUMNS}


def true_leans(table: pd.DataFrame) -> pd.DataFrame:
    """Least squares of the true error on the environment, errors by race: bias and se of each level."""
    parts = {"constant": np.ones(len(table))}
    for column, reference in references(table).items():
        for level in sorted(set(table[column]) - {reference}):
            parts[f"{column}={level}"] = (table[column] == level).to_numpy(dtype=float)
    parts |= {name: table[name].to_numpy(dtype=float) for name in ("log_sample", "days")}
    X, y = np.column_stack(list(parts.values())), table["error"].to_numpy(dtype=float)
    inverse = np.linalg.inv(X.T @ X)
    slopes = inverse @ X.T @ y
    scores = pd.DataFrame(X * (y - X @ slopes)[:, None]).groupby(table["race"].to_numpy()).sum().to_numpy()
    se = np.sqrt(np.diag(inverse @ scores.T @ scores @ inverse))
    return pd.DataFrame({"bias": slopes, "se": se}, index=list(parts))


def by_era(table: pd.DataFrame, roles: Roles) -> pd.DataFrame:
    """Each era fitted alone, and its sponsored polls corrected by a fit to the other eras.

    squares : of the error of sponsored polls as reported; less the lean of their sponsor; calibrated with the
    unsponsored polls as trusted rows; less the true lean of the other eras.
    """
    trusted = replace(roles, trusted=NEUTRAL)
    table = table.assign(**{NEUTRAL: table["sponsor"] == NOBODY})
    rows = []
    for era in sorted(table["era"].unique()):
        inside = table["era"] == era
        alone, others = leans(fit(table[inside], roles).summary()), table[~inside]
        there = table[inside & ~table[NEUTRAL]]
        truth = true_leans(others).loc[[f"sponsor={party}" for party in PARTIES], "bias"]
        fitted = leans(fit(others, roles).summary())["alpha"]
        with warnings.catch_warnings():
            # Where the other eras show no bias, the polls are left as they are, and counted so.
            warnings.simplefilter("ignore", ProxycalWarning)
            calibrated = fit(others, trusted).calibrate(there)["y_cal"]
        answers = {
            "reported": there[OUTCOME],
            "sponsor": there[OUTCOME] - there["sponsor"].map(fitted),
            "calibrated": calibrated,
            "true": there[OUTCOME] - there["sponsor"].map(dict(zip(PARTIES, truth, strict=True))),
        }
        row: dict[str, object] = {"era": era, "polls": len(there)}
        for party in PARTIES:
            row |= {party: alone.loc[party, "alpha"], f"{party}_se": alone.loc[party, "se"]}
            row[f"{party}_true"] = true_party(table[inside], party)
        rows.append(row | {name: float(((y - there[TRUTH]) ** 2).sum()) for name, y in answers.items()})
    return pd.DataFrame(rows)


def true_party(table: pd.DataFrame, party: str) -> float:
    """Mean true error of a party's polls less that of unsponsored ones."""
    means = table.groupby("sponsor")["error"].mean()
    return float(means[party] - means[NOBODY])


def rmse(eras: pd.DataFrame, name: str) -> float:
    """Error of all sponsored polls, each era corrected without its own results and reports."""
    return float(np.sqrt(eras[name].sum() / eras["polls"].sum()))


def shared_by_race(table: pd.DataFrame) -> float:
    """Share of the variance of true errors that is between races (analysis of variance, unequal groups)."""
    groups = table.groupby("race")["error"]
    sizes, means = groups.size(), groups.mean()
    n, count = len(table), len(sizes)
    within = float(((table["error"] - table["race"].map(means)) ** 2).sum()) / (n - count)
    between = float((sizes * (means - table["error"].mean()) ** 2).sum()) / (count - 1)
    usual = (n - float((sizes**2).sum()) / n) / (count - 1)
    common = max((between - within) / usual, 0.0)
    return common / (common + within)


def resampled(
    table: pd.DataFrame,
    roles: Roles,
    draws: int,
    shuffles: int,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Tables of races drawn with replacement, and tables whose sponsors are shuffled within races.

    In the first, how often the interval holds the lean of the whole table; in the second, where sponsors mean
    nothing, how often it excludes zero.
    """
    whole = leans(fit(table, roles).summary())["alpha"]
    races = [part for _, part in table.groupby("race", sort=True)]
    counts = dict.fromkeys(["holds_D", "holds_R", "false_D", "false_R"], 0)
    for draw in range(draws + shuffles):
        rng = np.random.default_rng([7, draw])
        if draw < draws:
            own = leans(fit(_drawn(races, rng), roles).summary())
            holds = (own["low"] <= whole) & (whole <= own["high"])
            for party in PARTIES:
                counts[f"holds_{party}"] += int(holds[party])
        else:
            own = leans(fit(_shuffled(table, whole, rng), roles).summary())
            apart = (own["low"] > 0.0) | (own["high"] < 0.0)
            for party in PARTIES:
                counts[f"false_{party}"] += int(apart[party])
        if progress is not None:
            progress(draw + 1, draws + shuffles)
    return pd.DataFrame(
        {
            "party": list(PARTIES),
            "holds": [counts[f"holds_{party}"] / draws for party in PARTIES],
            "false": [counts[f"false_{party}"] / shuffles for party in PARTIES],
            "draws": draws,
            "shuffles": shuffles,
        }
    )


def _drawn(races: Sequence[pd.DataFrame], rng: np.random.Generator) -> pd.DataFrame:
    """Races with replacement; a race drawn twice is two clusters."""
    chosen = rng.integers(0, len(races), size=len(races))
    return pd.concat([races[i].assign(race=str(place)) for place, i in enumerate(chosen)], ignore_index=True)


def _shuffled(table: pd.DataFrame, lean: pd.Series, rng: np.random.Generator) -> pd.DataFrame:
    """Sponsors permuted among the polls of a race, once the lean of each poll's own sponsor is taken off."""
    rows = table.iloc[np.argsort(table["race"].to_numpy(), kind="stable")].reset_index(drop=True)
    own = rows["sponsor"].map(lean).fillna(0.0)
    order = np.lexsort((rng.random(len(rows)), rows["race"].to_numpy()))
    return rows.assign(margin_poll=rows[OUTCOME] - own, sponsor=rows["sponsor"].to_numpy()[order])
