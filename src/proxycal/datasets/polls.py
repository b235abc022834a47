"""Election polls 1998-2022: partisan sponsors lean, and the results say by how much."""

from __future__ import annotations

from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.datasets.dataset import Dataset
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from pathlib import Path

OUTCOME = "margin_poll"
TRUTH = "margin_actual"
PROXIES = ("others_a", "others_b")
ENVIRONMENT = ("sponsor", "method", "office", "log_sample", "days")
# Kinds of interview with enough polls to speak of; mixtures of them are one more level.
METHODS = ("Live Phone", "IVR", "Online", "IVR/Online")
OTHER_METHOD = "other"
OFFICES = {"Pres-G": "president", "Sen-G": "senate", "Gov-G": "governor", "House-G": "house"}
# Six eras of about equal numbers of elections, to leave one out at a time.
ERAS = (1998, 2002, 2006, 2010, 2014, 2018, 2024)


def load_polls(path: str | Path | None = None) -> Dataset:
    """Polls with two proxies each: the mean margins in two halves of the other pollsters' polls of the race.

    Only polls without a partisan sponsor enter a proxy, and never those of the row's own pollster, so that
    no proxy shares a sponsor or a house with the outcome. Rows without two such pollsters are left out.
    The result of the election stays in the table as "margin_actual"; no role points to it.

    Parameters
    ----------
    path : str or Path, optional
        File in the layout of the embedded one (default: the embedded file).

    Examples
    --------
    >>> polls = load_polls()
    >>> polls.roles.outcome, polls.roles.proxies, polls.roles.cluster
    ('margin_poll', ('others_a', 'others_b'), 'race')
    >>> polls.table["sponsor"].value_counts().to_dict()
    {'none': 7165, 'D': 358, 'R': 301}

    """
    data = files("proxycal.datasets") / "data"
    if path is None:
        with (data / "polls_1998_2023.csv.gz").open("rb") as source:
            raw = pd.read_csv(source, compression="gzip")
    else:
        raw = pd.read_csv(path)
    table, account = prepare_polls(raw)
    roles = Roles(outcome=OUTCOME, proxies=list(PROXIES), environment=list(ENVIRONMENT), cluster="race")
    about = (data / "polls_1998_2023.txt").read_text(encoding="utf-8")
    lines = "\n".join(f"{reason}: {count}" for reason, count in account.items())
    return Dataset(table, roles, f"{about}\n{lines}")


def prepare_polls(raw: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, int]]:
    """The analysis table, and how many rows were left out for which reason."""
    account = {"rows in the file": len(raw)}
    table = raw.copy()
    table["sponsor"] = table["partisan"].fillna("none")
    unclear = ~table["sponsor"].isin(["none", "D", "R"])
    account["sponsor of both parties or of a third"] = int(unclear.sum())
    table = table[~unclear]
    kind = table["methodology"]
    table["method"] = kind.where(kind.isin(METHODS), OTHER_METHOD)
    table["office"] = table["type_simple"].map(OFFICES)
    table["log_sample"] = np.log(table["samplesize"])
    table["days"] = days_before(table)
    labels = [f"{first}-{last - 1}" for first, last in pairwise(ERAS)]
    table["era"] = pd.cut(table["year"], list(ERAS), right=False, labels=labels).astype(str)
    table = table.join(other_polls(table))
    alone = table[list(PROXIES)].isna().any(axis=1)
    account["fewer than two other pollsters without a sponsor"] = int(alone.sum())
    table = table[~alone].reset_index(drop=True)
    account["rows that stay"] = len(table)
    return table, account


def days_before(table: pd.DataFrame) -> pd.Series:
    """Days from the poll to the election."""
    layout = "%m/%d/%Y"
    election = pd.to_datetime(table["electiondate"], format=layout)
    return (election - pd.to_datetime(table["polldate"], format=layout)).dt.days.astype(float)


def other_polls(table: pd.DataFrame) -> pd.DataFrame:
    """For each row, the mean margin in two disjoint halves of the other pollsters' polls of its race.

    Whole pollsters are assigned, in turn and by name, so that a pollster's own lean never enters both
    halves, and the answer does not depend on the order of the rows.
    """
    key = ["race", "pollster"]
    neutral = table[table["sponsor"] == "none"]
    houses = neutral.groupby(key, sort=True, as_index=False)[OUTCOME].agg(["sum", "count"])
    wanted = table[key].drop_duplicates()
    pairs = wanted.merge(houses, on="race", suffixes=("", "_other"))
    pairs = pairs[pairs["pollster"] != pairs["pollster_other"]].sort_values([*key, "pollster_other"])
    pairs["half"] = np.array(PROXIES)[pairs.groupby(key).cumcount() % 2]
    totals = pairs.groupby([*key, "half"])[["sum", "count"]].sum()
    means = (totals["sum"] / totals["count"]).unstack("half")
    return table[key].join(means, on=key)[list(PROXIES)]
