"""From a table to a record: what was asked, what the method said, and rows that belong together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from proxycal.fitting import fit_files, fit_table
from proxycal.methods.registry import register
from proxycal.settings import Settings
from proxycal.table.roles import Roles
from toy_method import TOY, ToyFit, fit_toy

ROLES = Roles(outcome="y", proxies=["p"], environment=["e", "kind"], id="county", weights="w")


@pytest.fixture(autouse=True)
def toy_method():
    with register(TOY):
        yield


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = 60
    columns = {name: rng.normal(size=n) for name in ("y", "p", "e")}
    columns |= {
        "kind": np.where(np.arange(n) % 3, "flood", "fire"),
        "county": [f"{i:05d}" for i in range(n)],
        "w": rng.integers(1, 4, n),
    }
    return pd.DataFrame(columns)


def test_the_record_holds_what_was_asked_and_what_was_computed(table):
    settings = Settings(direction="over", method="toy", random_state=0)
    fit = fit_table(table, ROLES, settings)
    assert (fit.settings, fit.roles, fit.n) == (settings, ROLES, 60)
    assert isinstance(fit.method_fit, ToyFit)
    assert (fit.estimate, fit.verdict) == (ToyFit.estimate, "bias found")
    assert fit.findings[-1] == fit.method_fit.findings[0]
    assert {"python", "proxycal", "numpy"} <= fit.versions.keys()


def test_rows_labels_and_answers_stand_in_the_order_of_the_table(table):
    fit = fit_table(table, ROLES, Settings(direction="over", method="toy"))
    y = table["y"].to_numpy()
    np.testing.assert_array_equal(fit.rows.y_obs, y)
    np.testing.assert_array_equal(fit.rows.predicted.shift, 2.0 * (y > y.mean()))
    np.testing.assert_allclose(fit.rows.weights / fit.rows.weights.mean(), table["w"] / table["w"].mean())
    assert fit.labels.tolist() == table["county"].tolist()
    assert [column.name for column in fit.rows.environment] == ["e", "kind"]


def test_dropped_rows_leave_labels_and_rows_together(table):
    table.loc[[3, 7], "p"] = np.nan
    fit = fit_table(table, ROLES, Settings(direction="over", method="toy", missing="drop"))
    kept = table.drop(index=[3, 7])
    assert (fit.n, fit.training.n) == (58, 58)
    assert fit.labels.tolist() == kept["county"].tolist()
    np.testing.assert_array_equal(fit.rows.y_obs, kept["y"])


def test_files_are_the_table_that_they_were_cut_from(table, tmp_path):
    for name, part in (("a", table[:25]), ("b", table[25:])):
        part.to_parquet(tmp_path / f"{name}.parquet")
    settings = Settings(direction="over", method="toy")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    whole, cut = fit_table(table, ROLES, settings), fit_files(paths, ROLES, settings, 1, "joblib", None)
    assert cut == whole
    np.testing.assert_array_equal(cut.rows.y_obs, whole.rows.y_obs)
    assert cut.labels.tolist() == whole.labels.tolist()


def test_a_fit_has_one_thread_whatever_the_cores(table, monkeypatch):
    def threads() -> set[int]:
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    during = []
    monkeypatch.setattr("toy_method.fit_toy", lambda *given: during.append(threads()) or fit_toy(*given))
    with threadpool_limits(2, user_api="blas"):
        fit_table(table, ROLES, Settings(direction="over", method="toy"))
        assert threads() == {2}, "the limit is lifted afterwards"
    assert during == [{1}]


@pytest.mark.parametrize("method", ["exact", "moments"])
def test_a_bias_is_found_beside_a_category_of_51_levels(method):
    rng = np.random.default_rng(0)
    n, shift = 1500, rng.normal(size=51)
    state = rng.integers(0, 51, n)
    z, e = rng.normal(size=n) + shift[state], rng.normal(size=n)
    biased = rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * e))
    columns = {f"p_{j}": z + 0.4 * rng.normal(size=n) for j in range(3)}
    columns |= {"y": 2.0 * z + 0.5 * rng.normal(size=n) - 5.0 * biased, "e": e}
    table = pd.DataFrame(columns | {"state": [f"S{code:02d}" for code in state]})
    fit = fit_table(
        table, Roles("y", ["p_0", "p_1", "p_2"], ["e", "state"]), Settings(direction="under", method=method)
    )
    # Four standard errors: the seed is fixed, and the last digits are the processor's.
    assert abs(fit.estimate.alpha - 5.0) < 4.0 * fit.estimate.se
    assert fit.verdict == "bias found"
