"""A trial puts one fit beside its truth; the oracle is least squares with the true A."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.trials import Case, draw, oracle, run_block, trial
from proxycal import Roles


def exact_case(alpha: np.ndarray, level: np.ndarray | None = None) -> Case:
    """No noise at all: least squares must return alpha itself."""
    rng = np.random.default_rng(3)
    n = len(alpha)
    p, e = rng.normal(size=n), rng.normal(size=n)
    a = (rng.random(n) < 0.4).astype(float)
    table = pd.DataFrame({"y": 2.0 + 3.0 * p - e + alpha * a, "p": p, "e": e})
    environment = ["e"]
    if level is not None:
        table["level"] = np.array(["a", "b", "c", "d"])[level]
        environment.append("level")
    return Case(table, Roles("y", ["p"], environment), a, alpha, level)


def test_the_oracle_knows_alpha_where_there_is_no_noise():
    assert oracle(exact_case(np.full(60, 1.7))) == pytest.approx([1.7])


def test_the_oracle_of_a_bias_by_level():
    level = np.arange(80) % 4
    case = exact_case(np.array([1.0, 2.0, 3.0, 4.0])[level], level)
    found = oracle(case)
    assert found[1:] == pytest.approx([1.0, 2.0, 3.0, 4.0])
    assert found[0] == pytest.approx(case.alpha[case.a == 1].mean())


def test_a_trial_says_what_the_fit_said():
    case = draw({"world": "synthetic", "n": 800, "alpha": 10.0, "d_z": 2, "noise": "gaussian"}, seed=4)
    row = trial(case)
    assert row["alpha_true"] == 10.0
    assert row["alpha_hat"] == pytest.approx(10.0, rel=0.05)
    assert row["oracle"] == pytest.approx(10.0, rel=0.05)
    assert row["low"] < row["alpha_hat"] < row["high"]
    assert row["accuracy"] > 0.95
    assert row["verdict"] == "bias found"


def test_a_fit_that_raises_is_a_row_with_its_error(monkeypatch):
    def trial(case):
        if case.table["y"].iloc[0] == first:
            raise ZeroDivisionError("no fit")
        return {"alpha_hat": 1.0}

    settings = {"world": "gaussian", "n": 50, "alpha": 1.0, "seeds": [7, 8]}
    first = draw(settings, 7).table["y"].iloc[0]
    monkeypatch.setattr("benchmarks.trials.trial", trial)
    assert run_block(settings) == [
        {"seed": 7, "error": "ZeroDivisionError: no fit"},
        {"seed": 8, "alpha_hat": 1.0, "error": None},
    ]


def test_jobs_is_the_whole_table_and_its_resample_a_draw_of_it():
    whole = draw({"world": "JOBS", "n": 614, "alpha": 5.0}, seed=1)
    assert len(whole.table) == 614
    part = draw({"world": "JOBS resampled", "n": 500, "alpha": 5.0}, seed=1)
    assert len(part.table) == 500
    columns = ["re74", "re75", "age"]
    assert len(part.table[columns].drop_duplicates()) < len(whole.table[columns].drop_duplicates())
    known = set(map(tuple, whole.table[columns].to_numpy()))
    assert set(map(tuple, part.table[columns].to_numpy())) <= known
    other = draw({"world": "JOBS resampled", "n": 500, "alpha": 5.0}, seed=2)
    assert not other.table.equals(part.table)
