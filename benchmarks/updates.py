"""Rows that came later: how often a changed bias is seen, how often falsely, and the answer beside a refit.

Dollars: losses of which biased rows report 60%; in changed rows 35%. Added: a bias of three residual sds; in
changed rows half as large again, or with three times the odds. Each fit is asked of 500 changed rows and of
five tables of 500 rows of its own law, and every tenth is updated and compared with a fit of all rows.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit

from benchmarks import losses
from benchmarks.bench import Bench, blocks
from benchmarks.pages import Page, Part, number, percent, reached, records
from benchmarks.trials import each_seed
from proxycal.analysis.update import ALARM, compare_new
from proxycal.errors import ProxycalWarning
from proxycal.model import ProxyCalibrator
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxycal.studies.sweep import Cell

NEW, SAME, FITS, UPDATED = 500, 5, 25, 10
# To be reached: changed ratios that are seen, false alarms, the refit's alpha in standard errors.
SEEN, ALARMS, NEAR = 0.95, 0.01, 0.02
RATIO, CHANGED_RATIO = 0.6, 0.35
# What becomes of the size of an added bias, and of its odds.
CHANGES = {"size x 1.5": (1.5, 0.0), "odds x 3": (1.0, float(np.log(3.0)))}
ROLES = Roles("y", ["p1", "p2"], ["e1", "e2"])
# Seeds that no other benchmark and no test uses.
FIRST_SEED = 17_300_000


def bench(quick: bool = False) -> Bench:
    """Both worlds."""
    fits = 2 if quick else FITS
    cells: list[Cell] = []
    for n in (1000, 3000):
        for zeros in losses.ZEROS:
            cells += blocks({"world": "dollars", "n": n, "zeros": zeros}, fits, FIRST_SEED)
        cells += blocks({"world": "added", "n": n, "zeros": 0.0}, fits, FIRST_SEED)
    return Bench("updates", tuple(cells), page, run_block)


def run_block(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The work of one cell: a row for each of its fits, with counts."""
    return each_seed(
        settings, lambda seed: trial(settings["world"], int(settings["n"]), settings["zeros"], seed)
    )


def draw(n: int, seed: int, times: float = 1.0, odds: float = 0.0) -> pd.DataFrame:
    """Rows with an added bias, `times` as large and of other log odds."""
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 2))
    truth = e @ [0.6, -0.3] + rng.normal(size=n)
    proxies = truth[:, None] + 0.5 * rng.normal(size=(n, 2))
    biased = rng.random(n) < expit(-0.5 + 1.2 * e[:, 0] + odds)
    columns = np.column_stack([truth + times * biased, proxies, e])
    return pd.DataFrame(columns, columns=["y", "p1", "p2", "e1", "e2"])


def trial(world: str, n: int, zeros: float, seed: int) -> dict[str, Any]:
    """One fit, asked of rows of its law and of changed ones."""
    if world == "dollars":
        model = ProxyCalibrator(losses.ROLES, direction="under", scale="log")
        first = losses.draw(n, RATIO, zeros, seed)
        same = [losses.draw(NEW, RATIO, zeros, seed + 10_000 * (i + 1)) for i in range(SAME)]
        changed = {"ratio 35%": losses.draw(NEW, CHANGED_RATIO, zeros, seed + 5_000)}
    else:
        model = ProxyCalibrator(ROLES, direction="over")
        first = draw(n, seed)
        same = [draw(NEW, seed + 10_000 * (i + 1)) for i in range(SAME)]
        changed = {name: draw(NEW, seed + 5_000, *change) for name, change in CHANGES.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        model.fit(first)
        row: dict[str, Any] = {"verdict": model.verdict_}
        asked = {name: [table] for name, table in changed.items()} | {"as before": same}
        for name, tables in asked.items():
            made = [compare_new(model.result_, table) for table in tables]
            by_bias = [one.bias is not None and one.bias.p < ALARM for one in made]
            row |= {f"{name}|bias": sum(by_bias), f"{name}|flagged": sum(one.changed for one in made)}
            sizes = [one.bias.size for one in made if one.bias is not None]
            row[f"{name}|size"] = float(np.mean(sizes)) if sizes else float("nan")
        if seed % UPDATED == 0:
            whole = model.fit(pd.concat([first, same[0]], ignore_index=True))
            alpha, se = whole.alpha_, whole.alpha_se_
            row["off"] = abs(model.fit(first).update(same[0]).alpha_ - alpha) / se
    return row


def page(trials: pd.DataFrame) -> Page:
    """Changes seen, false alarms, refits."""
    good = trials[trials["error"].isna()]
    sums = []
    groups: list[tuple[Any, Any, pd.DataFrame]] = [
        (world, n, group) for (world, n), group in good.groupby(["world", "n"], sort=False)
    ]
    for world, n, group in [*groups, ("all", 0, good)]:
        for name in ("as before",) if world == "all" else ("ratio 35%", *CHANGES, "as before"):
            if f"{name}|flagged" not in group or group[f"{name}|flagged"].isna().all():
                continue
            each = SAME if name == "as before" else 1
            found = group["verdict"] == "bias found"
            sums.append({
                "world": world, "n": n, "new rows": name, "fits": len(group), "tables": each * len(group),
                "found": float(found.mean()),
                "flagged": group[f"{name}|flagged"].sum() / (each * len(group)),
                "bias": group.loc[found, f"{name}|bias"].sum() / max(each * int(found.sum()), 1),
                "size": group.loc[found, f"{name}|size"].mean(),
            })  # fmt: skip
    figures = pd.DataFrame(sums)
    rows = records(figures)
    off = good["off"].dropna() if "off" in good else pd.Series(dtype=float)
    parts = (
        Part(
            "New rows whose bias changed",
            [_line(row) for row in rows if row["new rows"] != "as before"],
            f"{NEW} new rows beside each fit. By the ratio: of fits with the verdict bias found, by the "
            f"likelihood ratio alone (level {ALARM:.1%}). Size: of the new rows' bias by that of the fitted "
            "ones; ln 0.35 / ln 0.6 is 2.06.",
        ),
        Part("New rows of the same law", [_line(row) for row in rows if row["new rows"] == "as before"]),
        Part(
            "The answer beside a fit of all rows",
            [{
                "updates": str(len(off)),
                "alpha off by, at the most": f"{number(float(off.max()) if len(off) else np.nan, 6)} se",
                "to reach": f"<= {NEAR} se",
                "reached": reached(bool(len(off)) and float(off.max()) <= NEAR),
            }],
        ),
    )  # fmt: skip
    return Page("Rows that came later", parts, figures)


def _line(row: dict[str, Any]) -> dict[str, str]:
    false = row["new rows"] == "as before"
    ok = row["flagged"] <= ALARMS if false else row["flagged"] >= SEEN
    return {
        "world": row["world"],
        "fitted": f"{row['n']:,.0f}" if row["n"] else "",
        "new rows": row["new rows"],
        "tables": f"{row['tables']:.0f}",
        "fits with a bias found": percent(row["found"]),
        "flagged": percent(row["flagged"], 1),
        "to reach": f"<= {ALARMS:.0%}" if false else f">= {SEEN:.0%}",
        "reached": reached(ok),
        "by the ratio": percent(row["bias"], 1),
        "size": number(row["size"]),
    }
