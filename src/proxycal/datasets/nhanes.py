"""NHANES 2017-2018: what people say they weigh, and what the scales say: a bias with known truth."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.datasets.dataset import Dataset
from proxycal.errors import SettingsError, TableError
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from proxycal.settings import Direction

# What is reported, and the measurement of the same thing.
OUTCOMES = {
    "weight": ("weight_selfreport_kg", "weight_kg"),
    "height": ("height_selfreport_cm", "height_cm"),
    "bmi": ("bmi_selfreport", "bmi"),
}
# Heavy people take off a few kilos, and nearly everybody adds a centimetre: weight and BMI are said too low
# on average, height too high.
DIRECTIONS: dict[str, Direction] = {"weight": "under", "height": "over", "bmi": "under"}
PROXIES = ("waist_cm", "sbp1", "dbp1", "hdl", "chol", "a1c")
BODY_FAT = ("total_pct_fat", "trunk_fat_g")
ENVIRONMENT = ("sex", "age", "race", "education")
VALIDATED = "validated"
# Beyond these no adult has been weighed here; codes such as 7777 (refused) and 9999 (don't know) lie far out,
# in pounds and inches as well as in kilograms and centimetres.
PLAUSIBLE = {"weight": (25.0, 350.0), "height": (100.0, 230.0)}
NO_ANSWER = ("Don't Know", "Don't know", "Refused")
ADULT = 20


def load_nhanes(
    outcome: str = "weight", body_fat: bool = False, validated: float = 0.0, random_state: int = 0
) -> Dataset:
    """Self-reports of adults, with measured proxies; the measured truth stands in the table.

    outcome : "weight" | "height" | "bmi". body_fat : also the X-ray proxies, which halve the rows.
    validated : share of rows, drawn by `random_state`, whose measurement a fit may use (role truth, column
    "validated"); 0 for none. `about` counts every row that was left out and says why.

    >>> data = load_nhanes()
    >>> data.roles.outcome, data.roles.truth, len(data.table)
    ('weight_selfreport_kg', None, 4103)
    >>> some = load_nhanes(validated=0.1)
    >>> some.roles.truth, int(some.table["validated"].notna().sum())
    ('validated', 410)
    """
    if outcome not in OUTCOMES:
        raise SettingsError(f"outcome={outcome!r} is not in NHANES here: use {', '.join(OUTCOMES)}")
    if not 0.0 <= validated < 1.0:
        raise SettingsError(f"validated={validated!r} must be a share of the rows: use 0.1 for one in ten")
    data = files("proxycal.datasets") / "data"
    with (data / "nhanes_2017_2018.csv.gz").open("rb") as source:
        raw = pd.read_csv(source, compression="gzip")
    proxies = [*PROXIES, *(BODY_FAT if body_fat else ())]
    table, account = complete(raw, outcome, proxies)
    reported, measured = OUTCOMES[outcome]
    if validated:
        rng = np.random.default_rng(random_state)
        chosen = rng.choice(len(table), size=round(validated * len(table)), replace=False)
        table[VALIDATED] = np.nan
        table.loc[chosen, VALIDATED] = table.loc[chosen, measured]
    roles = Roles(
        outcome=reported,
        proxies=proxies,
        environment=list(ENVIRONMENT),
        id="seqn",
        truth=VALIDATED if validated else None,
    )
    about = (data / "nhanes_2017_2018.txt").read_text(encoding="utf-8")
    return Dataset(table, roles, about + "\n" + account_text(account))


def complete(
    raw: pd.DataFrame, outcome: str, proxies: list[str], no_answer: tuple[str, ...] = NO_ANSWER
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Adults with every column of the roles, and what became of the other rows.

    no_answer : levels of the education whose rows are left out. The account maps a reason to its rows, in the
    order in which they were left out; it begins with the rows of the file and ends with those that stay.
    """
    table = raw.copy()
    account = {"rows in the file": len(table)}

    def leave_out(gone: pd.Series, why: str) -> None:
        nonlocal table
        account[why] = int(gone.sum())
        table = table[~gone]

    leave_out(table["age"] < ADULT, f"under {ADULT}, where education is not asked")
    for kind in ("weight", "height") if outcome == "bmi" else (outcome,):
        low, high = PLAUSIBLE[kind]
        reported, measured = OUTCOMES[kind]
        leave_out(table[reported].isna(), f"no self-reported {kind}")
        said = table[reported]
        leave_out(
            (said < low) | (said > high),
            f"self-reported {kind} refused, not known or implausible (outside {low:g} to {high:g})",
        )
        leave_out(table[measured].isna(), f"no measured {kind}")
    leave_out(
        table["education"].isna() | table["education"].isin(no_answer), "education refused or not known"
    )
    for name in proxies:
        leave_out(table[name].isna(), f"no {name}")
    account["rows that stay"] = len(table)
    if table.empty:
        raise TableError(f"no row is left for outcome {outcome!r}: {account_text(account)}")
    table = table.reset_index(drop=True)
    table["bmi"] = table["weight_kg"] / (table["height_cm"] / 100.0) ** 2
    table["bmi_selfreport"] = table["weight_selfreport_kg"] / (table["height_selfreport_cm"] / 100.0) ** 2
    return table, account


def account_text(account: dict[str, int]) -> str:
    """The account as lines of text, a row each.

    >>> print(account_text({"rows in the file": 5, "no waist_cm": 2, "rows that stay": 3}))
    rows in the file: 5
    no waist_cm: 2
    rows that stay: 3
    """
    return "\n".join(f"{why}: {count}" for why, count in account.items())
