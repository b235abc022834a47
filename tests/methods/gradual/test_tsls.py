"""2SLS from sufficient statistics gives what linearmodels gives from the rows (data/make_references.py)."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from proxycal.methods.gradual.moments import reduce, row_moments
from proxycal.methods.gradual.sampling import SummedSampling
from proxycal.methods.gradual.scores import row_scores, score_sums
from proxycal.methods.gradual.tsls import first_stage, fit_tsls

DATA = Path(__file__).parent / "data"
REFERENCE = json.loads((DATA / "references.json").read_text())


@pytest.fixture(scope="module")
def table():
    return pd.read_csv(DATA / "iv_data.csv")


def fit(table, weights=None, cluster=None, by_rows=False):
    basis, proxies, outcome = (
        table[["e0", "e1", "e2"]].to_numpy(),
        table[[f"p{k}" for k in range(5)]].to_numpy(),
        table["y"].to_numpy(),
    )
    moments = row_moments(basis, proxies, outcome, weights)
    reduced = reduce(moments)
    if by_rows:
        scores = row_scores(reduced, basis, proxies, outcome, weights)
    else:
        scores = score_sums(reduced, basis, proxies, outcome, weights, cluster)
    # The equation has a constant, two proxies and three environment columns.
    result = fit_tsls(reduced, (0, 1), scores.sampling(moments.weight, 6), len(table))
    units = reduced.whiten * reduced.scale[-1]
    return units @ result.bias, np.sqrt(np.diag(units @ result.bias_cov @ units.T)), result


@pytest.mark.parametrize("kind", ["robust", "clustered", "weighted"])
def test_estimates_and_errors_are_those_of_linearmodels(table, kind):
    weights = table["weight"].to_numpy() if kind == "weighted" else None
    cluster = table["cluster"].to_numpy() if kind == "clustered" else None
    bias, se, _ = fit(table, weights, cluster)
    np.testing.assert_allclose(bias, REFERENCE[kind]["bias"], rtol=1e-8)
    # With clusters the reference has no correction for their leverage, which is small here.
    np.testing.assert_allclose(se, REFERENCE[kind]["se"], rtol=0.02 if kind == "clustered" else 1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_rows_give_what_their_sums_give(table, weighted):
    weights = table["weight"].to_numpy() if weighted else None
    sums, apart = (fit(table, weights, by_rows=by_rows)[2] for by_rows in (False, True))
    np.testing.assert_allclose(apart.bias_cov, sums.bias_cov, rtol=1e-9)
    assert apart.j_statistic == pytest.approx(sums.j_statistic, rel=1e-9)


def test_hansens_j_is_that_of_two_step_gmm(table):
    _, _, result = fit(table)
    # linearmodels leaves out the small-sample factor of HC1.
    factor = len(table) / (len(table) - 6)
    assert result.j_df == 1
    assert result.j_statistic * factor == pytest.approx(REFERENCE["j"]["statistic"], rel=0.03)
    assert result.j_p == pytest.approx(REFERENCE["j"]["p"], abs=0.03)


def test_the_first_stage_takes_the_strongest_pair_and_knows_noise(table):
    rng = np.random.default_rng(0)
    basis, outcome = table[["e0"]].to_numpy(), table["y"].to_numpy()
    proxies = table[[f"p{k}" for k in range(5)]].to_numpy()
    reduced = reduce(row_moments(basis, proxies, outcome))
    strength, chosen = first_stage(reduced, 2, len(table))
    assert len(chosen) == 2
    assert strength >= fit_tsls(reduced, (0, 1), SummedSampling(np.eye(6 + 21), 1), len(table)).strength
    noise = reduce(row_moments(basis, rng.normal(size=(300, 4)), outcome))
    assert first_stage(noise, 1, 300)[0] < 10.0
    assert first_stage(noise, 3, 300) == (0.0, ())
