"""JOBS: earnings before and after a training programme (LaLonde; Dehejia and Wahba 1999)."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
import pandas as pd

from proxycal.datasets.dataset import Dataset
from proxycal.table.roles import Roles


def load_jobs() -> Dataset:
    """The 614 men of the JOBS study; the outcome is log(1 + earnings in 1978).

    Earlier earnings are the proxies: they were on file before anyone could misreport 1978. The data carry
    no known bias of their own; `inject_bias` adds one.

    >>> jobs = load_jobs()
    >>> jobs.table.shape, jobs.roles.outcome, jobs.roles.proxies
    ((614, 12), 'log_re78', ('re74', 're75'))
    """
    data = files("proxycal.datasets") / "data"
    with (data / "jobs.csv").open("rb") as source:
        table = pd.read_csv(source)
    table["log_re78"] = np.log1p(table["re78"])
    roles = Roles(
        outcome="log_re78",
        proxies=["re74", "re75"],
        environment=["treat", "age", "educ", "black", "hispan", "married", "nodegree"],
    )
    return Dataset(table, roles, (data / "jobs.txt").read_text(encoding="utf-8"))
