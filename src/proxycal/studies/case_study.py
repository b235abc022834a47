"""The paper's real-world study: disaster losses by county, hazard and year, under-reported in some counties.

    losses, land-cover change, covariates -> join -> a fit per hazard and one of all -> counties and totals

Calibrated losses come from the hazard's own fit; a hazard without the verdict "bias found" stays as reported.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.datasets.losses import HAZARDS, KEYS
from proxycal.errors import ProxycalError, ProxycalWarning
from proxycal.methods.gradual.thresholds import LEAST_BIASED
from proxycal.model import ProxyCalibrator
from proxycal.parallel import map_as_done
from proxycal.studies.graded import ask_graded

if TYPE_CHECKING:
    from proxycal.datasets.disasters import Study
    from proxycal.studies.graded import Graded
    from proxycal.table.roles import Roles

POOLED = "all hazards"
LEVEL = 0.95
# With fewer rows a comparison of mixtures with a dozen covariates cannot choose a model.
FEWEST_ROWS = 200


@dataclass(frozen=True, slots=True)
class HazardFit:
    """One fit of the study, without its model.

    rows : frame of p_biased, tau, calibrated, low, high by row of the hazard, in dollars but for tau
    total : reported, calibrated, low, high, change_pct of all rows, dollars; low and high are NaN where no
    bias was found. note : why there is no fit, empty where there is one
    graded : what the gradual method says of the same rows, None where there is no fit
    """

    name: str
    n: int
    verdict: str
    alpha: float
    se: float
    low: float
    high: float
    share_biased: float
    estimates: dict[str, float]
    findings: tuple[str, ...]
    rows: pd.DataFrame
    total: dict[str, float]
    note: str = ""
    graded: Graded | None = None


@dataclass(frozen=True, slots=True)
class CaseStudy:
    """The results of the study.

    counties : a row per county, hazard and year. fits : a row per fit. totals : dollars by hazard and in all,
    as `ProxyCalibrator.totals` gives them
    bars : mean |tau| by hazard with its interval. check : estimates beside the truth, or None
    graded : what the gradual method says, a row per fit, with the truth where it is known
    """

    counties: pd.DataFrame
    fits: pd.DataFrame
    totals: pd.DataFrame
    bars: pd.DataFrame
    check: pd.DataFrame | None
    graded: pd.DataFrame


def analyse(study: Study, truth: pd.DataFrame | None = None, jobs: int = 1) -> CaseStudy:
    """Fit every hazard, and all of them together, and tabulate the results.

    truth : fips, hazard, year, true_loss, a, shift, expected_shift, where the losses are simulated.
    """
    table, roles = study.dataset.table, study.dataset.roles
    # In dollars: the model takes the logarithm, and answers in dollars.
    roles = replace(roles, outcome="loss")
    own = replace(roles, environment=[name for name in roles.environment if name != "hazard"])
    hazards = [hazard for hazard in HAZARDS if (table["hazard"] == hazard).any()]
    asked = [(h, table[table["hazard"] == h].reset_index(drop=True), own) for h in hazards]
    # The longest first, so that no process waits for it at the end.
    asked.insert(0, (POOLED, table, roles))
    done = dict(map_as_done(_fit, asked, jobs=jobs))
    together, *fits = [done[position] for position in range(len(done))]
    counties = _counties([part for _, part, _ in asked[1:]], fits)
    totals = _totals(fits, together)
    check = None if truth is None else _check(counties, [together, *fits], totals, truth)
    every = [together, *fits]
    graded = _graded(counties, every, truth)
    return CaseStudy(counties, _fits_frame(every), totals, _bars(counties, fits), check, graded)


def _fit(asked: tuple[str, pd.DataFrame, Roles]) -> HazardFit:
    """One fit; the model itself is left behind, so that little travels between processes."""
    name, table, roles = asked
    if len(table) < FEWEST_ROWS:
        return _unfitted(name, table, f"{len(table)} rows are too few for a separate fit")
    try:
        with warnings.catch_warnings():
            # What a warning would say stands in the verdict and the findings.
            warnings.simplefilter("ignore", ProxycalWarning)
            model = ProxyCalibrator(roles, direction="under", scale="log", level=LEVEL).fit(table)
            answer = model.calibrate(table)
            tau = _tau(model, table)
            total = model.totals(table).iloc[0].to_dict()
        graded = ask_graded(table, roles, with_total=True, direction="under", scale="log", level=LEVEL)
    except ProxycalError as error:
        return _unfitted(name, table, str(error))
    named = {"y_cal": "calibrated", "y_cal_low": "low", "y_cal_high": "high"}
    rows = answer.rename(columns=named)[["p_biased", *named.values()]].assign(tau=tau)
    return HazardFit(
        name, len(table), model.verdict_, model.alpha_, model.alpha_se_, *model.alpha_interval_,
        model.share_biased_, {str(k): float(v) for k, v in model.summary()["alpha"].items()},
        tuple(finding.reading for finding in model.findings_ if not finding.ok), rows, total, graded=graded,
    )  # fmt: skip


def _tau(model: ProxyCalibrator, table: pd.DataFrame) -> np.ndarray:
    """Local effects of the log loss: exp(tau) is a report over those of unbiased rows of like damage."""
    try:
        tau = np.asarray(model.effects(table)["tau"], dtype=float)
        return -np.log1p(-tau / table["loss"].to_numpy(dtype=float))
    except ProxycalError:
        # No row, or every row, looks biased: there is nothing to match.
        return np.full(len(table), np.nan)


def _unfitted(name: str, table: pd.DataFrame, why: str) -> HazardFit:
    loss = table["loss"].to_numpy(dtype=float)
    nothing = np.full(len(table), np.nan)
    rows = pd.DataFrame({"p_biased": nothing, "tau": nothing, "calibrated": loss, "low": loss, "high": loss})
    nan = float("nan")
    total = {"reported": loss.sum(), "calibrated": loss.sum(), "low": nan, "high": nan, "change_pct": 0.0}
    return HazardFit(name, len(table), "not identified", nan, nan, nan, nan, nan, {}, (), rows, total, why)


def _counties(parts: list[pd.DataFrame], fits: list[HazardFit]) -> pd.DataFrame:
    """The county table."""
    frames = []
    for part, fit in zip(parts, fits, strict=True):
        rows = fit.rows
        frames.append(
            part[["fips", "county", "state", "hazard", "year"]].assign(
                population=part["population"].to_numpy() if "population" in part else np.nan,
                reported=part["loss"].to_numpy(),
                calibrated=rows["calibrated"].to_numpy(),
                calibrated_low=rows["low"].to_numpy(),
                calibrated_high=rows["high"].to_numpy(),
                p_biased=rows["p_biased"].to_numpy(),
                tau=rows["tau"].to_numpy(),
                tau_abs=np.abs(rows["tau"].to_numpy()),
                verdict=fit.verdict,
            )
        )
    return pd.concat(frames, ignore_index=True).sort_values(list(KEYS), ignore_index=True)


def _fits_frame(fits: list[HazardFit]) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "fit": fit.name, "rows": fit.n, "verdict": fit.verdict, "alpha": fit.alpha, "se": fit.se,
                "low": fit.low, "high": fit.high, "share_biased": fit.share_biased,
                "moments": fit.estimates.get("moments", np.nan), "match": fit.estimates.get("match", np.nan),
                "notes": " ".join([fit.note, *fit.findings]).strip(),
            }
            for fit in fits
        ]
    )  # fmt: skip


def _totals(fits: list[HazardFit], together: HazardFit) -> pd.DataFrame:
    """Dollars by hazard, reported and calibrated with intervals, and of all of them.

    All of them are the answer of the fit of all hazards: hazards with few rows are each a little high, which
    is within their intervals and adds up in their sum, beyond its own (benchmarks/nations.md). Where that fit
    has no finding they are the sum of the hazards. The hazards' fits share no parameter, so that squares of
    their errors add up, to either side; with one that has no finding nobody knows how far the sum is off.
    """
    names = ["reported", "calibrated", "low", "high", "change_pct"]
    rows = pd.DataFrame([fit.total for fit in fits])[names]
    rows.insert(0, "hazard", [fit.name for fit in fits])
    overall = together.total if together.verdict == "bias found" else _summed(rows)
    last = pd.DataFrame([{"hazard": POOLED, **{name: overall[name] for name in names}}])
    return pd.concat([rows, last], ignore_index=True)


def _summed(rows: pd.DataFrame) -> dict[str, float]:
    """The sum of the hazards."""
    reported, calibrated = float(rows["reported"].sum()), float(rows["calibrated"].sum())
    down, up = (
        float(np.sqrt(((rows[end] - rows["calibrated"]) ** 2).sum(skipna=False))) for end in ("low", "high")
    )
    return {
        "reported": reported,
        "calibrated": calibrated,
        "low": calibrated - down,
        "high": calibrated + up,
        "change_pct": 100.0 * (calibrated / reported - 1.0) if reported else np.nan,
    }


def _bars(counties: pd.DataFrame, fits: list[HazardFit]) -> pd.DataFrame:
    """Mean |tau| by hazard with its interval; a county's years belong together."""
    rows = []
    for fit in fits:
        part = counties[(counties["hazard"] == fit.name) & counties["tau_abs"].notna()]
        mean, n = float(part["tau_abs"].mean()), len(part)
        by_county = (part["tau_abs"] - mean).groupby(part["fips"]).sum()
        reach = 1.96 * float(np.sqrt((by_county**2).sum())) / max(n, 1)
        rows.append((fit.name, n, mean, mean - reach, mean + reach, fit.alpha, fit.low, fit.high))
    names = ["hazard", "rows", "tau_abs", "low", "high", "alpha", "alpha_low", "alpha_high"]
    return pd.DataFrame(rows, columns=names)


def _graded(counties: pd.DataFrame, fits: list[HazardFit], truth: pd.DataFrame | None) -> pd.DataFrame:
    """Exact and gradual side by side: the gradual size is a mean over biased and unbiased rows alike."""
    both = counties if truth is None else counties.merge(truth, on=list(KEYS), how="left")
    rows: list[dict[str, object]] = []
    for fit in fits:
        if fit.graded is None:
            continue
        own = fit.graded
        answered = own.verdict != "not identified"
        row: dict[str, object] = {
            "fit": fit.name,
            "exact": fit.verdict,
            "gradual": own.verdict,
            "mean_bias": own.alpha if answered else np.nan,
            "low": own.low if answered else np.nan,
            "high": own.high if answered else np.nan,
            "change_pct": own.change_pct,
        }
        if truth is not None:
            here = both if fit.name == POOLED else both[both["hazard"] == fit.name]
            true = float(here["true_loss"].sum())
            row |= {
                "mean_bias_true": above_least_biased(here["expected_shift"].to_numpy(dtype=float)),
                "change_pct_true": 100.0 * (true / float(here["reported"].sum()) - 1.0),
            }
        rows.append(row | {"notes": own.reading})
    return pd.DataFrame(rows)


def above_least_biased(bias: np.ndarray) -> float:
    """Mean bias of all rows but the least biased tenth, relative to it: what the gradual method estimates.

    >>> above_least_biased(np.arange(10.0))
    5.0
    """
    least = bias <= np.quantile(bias, LEAST_BIASED, method="lower")
    return float(bias[~least].mean() - bias[least].mean()) if not least.all() else 0.0


def _check(
    counties: pd.DataFrame, fits: list[HazardFit], totals: pd.DataFrame, truth: pd.DataFrame
) -> pd.DataFrame:
    """Truth beside estimate: size, rank correlation of |tau| with the true shift, and dollars."""
    both = counties.merge(truth, on=list(KEYS), how="left", validate="one_to_one")
    sums = totals.set_index("hazard").to_dict("index")
    rows = []
    for fit in fits:
        here = both if fit.name == POOLED else both[both["hazard"] == fit.name]
        size = float(here.loc[here["a"] == 1, "shift"].mean())
        true, dollars = float(here["true_loss"].sum()), sums[fit.name]
        rows.append(
            {
                "fit": fit.name,
                "alpha_true": size,
                "alpha": fit.alpha,
                "alpha_error": fit.alpha / size - 1.0 if size > 0 else np.nan,
                "rank_correlation": float(here["tau_abs"].corr(here["shift"], method="spearman")),
                "who_right": float(((here["p_biased"] > 0.5) == (here["a"] == 1)).mean()),
                "true_total": true,
                "reported_error": dollars["reported"] / true - 1.0,
                "calibrated_error": dollars["calibrated"] / true - 1.0,
                "truth_in_interval": dollars["low"] <= true <= dollars["high"],
            }
        )
    return pd.DataFrame(rows)
