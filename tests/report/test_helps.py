"""Not identified: what would help this table; no bias found: what size would have been found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal.report.helps import helps, would_be_found
from proxycal.report.summary import facts, sentence


def skewed(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    income = rng.normal(size=n)
    size = rng.normal(size=n) + 0.5 * income
    return pd.DataFrame(
        {
            "loss": np.exp(3.0 * (size + 0.9 * rng.normal(size=n))),
            "sat": np.exp(size + 0.2 * rng.normal(size=n)),
            "income": income,
        }
    )


@pytest.fixture(scope="module")
def unclear():
    roles = proxycal.Roles("loss", ["sat"], ["income"])
    fit = proxycal.ProxyCalibrator(roles, direction="over").fit(skewed()).result_
    # What is said depends on the verdict; which verdict a table of this kind gets is tested elsewhere.
    return replace(fit, verdict="not identified")


def test_what_costs_nothing_comes_first_and_has_its_command(unclear):
    listed = helps(unclear, "run", "t.csv")
    assert "The values of 'loss' span several decades" in listed[0].text
    assert "--scale log" in listed[0].command
    texts = " ".join(item.text for item in listed)
    assert "A second proxy of loss" in texts
    assert "role trusted" in texts
    assert "proxycal audit run t.csv --n 50 --out audit.csv" in [item.command for item in listed]


def test_no_number_is_quoted_where_nothing_is_identified(unclear):
    assert not any(character.isdigit() for character in sentence(unclear))
    names = [name for name, _ in facts(unclear)]
    assert names[0] == "Estimated size (do not quote)"
    assert names[-1] == "Rows in the fit"


def test_rows_that_would_help_are_enough_for_the_estimated_size(example):
    size = example().estimate.alpha
    few = example(verdict="not identified", rows_needed=410.0, detectable=2.0 * size)
    (text,) = [item.text for item in helps(few) if "more rows" in item.text]
    # Twice the size is found in 400 rows, half of it in four times as many.
    assert text.startswith("About 1,200 more rows")
    enough = example(verdict="not identified", rows_needed=410.0, detectable=0.5 * size)
    assert any(item.text.startswith("About 10 more rows") for item in helps(enough))


def test_no_size_stands_where_no_bias_was_found(example):
    fit = example(verdict="no bias found", detectable=0.6274)
    assert facts(fit) == (
        ("Bias", "none found"),
        ("Would have been found", "0.627"),
        ("Rows in the fit", "400"),
    )


def test_no_bias_says_what_size_would_have_been_found():
    sim = proxycal.simulate(n=400, alpha=0.0, random_state=1)
    for method in ("exact", "moments"):
        fit = proxycal.ProxyCalibrator(sim.roles, direction="over", method=method).fit(sim.table).result_
        assert would_be_found(fit)
        if fit.verdict == "no bias found":
            assert would_be_found(fit) in sentence(fit)
            assert helps(fit) == ()
