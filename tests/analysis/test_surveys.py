"""Survey estimates of a calibrated column: the error of the design and that of the calibration."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import proxycal as pc
from proxycal.analysis.surveys import survey_of

N = 800


@pytest.fixture(scope="module")
def world():
    """Two strata of clusters of eight, sampled at different rates; many reports are in doubt."""
    rng = np.random.default_rng(31)
    stratum = np.repeat(["a", "b"], N // 2)
    cluster = np.repeat(np.arange(N // 8), 8)
    e = rng.normal(size=N) + 0.5 * (stratum == "b")
    truth = 5.0 + 0.6 * e + 0.4 * rng.normal(size=N // 8)[cluster] + rng.normal(size=N)
    p = truth[:, None] * [1.0, 0.8] + 0.6 * rng.normal(size=(N, 2))
    biased = rng.random(N) < 1.0 / (1.0 + np.exp(0.3 - 1.2 * e))
    table = pd.DataFrame({"y": truth + 1.2 * biased, "p1": p[:, 0], "p2": p[:, 1], "e": e})
    table["stratum"], table["cluster"] = stratum, cluster
    table["pw"] = np.where(stratum == "a", 10.0, 4.0)
    table["people"] = rng.integers(1, 6, N)
    table["region"] = rng.choice(["n", "s"], N)
    model = pc.ProxyCalibrator(pc.Roles("y", ["p1", "p2"], ["e"], cluster="cluster"), direction="over")
    model.fit(table)
    assert model.verdict_ == "bias found"
    return table, truth, model


DESIGN = pc.Survey(weights="pw", strata="stratum", clusters="cluster")


@pytest.mark.parametrize(
    "ask",
    [
        lambda made: made.total("y"),
        lambda made: made.mean("y"),
        lambda made: made.ratio("y", "people"),
        lambda made: made.quantile("y", 0.5),
    ],
    ids=["total", "mean", "ratio", "median"],
)
def test_near_the_truth_with_a_longer_error(world, ask):
    table, truth, model = world
    made = ask(model.survey(table, DESIGN)).iloc[0]
    known = ask(DESIGN.on(table.assign(y=truth))).iloc[0]
    report = ask(DESIGN.on(table)).iloc[0]
    assert abs(made.estimate - known.estimate) < 2.0 * made.se
    assert abs(made.estimate - known.estimate) < 0.3 * abs(report.estimate - known.estimate)
    # The calibration adds to what the design has; what it adds is told. The error of a quantile is a
    # difference of two values of the sample, and known to a tenth only.
    assert made.se > 0.85 * known.se
    assert made.fmi > 0.0
    assert made.df <= known.df


def test_groups_outside_the_fit_are_heard(world):
    table, _, model = world
    made = model.survey(table, DESIGN).mean("y", by="region")
    assert list(made.index) == ["n", "s"]
    assert made.index.name == "region"
    again = model.survey(table, DESIGN).mean("y", by="region")
    pd.testing.assert_frame_equal(made, again)


def test_other_columns_have_the_error_of_the_design_alone(world):
    table, _, model = world
    plain, with_model = DESIGN.on(table), model.survey(table, DESIGN)
    pd.testing.assert_frame_equal(plain.mean("people"), with_model.mean("people"))
    assert plain.mean("people").fmi.tolist() == [0.0]
    frame = pc.Survey(weights="pw").on(pl.from_pandas(table)).mean("people", by="region")
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns[0] == "region"


def test_without_a_finding_the_reports_are_added_up():
    sim = pc.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=0.0, random_state=3)
    model = pc.ProxyCalibrator(sim.roles, direction="over", method="exact").fit(sim.table)
    table = sim.table.assign(pw=2.0)
    with pytest.warns(pc.ProxycalWarning, match="the estimates are those of the reports"):
        made = model.survey(table, pc.Survey(weights="pw")).mean("y")
    pd.testing.assert_frame_equal(made, pc.Survey(weights="pw").on(table).mean("y"))


def test_what_is_no_design_is_named(world):
    table, _, model = world
    for made, says in (
        (lambda: pc.Survey(weights="pw", strata="a", replicates=["r"]), "give one of the two"),
        (lambda: pc.Survey(weights="pw", fpc=["a", "b"]), "than stages"),
        (lambda: pc.Survey(weights="pw", lonely="adjust"), "'fail' or 'certainty'"),
        (lambda: pc.Survey(weights="nowhere").on(table).mean("y"), "no column 'nowhere'"),
        (lambda: pc.Survey(weights="region").on(table).mean("y"), "must hold numbers"),
        (lambda: DESIGN.on(table.assign(y=np.nan)).mean("y"), "800 missing values"),
        (lambda: DESIGN.on(table).quantile("y", 50), "between 0 and 1"),
        (lambda: survey_of(model.result_, table, "pw", 5, None), "must be a proxycal.Survey"),
        (lambda: model.survey(table, DESIGN, m=1), "two completed tables"),
    ):
        with pytest.raises(pc.ProxycalError, match=says):
            made()
