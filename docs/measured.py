"""Numbers of the site's prose, from the files that the benchmarks wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from pathlib import Path

VALIDATED = "<!-- measured: validated rows -->"
LOSSES = "<!-- measured: losses -->"
UNITS = {"weight": "kg", "height": "cm", "bmi": "kg/m²"}


def fill_in(markdown: str, folder: Path) -> str:
    """Markdown with its marks replaced; folder : that of the benchmarks."""
    for mark, name, words in ((VALIDATED, "validated", validated), (LOSSES, "losses", losses)):
        if mark in markdown:
            path = folder / f"{name}.csv"
            missing = f"No full run of `proxycal bench {name}` is in this version."
            markdown = markdown.replace(mark, words(pd.read_csv(path)) if path.exists() else missing)
    return markdown


def validated(figures: pd.DataFrame) -> str:
    """Errors in NHANES as a table, the worlds and the intervals in sentences."""
    survey = figures["world"].str.startswith("nhanes ")
    rows = ["| self-reported | measured for | the report | regression | proxycal |", "|---|---|---|---|---|"]
    for row in figures[survey].to_dict("records"):
        outcome = str(row["world"]).removeprefix("nhanes ")
        errors = " | ".join(f"{row[f'rmse_{name}']:.2f}" for name in ("report", "regression", "validated"))
        rows.append(f"| {outcome} ({UNITS[outcome]}) | {row['share']:.0%} | {errors} |")
    worlds = figures[~survey]
    better = worlds[["rmse_regression", "rmse_exact"]].min(axis=1)
    ratio = worlds["rmse_validated"] / better
    by_world = ratio.groupby(worlds["world"]).max()
    draws, people = int(worlds["draws"].max()), int(figures.loc[survey, "draws"].max())
    return "\n".join(rows) + (
        f"\n\nRoot mean squared errors of people who were not measured, {people} draws each. "
        "Regression is one regression of the measurement on report, proxies and environment.\n\n"
        f"In {worlds['world'].nunique()} kinds of simulated tables (2,000 rows, 5 and 10% validated, {draws} "
        f"tables each) the error is {ratio.min():.2f} to {ratio.max():.2f} times the smaller one of "
        "regression and of a fit without validated rows, and below both in "
        f"{int((by_world < 1.0).sum())} of them. 95% intervals held the truth of "
        f"{figures['held'].min():.1%} to {figures['held'].max():.1%} of the rows."
    )


def readme_row(figures: pd.DataFrame) -> str:
    """The line of the README on weight with a tenth of the people measured."""
    here = (figures["world"] == "nhanes weight") & (figures["share"] == 0.1)
    row = figures[here].iloc[0]
    report, regression, own = (row[f"rmse_{name}"] for name in ("report", "regression", "validated"))
    return (
        f"| [self-reported weight][nhanes], 10% [measured][validated] | off by {own:.2f} kg (root mean "
        f"square, {int(row['draws'])} draws), the reports by {report:.2f} | known; a plain regression on the "
        f"measured rows is off by {regression:.2f} kg |"
    )


def losses(figures: pd.DataFrame) -> str:
    """What was found of reports of a share of the truth, by share, rows and zeros."""
    tables = figures[figures["world"] == "dollars"]
    rows = ["| biased rows report | rows | found | estimated | within 5% |", "|---|---|---|---|---|"]
    for (kept, n), group in tables[tables["kept"] < 1.0].groupby(["kept", "n"]):
        weight = group["found"] * group["repetitions"]
        found, share = weight.sum(), weight.sum() / group["repetitions"].sum()
        ratio, near = (
            f"{(group[name] * weight).sum() / found:.{digits}%}" if found else "-"
            for name, digits in (("ratio", 1), ("near", 0))
        )
        rows.append(f"| {kept:.0%} of the truth | {int(n):,} | {share:.0%} | {ratio} | {near} |")
    honest = tables[tables["kept"] == 1.0]
    alarms = int((honest["found"] * honest["repetitions"]).sum().round())
    draws = int(tables["repetitions"].max())
    return "\n".join(rows) + (
        "\n\nShares of tables in which the bias was found, and the mean estimate and the share of estimates "
        f"within 5% of the truth where it was; 0, 15 and 30% zeros, {draws} tables each. "
        "Where few tables show a bias, those in which it happens to look larger are the ones that do. "
        f"In {int(honest['repetitions'].sum())} tables without a bias one was found {alarms} times."
    )
