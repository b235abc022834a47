"""The R package: the digits of Python, and what R CMD check says of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import proxycal

if TYPE_CHECKING:
    import pandas as pd

PACKAGE = Path(__file__).parents[2] / "r" / "proxycalR"
NEEDED = ("jsonlite", "mice")


def _missing() -> str:
    if shutil.which("Rscript") is None:
        return "R is not on this computer"
    asked = "cat(vapply(commandArgs(TRUE), requireNamespace, TRUE, quietly = TRUE))"
    done = subprocess.run(["Rscript", "-e", asked, *NEEDED], capture_output=True, text=True, check=False)
    have = done.stdout.split()[-len(NEEDED) :] == ["TRUE"] * len(NEEDED)
    return "" if have else f"R is here without its packages {', '.join(NEEDED)}"


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> dict[str, str]:
    """The environment of R in which `proxycal` is what is tested."""
    why = _missing()
    if why:
        pytest.skip(why)
    program = tmp_path_factory.mktemp("bin") / "proxycal"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m proxycal "$@"\n')
    program.chmod(0o755)
    return os.environ | {
        "PROXYCAL": str(program),
        "PYTHONPATH": str(Path(proxycal.__file__).parents[1]),
        "_R_CHECK_FORCE_SUGGESTS_": "false",
    }


def _table() -> pd.DataFrame:
    sim = proxycal.simulate(n=300, d_z=1, d_e=1, n_proxies=2, alpha=4.0, random_state=2)
    return sim.table.assign(kind=np.where(np.arange(300) % 3, "01", "02"), w=np.arange(300.0))


def _numbers(values) -> np.ndarray:
    return np.array([float(value) for value in values])


def test_r_has_the_digits_of_python(environment, tmp_path):
    table = _table()
    (tmp_path / "table.json").write_text(json.dumps(table.to_dict("list")))
    command = ["Rscript", str(Path(__file__).with_name("answers.R"))]
    command += [str(PACKAGE / "R"), str(tmp_path / "table.json"), str(tmp_path / "answers.json")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads((tmp_path / "answers.json").read_text())

    settings = {"direction": "over", "method": "moments", "random_state": 4}
    model = proxycal.fit("y ~ p_1 + p_2 | e_1 + kind", table, **settings)
    asked = [model.alpha_, model.alpha_se_, *model.alpha_interval_, model.share_biased_]
    # Every number goes through text that holds all its digits: what is left is another order of a sum.
    same = {"rtol": 1e-13, "atol": 1e-13}
    np.testing.assert_allclose(_numbers(said["fit"].values()), asked, **same)
    assert said["understood"] == model.formula_
    rows = model.calibrate(table)
    for name, values in said["rows"].items():
        np.testing.assert_allclose(_numbers(values), rows[name], **same, err_msg=name)
    sums = model.totals(table, by="kind")
    for name, values in said["sums"].items():
        np.testing.assert_allclose(_numbers(values), sums[name], rtol=1e-12, err_msg=name)
    drawn = model.impute(table, m=4, random_state=9)
    for values, one in zip(said["drawn"], drawn, strict=True):
        np.testing.assert_allclose(_numbers(values), one["y"], **same)
    pooled = proxycal.pool([_least_squares(one) for one in drawn], df=297)
    for name, values in said["pooled"].items():
        # R solves the least squares by another factorisation.
        np.testing.assert_allclose(_numbers(values), pooled[name], rtol=1e-8, err_msg=name)


def _least_squares(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    X = np.column_stack([np.ones(len(table)), table["e_1"], table["w"]])
    inverse = np.linalg.inv(X.T @ X)
    coef = inverse @ (X.T @ table["y"].to_numpy())
    left = table["y"].to_numpy() - X @ coef
    return coef, inverse * (left @ left) / (len(table) - X.shape[1])


@pytest.mark.slow
def test_r_cmd_check_has_nothing_to_say(environment, tmp_path):
    for command in (
        ["build", str(PACKAGE)],
        ["check", "--no-manual", f"proxycalR_{proxycal.__version__}.tar.gz"],
    ):
        done = subprocess.run(
            ["R", "CMD", *command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    log = (tmp_path / "proxycalR.Rcheck" / "00check.log").read_text()
    assert "Status: OK" in log, log
    assert (tmp_path / "proxycalR.Rcheck" / "proxycalR" / "doc" / "proxycalR.html").exists()


def test_the_r_package_has_the_version_of_the_program():
    text = (PACKAGE / "DESCRIPTION").read_text(encoding="utf-8")
    assert re.search(r"^Version: (.+)$", text, flags=re.MULTILINE)[1] == proxycal.__version__


def test_every_exported_name_has_a_page():
    exported = re.findall(r"^export\((\w+)\)$", (PACKAGE / "NAMESPACE").read_text(), flags=re.MULTILINE)
    pages = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "man").glob("*.Rd"))
    assert [name for name in exported if f"\\alias{{{name}}}" not in pages] == []
    assert len(exported) >= 4
