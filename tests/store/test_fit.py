"""A fit in a run folder comes back as it was, and one whose parts do not belong together is refused."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from proxycal.errors import StoreError
from proxycal.fitting import fit_table
from proxycal.methods.registry import register
from proxycal.questions.refits import Refit
from proxycal.questions.refute.refutation import Refutation
from proxycal.report.shell import asked_settings
from proxycal.settings import Settings
from proxycal.store import keep_answers, load_fit, save_fit, versions
from proxycal.store.folder import load_run, save_run
from proxycal.table.roles import Roles
from toy_method import TOY


@pytest.fixture(autouse=True)
def toy_method():
    with register(TOY):
        yield


@pytest.fixture
def fit():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["y", "p", "e"])
    table["kind"] = np.where(np.arange(60) % 3, "flood", "fire")
    table.loc[5, "kind"] = None
    roles = Roles("y", ["p"], ["e", "kind"])
    return fit_table(table, roles, Settings(direction="over", method="toy", missing="impute", random_state=1))


def test_a_fit_comes_back_as_it_was(fit, tmp_path):
    save_fit(tmp_path / "run", fit)
    again = load_fit(tmp_path / "run")
    assert again == fit
    assert again.method_fit == fit.method_fit
    for name, values in fit.rows.predicted.columns().items():
        np.testing.assert_array_equal(again.rows.predicted.columns()[name], values)
    np.testing.assert_array_equal(again.rows.y_obs, fit.rows.y_obs)
    for one, other in zip(again.rows.environment, fit.rows.environment, strict=True):
        assert (one.name, one.levels) == (other.name, other.levels)
        np.testing.assert_array_equal(one.values, other.values)
    assert np.isnan(again.rows.environment[1].values[5])
    for field in fields(fit.training):
        one, other = getattr(again.training, field.name), getattr(fit.training, field.name)
        if isinstance(other, np.ndarray):
            np.testing.assert_array_equal(one, other)
    assert again.labels.tolist() == fit.labels.tolist()


def test_the_method_that_was_asked_for_is_kept_beside_the_one_that_was_used(fit, tmp_path):
    assert asked_settings(fit).method == "toy"
    save_fit(tmp_path / "run", replace(fit, asked_method="auto"))
    again = load_fit(tmp_path / "run")
    assert (again.settings.method, asked_settings(again).method) == ("toy", "auto")


def test_answers_asked_since_are_kept_beside_the_fit(fit, tmp_path):
    save_fit(tmp_path / "run", fit)
    refit = Refit("as fitted", float("nan"), 2.0, 0.1, 1.8, 2.2, 50.0, 0.5, "bias found")
    asked = Refutation("leak", (refit,), "alpha stays", float("nan"), "It holds.", True)
    keep_answers(tmp_path / "run", replace(fit, questions={"leak": asked}))
    again = load_fit(tmp_path / "run").questions["leak"]
    # NaN is not equal to itself; its text is.
    assert repr(again) == repr(asked)


def test_versions_name_what_the_method_was_made_with():
    assert {"python", "proxycal", "numpy", "pandas"} <= versions("toy").keys()
    assert "torch" not in versions("exact")
    assert "torch" in versions("paper")


def test_a_run_whose_parts_do_not_fit_is_refused(fit, tmp_path):
    save_fit(tmp_path / "run", fit)
    run = load_run(tmp_path / "run")
    broken = [
        replace(run, results={key: value for key, value in run.results.items() if key != "fit"}),
        replace(run, tensors={}),
        replace(run, config='method = "toy"\nlevel = 7\n'),
        replace(run, rows=run.rows.drop(columns="mu")),
        replace(run, roles={"outcome": "y"}),
        replace(run, encoder=run.encoder | {"environment": run.encoder["environment"][:-1]}),
    ]
    for one in broken:
        save_run(tmp_path / "broken", one)
        with pytest.raises(StoreError, match=r"broken' is inconsistent .*restore it"):
            load_fit(tmp_path / "broken")
