"""The gradual method where the truth is known: simulated worlds, refusals, and election polls.

    PYTHONPATH=src python benchmarks/gradual.py [--seeds 50] [--resume]

writes gradual.md and gradual.csv beside itself.
"""

from __future__ import annotations

import argparse
import platform
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy

from proxycal.datasets.polls import ENVIRONMENT, OUTCOME, PROXIES, TRUTH, load_polls
from proxycal.methods.gradual.answer import GradualAnswer, answer_gradual

HERE = Path(__file__).parent
RESULTS = HERE / "gradual.csv"
LOADINGS = np.array([[1.0, 0.3, 0.8, 0.6, 0.9, -0.4], [0.2, 1.0, -0.5, 0.7, -0.3, 0.8]])
SHAPES = {
    "linear": lambda e: 2.0 * e,
    "sigmoid": lambda e: 4.0 / (1.0 + np.exp(-2.0 * e)),
    "positive part": lambda e: 3.0 * np.maximum(e, 0.0),
    "exponential": lambda e: np.exp(0.8 * e),
    "none": lambda e: 0.0 * e,
}
KINDS = {"e1": "spline", "e2": "spline", "e3": "spline", "group": "category"}
POLL_KINDS = {
    "sponsor": "category",
    "method": "category",
    "office": "category",
    "log_sample": "linear",
    "days": "linear",
}
# The truth of the polls as it was set before: the mean error by sponsor, given the other columns.
SET_TRUTH = {"D": (2.63, 0.37), "R": (-2.49, 0.40)}
VALIDATED = 0.02
HEAD = """# A bias that grades with the environment

Made by `PYTHONPATH=src python benchmarks/gradual.py` (Python {python}, numpy {numpy}, scipy {scipy}).
The worlds are in that file: two contents, three numeric environment columns and a category, content and
proxies linear, residual sd of the outcome 0.7, the bias a function of one column with a root mean square of
about 2, which is also the sd of the true outcome. Splines for all numeric columns. A step in E is not among
the shapes: a spline rounds it off, and intervals near the step do not hold.

"""
RESAMPLES = 100


def world(
    seed: int,
    n: int,
    n_proxies: int,
    shape: str,
    reach: float = 0.0,
    useless: bool = False,
    clusters: int = 0,
) -> dict[str, Any]:
    """Two contents that three numeric columns and a category move; the bias depends on the first column.

    The true outcome is 1.5 z1 + z2 + noise of sd 0.7, the proxies have noise of sd 0.7. reach : the last
    proxy is moved by e1, in its own sd. clusters : rows share E and an intercept of sd 1 within them.
    """
    rng = np.random.default_rng([20260, seed])
    e, group = rng.normal(size=(n, 3)), rng.integers(0, 4, size=n)
    cluster, shared = None, np.zeros(n)
    if clusters:
        cluster = rng.integers(0, clusters, size=n)
        e, group = e[cluster], group[cluster]
        shared = rng.normal(size=clusters)[cluster]
    level = np.array([0.0, 0.5, -0.4, 0.3])[group]
    z = np.column_stack(
        [0.5 * e[:, 0] + 0.3 * e[:, 2] + level, 0.3 * e[:, 0] + 0.5 * e[:, 1] - 0.3 * e[:, 2] - 0.5 * level]
    ) + 0.8 * rng.normal(size=(n, 2))
    proxies = z @ LOADINGS[:, :n_proxies] + 0.7 * rng.normal(size=(n, n_proxies))
    if useless:
        proxies = rng.normal(size=(n, n_proxies))
    proxies[:, -1] += reach * proxies[:, -1].std() * e[:, 0]
    y_true = z @ [1.5, 1.0] + 0.7 * rng.normal(size=n) + shared
    bias = SHAPES[shape](e[:, 0])
    truth = np.full(n, np.nan)
    validated = rng.choice(n, size=round(VALIDATED * n), replace=False)
    truth[validated] = y_true[validated]
    columns = {"e1": e[:, 0], "e2": e[:, 1], "e3": e[:, 2], "group": group}
    return {
        "outcome": y_true + bias,
        "proxies": proxies,
        "columns": columns,
        "cluster": cluster,
        "truth": truth,
        "bias": bias,
    }


def trial(**settings: Any) -> dict[str, Any]:
    """One fit: the verdict, error and coverage of the bias over all rows, why it was refused."""
    rows = world(**settings)
    start = time.process_time()
    answer = answer_gradual(
        rows["outcome"],
        rows["proxies"],
        rows["columns"],
        KINDS,
        "over",
        cluster=rows["cluster"],
        truth=rows["truth"],
    )
    seconds = time.process_time() - start
    own = answer.bias_of(rows["columns"])
    reported = float(np.sqrt(np.mean(rows["bias"] ** 2)))
    left = float(np.sqrt(np.mean((own.bias - rows["bias"]) ** 2)))
    return {
        "verdict": answer.verdict,
        "contents": answer.estimate.dimension,
        "ratio": left / reported if reported else np.nan,
        "coverage": float(np.mean((own.low <= rows["bias"]) & (rows["bias"] <= own.high))),
        "reason": next((finding.topic for finding in answer.findings if not finding.ok), ""),
        "seconds": seconds,
    }


def cells() -> list[dict[str, Any]]:
    """All worlds: what is simulated, under which name."""
    listed = []
    for n in (500, 2000):
        for k in (3, 4, 6):
            for shape in SHAPES:
                kind = "null" if shape == "none" else "bias"
                listed.append({"kind": kind, "world": shape, "n": n, "n_proxies": k, "shape": shape})
            base = {"n": n, "n_proxies": k, "shape": "sigmoid"}
            listed.append({"kind": "refuse", "world": "E reaches a proxy by 0.3 sd", "reach": 0.3, **base})
            listed.append({"kind": "refuse", "world": "useless proxies", "useless": True, **base})
        listed.append(
            {"kind": "refuse", "world": "one proxy too few", "n": n, "n_proxies": 2, "shape": "sigmoid"}
        )
        clustered = {"n": n, "n_proxies": 4, "clusters": n // 10}
        listed.append({"kind": "null", "world": "none, clusters of 10", "shape": "none", **clustered})
        listed.append({"kind": "bias", "world": "sigmoid, clusters of 10", "shape": "sigmoid", **clustered})
    return listed


def simulate(seeds: int, done: list[dict[str, Any]]) -> pd.DataFrame:
    """A row for each world, averaged over the seeds; kept after each, so that `--resume` can go on."""
    rows = list(done)
    for cell in cells()[len(done) :]:
        settings = {name: value for name, value in cell.items() if name not in ("kind", "world")}
        results = pd.DataFrame([trial(seed=seed, **settings) for seed in range(seeds)])
        verdicts = results["verdict"].value_counts(normalize=True)
        rows.append(
            {
                "kind": cell["kind"],
                "world": cell["world"],
                "n": cell["n"],
                "proxies": cell["n_proxies"],
                "seeds": seeds,
                "found": verdicts.get("bias found", 0.0),
                "none": verdicts.get("no bias found", 0.0),
                "refused": verdicts.get("not identified", 0.0),
                "ratio": results["ratio"].mean(),
                "ratio_worst": results["ratio"].max(),
                "coverage": results["coverage"].mean(),
                "contents": results["contents"].mode()[0],
                "seconds": results["seconds"].mean(),
            }
        )
        pd.DataFrame(rows).to_csv(RESULTS, index=False, float_format="%.6g")
    return pd.DataFrame(rows)


def poll_answer(table: pd.DataFrame) -> GradualAnswer:
    """The gradual answer on these polls; polls without a sponsor are trusted."""
    codes = {name: poll_codes(table, name) for name in ENVIRONMENT}
    return answer_gradual(
        table[OUTCOME].to_numpy(),
        table[list(PROXIES)].to_numpy(),
        codes,
        POLL_KINDS,
        "over",
        cluster=pd.factorize(table["race"])[0],
        trusted=(table["sponsor"] == "none").to_numpy(),
    )


LEVELS = {
    "sponsor": ["none", "D", "R"],
    "method": ["Live Phone", "IVR", "Online", "IVR/Online", "other"],
    "office": ["president", "senate", "governor", "house"],
}


def poll_codes(table: pd.DataFrame, name: str) -> np.ndarray:
    """A category as codes, a number as it is."""
    if name in LEVELS:
        return pd.Categorical(table[name], LEVELS[name]).codes.astype(np.int64)
    return table[name].to_numpy()


def sponsors(answer: GradualAnswer) -> dict[str, tuple[float, float]]:
    """Estimate and standard error by sponsor, against no sponsor."""
    shape = answer.shapes[0]
    return {
        LEVELS["sponsor"][int(code)]: (float(bias), float(se))
        for code, bias, se in zip(shape.at, shape.bias, shape.se, strict=True)
    }


def true_sponsors(table: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Error of polls (margin less result) by sponsor, given the other columns, errors clustered by race."""
    dummies = [
        (poll_codes(table, name)[:, None] == np.arange(1, len(LEVELS[name]))).astype(float) for name in LEVELS
    ]
    design = np.column_stack([np.ones(len(table)), *dummies, table["log_sample"], table["days"]])
    error = (table[OUTCOME] - table[TRUTH]).to_numpy()
    inverse = np.linalg.pinv(design.T @ design)
    slopes = inverse @ design.T @ error
    scores = pd.DataFrame(design * (error - design @ slopes)[:, None]).groupby(table["race"].to_numpy()).sum()
    se = np.sqrt(np.diag(inverse @ (scores.T @ scores).to_numpy() @ inverse))
    return {name: (float(slopes[i]), float(se[i])) for i, name in enumerate(LEVELS["sponsor"][1:], start=1)}


def polls_by_era(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """Sponsors in each era alone; error of sponsored polls with their own era left out of the fit."""
    rows, pieces = [], []
    for era, own in table.groupby("era"):
        inside, truth = sponsors(poll_answer(own.reset_index(drop=True))), true_sponsors(own)
        answer = poll_answer(table[table["era"] != era].reset_index(drop=True))
        outside = sponsors(answer)
        sponsored = own[own["sponsor"] != "none"]
        columns = {name: poll_codes(sponsored, name) for name in ENVIRONMENT}
        pieces.append(
            pd.DataFrame(
                {
                    "reported": sponsored[OUTCOME] - sponsored[TRUTH],
                    "less sponsor": sponsored[OUTCOME]
                    - sponsored["sponsor"].map({k: v[0] for k, v in outside.items()})
                    - sponsored[TRUTH],
                    "less all of b(E)": sponsored[OUTCOME] - answer.bias_of(columns).bias - sponsored[TRUTH],
                }
            )
        )
        rows.append({"era": era, "polls": len(own)})
        for name in ("D", "R"):
            rows[-1] |= {
                name: inside[name][0],
                f"{name} se": inside[name][1],
                f"{name} truth": truth[name][0],
            }
    errors = pd.concat(pieces)
    return pd.DataFrame(rows), {name: float(np.sqrt((errors[name] ** 2).mean())) for name in errors}


def resampled(table: pd.DataFrame) -> dict[str, float]:
    """Standard errors against the spread of polls resampled by race; placebo sponsors against the size."""
    rng = np.random.default_rng(1)
    whole = sponsors(poll_answer(table))
    races = [rows for _, rows in table.groupby("race")]
    neutral = table[table["sponsor"] == "none"]
    draws, placebo = [], []
    for _ in range(RESAMPLES):
        chosen = rng.integers(0, len(races), size=len(races))
        drawn = pd.concat([races[i].assign(race=place) for place, i in enumerate(chosen)], ignore_index=True)
        draws.append(sponsors(poll_answer(drawn)))
        names = rng.choice(["none", "D", "R"], size=len(neutral), p=[0.92, 0.045, 0.035])
        placebo.append(sponsors(poll_answer(neutral.assign(sponsor=names).reset_index(drop=True))))
    figures = {}
    for name in ("D", "R"):
        values = np.array([draw[name] for draw in draws])
        false = np.array([draw[name] for draw in placebo])
        inside = np.abs(values[:, 0] - whole[name][0]) <= 1.96 * values[:, 1]
        figures |= {
            f"{name}: mean se over spread": values[:, 1].mean() / values[:, 0].std(ddof=1),
            f"{name}: coverage": inside.mean(),
            f"{name}: placebo found at 5%": (np.abs(false[:, 0]) > 1.96 * false[:, 1]).mean(),
        }
    return {name: float(value) for name, value in figures.items()}


def markdown(table: pd.DataFrame) -> str:
    """A frame as a table of text."""
    head = "| " + " | ".join(table.columns) + " |"
    rule = "|" + " --- |" * len(table.columns)
    lines = [
        "| " + " | ".join(_shown(value) for value in row) + " |" for row in table.itertuples(index=False)
    ]
    return "\n".join([head, rule, *lines])


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, (int, np.integer)) else str(value)


def simulated_text(results: pd.DataFrame) -> str:
    """The three tables of simulated worlds with what was to be reached."""
    common = ["world", "n", "proxies", "seeds"]
    bias = results[results["kind"] == "bias"][
        [*common, "found", "refused", "ratio", "ratio_worst", "coverage", "seconds"]
    ]
    null = results[results["kind"] == "null"][[*common, "found", "none", "refused", "coverage"]]
    refuse = results[results["kind"] == "refuse"][[*common, "refused", "found"]]
    return f"""## A bias that grades with E

`ratio`: RMSE of the calibrated outcome over that of the report, mean over seeds (`ratio_worst`: the worst
seed), 2% of rows validated; to reach <= 0.15. `coverage`: share of rows whose 95% interval of the bias
holds it; to reach 0.92 to 0.98. `seconds` of CPU for a fit. All fits count, refused ones too.

{markdown(bias)}

## No bias

To reach: found <= 5%.

{markdown(null)}

## Worlds to refuse

To reach: refused >= 90%.

{markdown(refuse)}
"""


def polls_text() -> str:
    """The polls: sponsors, eras, errors, seconds."""
    start = time.perf_counter()
    table = load_polls().table
    answer = poll_answer(table)
    seconds = time.perf_counter() - start
    own, truth = sponsors(answer), true_sponsors(table)
    rows = []
    for name in ("D", "R"):
        (estimate, se), (actual, actual_se), (aim, aim_se) = own[name], truth[name], SET_TRUTH[name]
        rows.append(
            {
                "sponsor": name,
                "estimate": estimate,
                "se": se,
                "truth": actual,
                "truth se": actual_se,
                "gap in se": abs(estimate - actual) / np.hypot(se, actual_se),
                "truth set": aim,
                "truth set se": aim_se,
                "gap to it in se": abs(estimate - aim) / np.hypot(se, aim_se),
            }
        )
    eras, errors = polls_by_era(table)
    kept = answer.estimate
    lines = [
        f"- RMSE of sponsored polls, their era left out, {name}: {value:.2f}"
        for name, value in errors.items()
    ]
    lines += [f"- resampled by race, {name}: {value:.2f}" for name, value in resampled(table).items()]
    return f"""## Polls

{len(table):,} polls of {table["race"].nunique():,} races. {answer.sentence}
Over-identification p = {kept.fit.over_p:.2f}, first-stage F = {kept.tsls.strength:,.0f}.
Loading and fitting took {seconds:.2f} s (to reach: under 5 s). Verdict: {answer.verdict}.
To reach: both sponsors within 2 se of the truth (the se of both added in squares), the right sign in each
era, RMSE <= 5.6.

{markdown(pd.DataFrame(rows))}

{markdown(eras)}

{chr(10).join(lines)}
"""


def main() -> None:
    """Run everything and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument(
        "--part", choices=["all", "polls"], default="all", help="polls: print their part only"
    )
    parser.add_argument("--resume", action="store_true", help="go on after the worlds in gradual.csv")
    chosen = parser.parse_args()
    if chosen.part == "polls":
        print(polls_text())
        return
    done = pd.read_csv(RESULTS).to_dict("records") if chosen.resume and RESULTS.exists() else []
    results = simulate(chosen.seeds, done)
    head = HEAD.format(python=platform.python_version(), numpy=np.__version__, scipy=scipy.__version__)
    (HERE / "gradual.md").write_text(head + simulated_text(results) + "\n" + polls_text(), encoding="utf-8")


if __name__ == "__main__":
    main()
