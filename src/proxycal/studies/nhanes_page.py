"""The page of the NHANES study in plain words, with its tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.datasets.nhanes import load_nhanes
from proxycal.files import write_table, write_text
from proxycal.studies import nhanes_tables as tables
from proxycal.studies.figures import save
from proxycal.studies.nhanes_figures import by_group, by_share, the_error
from proxycal.studies.nhanes_tables import COMPARED, MAIN_SHARE, paired, pick, spread, tally
from proxycal.studies.pages import machine
from proxycal.studies.tables import to_frame, to_markdown

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from proxycal.studies.tables import Grid


_NAMES = {"weight": "Weight", "height": "Height", "bmi": "BMI"}


def write(good: pd.DataFrame, failed: pd.DataFrame, out: Path, quick: bool, code: str) -> str:
    """All tables, figures and the page of a study; returns the page."""
    for part in ("tables", "figures"):
        (out / part).mkdir(exist_ok=True)
    plain = good[~good["body_fat"].astype(bool)]
    grids = {
        "verdicts": tables.verdict_table(good),
        "rmse": tables.rmse_table(good),
        "pairs": tables.pair_table(plain),
        "groups": tables.group_table(plain),
        "means": tables.mean_table(plain),
        "anatomy": tables.anatomy_table(),
    }
    for name, grid in grids.items():
        write_table(to_frame(grid), out / "tables" / f"nhanes-{name}.csv")
        write_text(out / "tables" / f"nhanes-{name}.md", to_markdown(grid))
    save(by_share(plain), out / "figures", "nhanes-rmse")
    save(by_group(plain, MAIN_SHARE), out / "figures", "nhanes-groups")
    save(the_error(), out / "figures", "nhanes-error")
    text = page(plain, grids, failed, quick, code)
    write_text(out / "results.md", text)
    return text


def page(long: pd.DataFrame, grids: dict[str, Grid], failed: pd.DataFrame, quick: bool, code: str) -> str:
    """The page: the answer first, then the tables and figures it rests on, and its limits."""
    about = load_nhanes("weight").about
    lines = [
        "# Self-reported weight, height and BMI, with and without validated rows"
        + (" (QUICK RUN: a quarter of the people, one draw, not evidence)" if quick else ""),
        "",
        f"Made by `proxycal experiment nhanes{' --quick' if quick else ''}` with {machine(code)}",
        "",
        "NHANES 2017-2018 asked adults what they weigh and how tall they are, and measured both. Here the "
        "measurement is hidden, or given for 5%, 10% or 20% of the people (role `truth`), and every error is "
        "computed on the other people. Proxies: waist, blood pressure, cholesterol, A1C; environment: sex, "
        "age, race, education. Weight and BMI are fitted with direction under, since heavy people report "
        "less; height with direction over, since nearly all groups add a little.",
        "",
        "## In short", "", *_answer(long), "",
        "## Verdicts", "", *_reasons(long), "", to_markdown(grids["verdicts"]),
        "## Error of single reports", "", _METHODS, "", to_markdown(grids["rmse"]),
        "![RMSE by share of validated rows](figures/nhanes-rmse.png)", "", to_markdown(grids["pairs"]),
        "## By sex and BMI", "", _GROUPS, "", to_markdown(grids["groups"]),
        "![Mean error by group](figures/nhanes-groups.png)", "",
        "## The mean", "", _MEANS, "", to_markdown(grids["means"]),
        "## Why", "", _WHY, "", to_markdown(grids["anatomy"]),
        "![The error of reported weight](figures/nhanes-error.png)", "",
        "## Data and limits", "", _LIMITS, "", "Rows, for weight:", "", "```",
        about[about.index("rows in the file"):].strip(), "```", "",
    ]  # fmt: skip
    lines += ["## Cells that failed", ""] if len(failed) else []
    lines += [f"- {row.cell}: {row.error}" for row in failed.itertuples()]
    return "\n".join(lines).rstrip() + "\n"


def _answer(long: pd.DataFrame) -> list[str]:
    """The required comparison in words: weight with a tenth of the rows validated."""
    part = long[(long["outcome"] == "weight") & (long["share"] == MAIN_SHARE)]
    lines = _by_share(long)
    for first, second in COMPARED:
        difference = paired(part, first, second)
        lower, same, higher = tally(difference)
        lines.append(
            f"- Weight, {MAIN_SHARE:.0%} validated: **{first}** has a lower RMSE than {second} in {lower} "
            f"draws, the same in {same} and a higher one in {higher} (difference {spread(difference, 3)} kg)."
        )
    verdicts = pick(part, "fit", "verdict")["text"]
    lines.append(
        f"- The verdict was 'bias found' in {int((verdicts == 'bias found').sum())} of {len(verdicts)} of "
        "these draws."
    )
    against = paired(part, "proxycal", "regression")
    if len(against) > 1:
        # One draw has no spread to compare with.
        clear = abs(against.mean()) > 2.0 * against.std(ddof=1) / np.sqrt(len(against))
        side = "more" if against.mean() < 0 else "LESS"
        lines.append(
            "- With validated rows, calibration by the package is "
            + (
                f"{side} accurate than regression calibration, by more than the spread of the draws."
                if clear
                else "as accurate as regression calibration, within the spread of the draws."
            )
        )
    if paired(part, "exact", "regression").mean() > 0:
        lines.append(
            "- `exact` alone is NOT as accurate as regression calibration: the reports carry a small "
            "continuous error that a regression averages out and a two-valued shift leaves in (see the "
            "section Why)."
        )
    return lines


def _by_share(long: pd.DataFrame) -> list[str]:
    """What learning from validated rows leaves of the error, by outcome and share."""
    lines = []
    for outcome, part in long[long["share"] > 0].groupby("outcome", sort=False):
        shares = sorted(part["share"].unique())
        errors = {
            method: [pick(part[part["share"] == share], method, "rmse")["value"].mean() for share in shares]
            for method in ("self-report", "proxycal", "regression")
        }
        listed = {method: _listed([f"{value:.2f}" for value in values]) for method, values in errors.items()}
        lines.append(
            f"- {_NAMES[str(outcome)]}: reports are off by {np.mean(errors['self-report']):.2f} "
            f"{tables.UNITS[str(outcome)]} (root mean square). With "
            f"{_listed([f'{share:.0%}' for share in shares])} of "
            f'the people measured, `method="validated"` leaves **{listed["proxycal"]}**, a regression on the '
            f"same people {listed['regression']} ({_draws(part)})."
        )
    return lines


def _draws(part: pd.DataFrame) -> str:
    counts = part.groupby("share")["seed"].nunique()
    few, many = int(counts.min()), int(counts.max())
    return f"{few if few == many else f'{few} to {many}'} draw{'s' if many > 1 else ''} of each share"


def _listed(words: list[str]) -> str:
    """Words with commas, the last after "and".

    >>> _listed(["5%", "10%", "20%"])
    '5%, 10% and 20%'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _reasons(long: pd.DataFrame) -> list[str]:
    """Why the reports were left unchanged without validated rows: the findings of the fit."""
    lines = ["Verdict and findings without validated rows:", ""]
    for outcome, part in long[long["share"] == 0].groupby("outcome", sort=True):
        verdict = pick(part, "fit", "verdict")["text"].iloc[0]
        reasons = pick(part, "fit", "reasons")["text"].iloc[0]
        lines.append(f"- {outcome}: **{verdict}**. {reasons}")
        graded, why = (pick(part, "gradual", name)["text"].iloc[0] for name in ("verdict", "reasons"))
        lines.append(f'- {outcome}, `method="gradual"`: **{graded}**. {why}')
    lines += [
        "",
        "Unless the verdict is 'bias found' the report is left unchanged. The truth shows an error (section "
        "Why), but not a shift of one size in people whom the environment distinguishes. A graded bias would "
        "need sex, age, race and education to act on weight and height only through what waist, blood "
        "pressure, cholesterol and A1C see. They do not: men are taller at the same waist. So a graded bias, "
        "where one is claimed, is not believable here, and the measured rows are what helps.",
    ]
    return lines


_METHODS = (
    "`proxycal` is `ProxyCalibrator` with its default settings: from 30 validated rows on that is "
    '`method="validated"`, which learns from them, and `exact` with fewer (20 draws of each share instead of '
    "these: [Validated rows](../validated.md)). `exact` takes every report for right or off by one size, "
    "and keeps the report unless the verdict is 'bias found'; `exact, verdict ignored` calibrates whatever "
    "the verdict, and shows the error that this avoids. `regression` is regression calibration, a linear "
    "regression of the measurement on report, proxies and environment in the validated rows."
)
_GROUPS = (
    "Groups are by measured BMI. A method that shrinks reports towards the proxies looks worse at both ends "
    "of a grouping by the measurement itself, so part of the mean error of regression in the outer groups "
    "comes from the grouping, not from the method."
)
_MEANS = (
    "Prediction-powered inference corrects a mean, not single reports: PPI adds the mean error of the "
    "validated rows to the mean of the reports, PPI++ weights the reports so as to minimise the variance, "
    "and `proxycal, totals` (`model.totals`) is PPI++ on calibrated values that the validated rows in "
    "question were not shown. The other lines are means of the row-wise answers, with the measurement for "
    "validated rows. The target is the mean of these people, so PPI and PPI++, made for a larger population, "
    "have intervals that are a little wide for it; a few draws say little about coverage."
)
_WHY = (
    "The model of the package has two kinds of reporter: correct, or off by one size. The table describes "
    "the errors. Most reports are near the truth, with long tails to BOTH sides (excess "
    "kurtosis; 0 for a normal error), so that neither 'correct' nor 'off by one size' describes them. "
    "Hardly any of the error is explained by the environment, which decides in the model who is "
    "biased; for weight and BMI more of it depends on the true value itself, which the model leaves out. "
    "The last lines give the best single shift, and the error it would leave if the rows to correct were "
    "chosen knowing every error. That is impossible in practice: the shift is hardly larger than the "
    "residual (alpha in residual sds, in the table of verdicts), so that few biased rows can be "
    "identified. Regression calibration needs no kinds of reporter: it combines report and proxies and "
    "averages out the continuous error, which is most of it."
)
_LIMITS = (
    "The people are those of the survey with complete data, unweighted: no average here describes the "
    "nation. Most knew that an examination would follow. Report and measurement are days to weeks apart, so "
    "that part of the error is real change. Validated rows were drawn at random; in practice they rarely are."
)
