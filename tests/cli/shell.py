"""Tables, roles and refusals that the tests of the commands share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import proxycal
from proxycal.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from proxycal.testing import Simulation

ROLES = ["--outcome", "loss", "--proxies", "p_1,p_2,p_3", "--environment", "income,hazard"]
# What a fit must be told.
ASKED = [*ROLES, "--direction", "over"]
# Networks just large enough to run: these tests are about the command line, not about the estimate.
SMALL = 'method = "paper"\n[paper]\nd_z = 2\nwidth = 16\nepochs = 4\nmin_steps = 0\n'


def simulated(n: int = 240) -> Simulation:
    return proxycal.simulate(n=n, d_z=2, d_e=2, n_proxies=3, alpha=6.0, random_state=1)


def make_table(n: int = 240) -> pd.DataFrame:
    table = simulated(n).table.rename(columns={"y": "loss", "e_1": "income"})
    table["hazard"] = np.where(table.pop("e_2") > 0, "flood", "fire")
    table.insert(0, "county", [f"0{1000 + i}" for i in range(n)])
    return table


def everything_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def refused(capsys, here: Path, args: list[str]) -> str:
    """The one line with which `args` are refused; nothing may be printed or left behind."""
    before = everything_in(here)
    capsys.readouterr()
    code = main(args)
    out, err = capsys.readouterr()
    assert code == 2, err
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err
    assert everything_in(here) == before
    return err
