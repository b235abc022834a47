"""Tornado losses 2008-2020, path as proxy. Run: python scripts/studies/tornado_losses.py DATA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from study_page import BASE_YEAR, COUNTY, Question, RealStudy, constant_dollars, read_counties, run

from proxycal import Roles
from proxycal.datasets.account import Entry, left_out, read_rows
from proxycal.reading.table import read_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

PROXIES = ["log_length_miles", "log_width_yards"]
INTRO = (
    "The Storm Prediction Center lists every tornado with the length and width of its path and the "
    "property loss. Is the loss reported too low where a county's circumstances make it so? Outcome: log "
    f"property loss in dollars of {BASE_YEAR}; proxies: log path length and log path width; environment: "
    "what the county is like (population, density, income, poverty, schooling, age, ownership) and the "
    "year; direction under.",
    "The EF rating is in the file and is left out on purpose: it is given by the damage that was seen, "
    "so that it is the loss report under another name.",
)
LIMITS = (
    "Length and width are surveyed by people, often by the same office that writes down the loss. A "
    "survey that was never made shortens the path and the loss together: the proxies then see the "
    "report, and such a bias is invisible here.",
    "Nearly half of the tornadoes have no loss on record. Blank may mean no loss, or nobody asked. The "
    "main fit leaves them out, so that it cannot see the plainest under-reporting, a loss written down "
    "as nothing; the line 'blank is no loss' takes them as zero, which is also a guess.",
    "A fit that calls nearly all losses under-reported (column 'share biased') has found the few very large "
    "ones and named them the honest ones: a long tail, turned around. Such a size is not believable, "
    "whatever the verdict.",
    "With blank as no loss, zero is a value of its own: the fit sets it apart and judges the rest, so that "
    "it says nothing about what the blanks hide.",
    "Losses are estimates in round figures (50,000 alone is one in thirteen of them), not claims.",
    "What a county is like drives the true loss too: what stands in the path. The model lets the "
    "environment into the content, but a two-valued error that follows exposure cannot be told from an "
    "outcome with two kinds of loss (a field, a town).",
    "County covariates are of one year (2017 or as named), for tornadoes of thirteen; the county is "
    "where the path began, however far it went.",
    "Tornadoes of one outbreak are rated by the same people on the same days; counties are declared as "
    "clusters, outbreaks are not.",
)
EXCLUSION = (
    "**Does the assumption hold here?** It would not, either. Length and width measure the path, not what "
    "stands in it: density and income move the true loss itself. And who surveys the path is part of the "
    "environment: offices and years that measure paths differently reach the proxies, which is what the "
    "refusals say. So neither method says how far a county under-reports. A proxy of the damage that no "
    "survey makes (satellite images, insurance claims) and losses per value exposed would be needed."
)


def read(folder: Path) -> tuple[pd.DataFrame, tuple[Entry, ...]]:
    """Every tornado with a path and a known county; log loss is missing where none was recorded."""
    raw = read_table(folder / "tornado_2008_2020.csv.gz", text=["fips"])
    account = [read_rows("tornadoes", len(raw), "read")]
    unsurveyed = (raw["Length"] <= 0) | (raw["Width"] <= 0)
    account += left_out("tornadoes", raw.loc[unsurveyed, "fips"], "left out: path of no length or width")
    table = raw[~unsurveyed]
    counties = read_counties(folder).dropna()
    known = table["fips"].isin(counties["fips"])
    account += left_out("tornadoes", table.loc[~known, "fips"], "left out: no county of that code")
    table = table[known].merge(counties, on="fips", validate="many_to_one")
    table["log_length_miles"], table["log_width_yards"] = np.log(table["Length"]), np.log(table["Width"])
    dollars = constant_dollars(table["Loss"], table["Year"])
    table["log_loss"], table["log_loss_or_none"] = np.log(dollars), np.log1p(np.nan_to_num(dollars))
    return table, tuple(account)


def study(folder: Path) -> RealStudy:
    """The questions put to the tornadoes, and the account of their rows."""
    table, account = read(folder)
    blank = table["log_loss"].isna()
    gone = left_out("tornadoes", ["no loss on record"] * int(blank.sum()), "left out of the main fit")
    environment = [*COUNTY, "Year"]
    recorded = table[~blank].reset_index(drop=True)

    def asked(label: str, outcome: str, cluster: str | None, rows: pd.DataFrame) -> Question:
        return Question(label, rows, Roles(outcome, PROXIES, environment, cluster=cluster))

    return RealStudy(
        name="tornado",
        title="Tornado losses, 2008 to 2020",
        command="python scripts/studies/tornado_losses.py DATA",
        intro=INTRO,
        questions=(
            asked("recorded losses, counties as clusters", "log_loss", "fips", recorded),
            asked("recorded losses, states as clusters", "log_loss", "state", recorded),
            asked("recorded losses, rows on their own", "log_loss", None, recorded),
            asked("blank is no loss, counties as clusters", "log_loss_or_none", "fips", table),
        ),
        account=(*account, *gone),
        limits=LIMITS,
        exclusion=EXCLUSION,
    )


if __name__ == "__main__":
    run(study, __doc__, repetitions=8)
