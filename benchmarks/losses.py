"""Losses in dollars: a report that is a share of the truth, zeros, and the totals of regions.

Losses over six decades, reported at a share of the truth by about a third of the rows, and zero where there
was little damage. Every table is fitted on the log scale as it is, and some once more as the logarithm of
their positive rows alone, which is what an expert would do by hand.
"""

from __future__ import annotations

import time
import warnings
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit

from benchmarks.bench import Bench, blocks
from benchmarks.pages import Page, Part, number, percent, reached, records, signed
from benchmarks.trials import each_seed
from proxycal.errors import ProxycalWarning
from proxycal.model import ProxyCalibrator
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.studies.sweep import Cell

SHARES = (0.3, 0.5, 0.7, 1.0)
ZEROS = (0.0, 0.15, 0.3)
REGIONS = ("north", "east", "south", "west")
ROLES = Roles("loss", ["p1", "p2", "p3", "p4"], ["income", "urban"])
# What is to be reached: the ratio's mean error, false alarms, and coverage of totals.
NEAR, FALSE_ALARMS, COVERAGE = 0.05, 0.05, (0.92, 0.98)
# Seeds that no other benchmark and no test uses.
FIRST_SEED = 12_200_000
# Tables that are also fitted in dollars as they are, for the time that this takes; and, where no report is
# zero, so that it can make no difference, by hand.
TIMED, BY_HAND = 2, 5


SELECTION = (
    "Mean ratios of the tables in which the bias was found, of the others and of all. By hand: the logarithm "
    "of the positive rows alone. Told who: least squares of the same rows by somebody who is told who is "
    "biased, and so needs no verdict."
)


def bench(quick: bool = False) -> Bench:
    """Every share of the truth with every share of zeros."""
    sizes, repetitions = ((600,), 2) if quick else ((1000, 3000), 20)
    cells: list[Cell] = []
    for place, (n, kept, zeros) in enumerate(product(sizes, SHARES, ZEROS)):
        # Seeds of their own: one odd table must not count in every setting.
        first = FIRST_SEED + 1_000 * place
        cells += blocks({"world": "dollars", "n": n, "kept": kept, "zeros": zeros}, repetitions, first)
    return Bench("losses", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a trial for each of its seeds."""
    n, kept, zeros = int(settings["n"]), settings["kept"], settings["zeros"]
    timed = kept == min(SHARES) and zeros == max(ZEROS)
    return each_seed(
        settings,
        lambda seed: trial(
            draw(n, kept, zeros, seed),
            timed=timed and (seed - FIRST_SEED) % 1_000 < TIMED,
            by_hand=zeros > 0.0 or (seed - FIRST_SEED) % 1_000 < BY_HAND,
        ),
    )


def draw(n: int, kept: float, zeros: float, seed: int) -> pd.DataFrame:
    """A table with the columns "true" and "biased" beside those of the roles; kept : share that is reported.

    >>> table = draw(1000, 0.3, 0.3, seed=1)
    >>> round(float((table["loss"] == 0).mean()), 1), round(float(table["biased"].mean()), 1)
    (0.3, 0.4)
    """
    rng = np.random.default_rng(seed)
    income, urban = rng.normal(size=(2, n))
    damage = 0.4 * income + 0.4 * urban + rng.normal(size=n)
    proxies = damage[:, None] + 0.3 * rng.normal(size=(n, 4))
    true = np.exp(11.0 + 2.0 * damage + 0.3 * rng.normal(size=n))
    # No loss where there was little damage, more or less.
    rank = damage + 0.5 * rng.normal(size=n)
    true[rank < np.quantile(rank, zeros)] = 0.0
    biased = rng.random(n) < expit(-0.8 - 1.3 * income + 0.8 * urban)
    region = np.searchsorted([-0.8, 0.0, 0.8], income + rng.normal(size=n))
    return pd.DataFrame(proxies, columns=list(ROLES.proxies)).assign(
        income=income, urban=urban, region=np.array(REGIONS)[region], true=true, biased=biased,
        loss=true * np.where(biased, kept, 1.0),
    )  # fmt: skip


def trial(table: pd.DataFrame, timed: bool = False, by_hand: bool = True) -> dict[str, Any]:
    """The fit on the log scale beside that of the positive rows alone, and its totals beside the truth."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        start = time.process_time()
        model = ProxyCalibrator(ROLES, direction="under", scale="log").fit(table)
        seconds = time.process_time() - start
        totals = model.totals(table, by="region").set_index("region")
        positive = table[table["loss"] > 0].assign(loss=lambda rows: np.log(rows["loss"]))
        alone = ProxyCalibrator(ROLES, direction="under").fit(positive) if by_hand else None
        start = time.process_time()
        plain = ProxyCalibrator(ROLES, direction="under").fit(table) if timed else None
        in_dollars = time.process_time() - start
    true = table.groupby("region")["true"].sum()
    inside = [float(totals.loc[name, "low"] <= true[name] <= totals.loc[name, "high"]) for name in true.index]
    overall = totals.loc["overall"]
    low, high = model.ratio_interval_
    return {
        "verdict": model.verdict_,
        "ratio": model.ratio_,
        "ratio_low": low,
        "ratio_high": high,
        "alpha_hat": model.alpha_,
        "share": model.share_biased_,
        "told_ratio": told_ratio(table),
        "alone_verdict": None if alone is None else alone.verdict_,
        "alone_ratio": None if alone is None else float(np.exp(-alone.alpha_)),
        "covered": float(overall["low"] <= true.sum() <= overall["high"]),
        "regions": len(inside),
        "regions_covered": sum(inside),
        "reported_error": float(overall["reported"] / true.sum() - 1.0),
        "calibrated_error": float(overall["calibrated"] / true.sum() - 1.0),
        "seconds": round(seconds, 3),
        "dollar_verdict": plain.verdict_ if plain is not None else None,
        "dollar_seconds": round(in_dollars, 3) if plain is not None else None,
    }


def told_ratio(table: pd.DataFrame) -> float:
    """The ratio by least squares of the logarithm of positive rows, with who is biased as a column."""
    rows = table[table["loss"] > 0]
    columns = rows[["biased", *ROLES.proxies, *ROLES.environment]].to_numpy(dtype=float)
    design = np.column_stack([np.ones(len(rows)), columns])
    return float(np.exp(np.linalg.lstsq(design, np.log(rows["loss"].to_numpy()), rcond=None)[0][1]))


def page(trials: pd.DataFrame) -> Page:
    """Five tables: biases, no bias, selection by the verdict, totals, and time."""
    rows = summarise(trials)
    biased, free = rows[rows["kept"] < 1.0], rows[rows["kept"] == 1.0]
    parts = (
        Part("Reports of a share of the truth", [_biased_row(row) for row in records(biased)],
             "by hand: found by a fit of the logarithm of the positive rows, zeros removed, and by the log "
             f"scale in the same tables: all of them with zeros, the first {BY_HAND} of a setting without, "
             "which are the same either way. ratio: mean of the estimate where a bias was found; "
             "all tables: of every estimate, whatever the verdict. within 5%: "
             "share of the fits that found it. A bias of 70% is under one residual sd, and is to be found "
             "as often as by hand. share without size: verdicts of \"no bias found\" with a share of biased "
             "rows above 1% and a ratio of 99% or more."),
        Part("Reports of the whole truth", [_free_row(row) for row in records(free)]),
        Part("Where few tables show the bias",
             [selected_row(row) for row in records(biased) if _selected(row)],
             SELECTION),
        Part("Totals", _totals_rows(trials[trials["kept"] < 0.6]),
             "Tables with a bias of 30% or 50% in which it was found. Groups are four regions of a table."),
        Part("Time", _time_rows(trials),
             "CPU seconds of one fit, 30% of the truth and 30% zeros, on both scales."),
    )  # fmt: skip
    return Page("Losses in dollars", parts, rows)


def summarise(trials: pd.DataFrame) -> pd.DataFrame:
    """A row per setting: shares of verdicts, the ratio where found, and coverage."""
    rows = []
    for key, group in trials.groupby(["n", "kept", "zeros"], sort=False):
        kept = float(group["kept"].iloc[0])
        found = group[group["verdict"] == "bias found"]
        none = group["verdict"] == "no bias found"
        alone = group[group["alone_verdict"].notna()]
        near = (found["ratio"] / kept - 1.0).abs() <= NEAR
        held = (found["ratio_low"] <= kept) & (kept <= found["ratio_high"])
        rows.append({
            "world": "dollars", **dict(zip(("n", "kept", "zeros"), key, strict=True)),
            "repetitions": len(group), "errors": int(group["error"].notna().sum()),
            "found": len(found) / len(group), "none": none.mean(),
            "by_hand": len(alone), "found_alone": (alone["alone_verdict"] == "bias found").mean(),
            "found_beside": (alone["verdict"] == "bias found").mean(),
            "near": near.mean() if len(found) else np.nan,
            "ratio_coverage": held.mean() if len(found) else np.nan,
            **_by_verdict(group),
            "share_without_size": int((none & (group["share"] > 0.01) & (group["ratio"] >= 0.99)).sum()),
            "covered": found["covered"].mean() if len(found) else np.nan,
            "regions_covered": found["regions_covered"].sum() / max(found["regions"].sum(), 1),
            "reported_error": found["reported_error"].mean(),
            "calibrated_error": found["calibrated_error"].mean(),
            "seconds": group["seconds"].median(),
        })  # fmt: skip
    return pd.DataFrame(rows)


def _by_verdict(group: pd.DataFrame) -> dict[str, float]:
    """Mean ratios where the bias was found, elsewhere and everywhere, by each way to estimate it."""
    ways = {"ratio": "verdict", "alone_ratio": "alone_verdict", "told_ratio": "verdict"}
    means: dict[str, float] = {}
    for name, verdict in ways.items():
        known = group[group[name].notna()]
        found = known[verdict] == "bias found"
        means |= {name: known.loc[found, name].mean(), f"{name}_others": known.loc[~found, name].mean()}
        means[f"{name}_all"] = known[name].mean()
    return means


def _head(row: Mapping[str, Any]) -> dict[str, str]:
    return {
        "rows": str(row["n"]),
        "reported": percent(row["kept"], 0),
        "zeros": percent(row["zeros"], 0),
        "tables": str(row["repetitions"]),
        "errors": str(row["errors"]),
    }


def _biased_row(row: Mapping[str, Any]) -> dict[str, str]:
    near = abs(row["ratio"] / row["kept"] - 1.0) <= NEAR or row["kept"] > 0.6
    ok = near and row["found_beside"] >= row["found_alone"]
    return _head(row) | {
        "found": percent(row["found"], 0),
        "by hand": f"{percent(row['found_alone'], 0)}, {percent(row['found_beside'], 0)}",
        "ratio": percent(row["ratio"]),
        "all tables": percent(row["ratio_all"]),
        "ratio by hand": percent(row["alone_ratio"]),
        "within 5%": percent(row["near"], 0),
        "to reach": "as by hand" + (", mean ratio within 5%" if row["kept"] < 0.6 else ""),
        "reached": reached(bool(ok) and not row["errors"] and not row["share_without_size"]),
        "coverage of the ratio": percent(row["ratio_coverage"], 0),
        "no bias found": percent(row["none"], 0),
        "share without size": str(row["share_without_size"]),
    }


def _free_row(row: Mapping[str, Any]) -> dict[str, str]:
    return _head(row) | {
        "bias found": percent(row["found"], 0),
        "to reach": f"<= {percent(FALSE_ALARMS, 0)}",
        "reached": reached(row["found"] <= FALSE_ALARMS and not row["errors"]),
        "no bias found": percent(row["none"], 0),
        "share without size": str(row["share_without_size"]),
    }


def _selected(row: Mapping[str, Any]) -> bool:
    """Whether a bias that is to be stated within 5% was found in some tables, and in fewer than half."""
    return row["kept"] < 0.6 and 0.0 < row["found"] < 0.5


def selected_row(row: Mapping[str, Any]) -> dict[str, str]:
    """A row of `summarise` for reading: every way to estimate, by verdict."""
    return {
        "rows": str(row["n"]),
        "reported": percent(row["kept"], 0),
        "zeros": percent(row["zeros"], 0),
        "found": f"{row['found'] * row['repetitions']:.0f} of {row['repetitions']}",
    } | {
        f"{who}: {where}": percent(row[f"{name}{of}"])
        for who, name in (("ratio", "ratio"), ("by hand", "alone_ratio"), ("told who", "told_ratio"))
        for where, of in (("found", ""), ("others", "_others"), ("all", "_all"))
    }


def _totals_rows(trials: pd.DataFrame) -> list[dict[str, str]]:
    found = trials[trials["verdict"] == "bias found"]
    low, high = COVERAGE
    rows = []
    for what, covered, count in (
        ("overall", found["covered"].sum(), len(found)),
        ("by group", found["regions_covered"].sum(), int(found["regions"].sum())),
    ):
        share = covered / count if count else np.nan
        rows.append({
            "totals": what, "simulated": str(len(trials)), "intervals": str(count),
            "coverage": percent(share),
            "to reach": f"{percent(low, 0)} to {percent(high, 0)}",
            "reached": reached(low <= share <= high),
            "reported": signed(found["reported_error"].mean()),
            "calibrated": signed(found["calibrated_error"].mean()),
        })  # fmt: skip
    return rows


def _time_rows(dollars: pd.DataFrame) -> list[dict[str, str]]:
    timed = dollars[dollars["dollar_seconds"].notna()]
    return [
        {
            "rows": str(n),
            "in dollars": number(group["dollar_seconds"].median(), 1),
            "verdict in dollars": ", ".join(sorted(set(group["dollar_verdict"]))),
            "log scale": number(group["seconds"].median(), 1),
            "verdict on the log scale": ", ".join(sorted(set(group["verdict"]))),
        }
        for n, group in timed.groupby("n")
    ]
