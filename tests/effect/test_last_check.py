"""No answer leaves that the fitted table cannot support, and every answer passes the check."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal.cli import main
from proxycal.effect.last_check import BEYOND, Support, answer_rows, answer_totals
from proxycal.effect.totals import Groups, sum_rows
from proxycal.errors import AnswerError, TableError
from proxycal.fitting import fit_table
from proxycal.methods.registry import register
from proxycal.scale.calibrate import calibrate_files
from proxycal.scale.totals import totals_files
from proxycal.settings import Settings
from proxycal.store import load_fit, save_fit
from proxycal.store.folder import load_run, save_run
from proxycal.table.roles import Roles
from toy_method import TOY, ToyFit

PACKAGE = Path(proxycal.__file__).parent


@dataclass(frozen=True)
class Thrown(ToyFit):
    """A fit that gives row 7 what it gave a rare level: a value out of nowhere."""

    value: float = 3.1e17

    def predict(self, arrays):
        said = super().predict(arrays)
        far = np.where(arrays.E[:, 0] > 1.5, self.value, said.y_cal)
        return replace(said, y_cal=far, shift=arrays.y - far)


def fit_thrown(arrays, settings):
    return Thrown(float(arrays.y.mean()), "bias found")


THROWN = replace(TOY, name="thrown", home=f"{__name__}:fit_thrown", record=f"{__name__}:Thrown")
ROLES = Roles("y", ["p"], ["e"])


@pytest.fixture(autouse=True)
def toy_methods():
    with register(TOY), register(THROWN):
        yield


@pytest.fixture
def table():
    rng = np.random.default_rng(2)
    return pd.DataFrame(rng.uniform(-1.0, 1.0, (60, 3)), columns=["y", "p", "e"]).assign(kind=["a", "b"] * 30)


@pytest.fixture
def fit(table):
    return fit_table(table, ROLES, Settings(direction="over", method="toy"))


def thrown(fit, value=3.1e17):
    return replace(fit, method_fit=Thrown(fit.method_fit.mean, "bias found", value))


def arrays_of(fit, table):
    return fit.encoder.transform(table)


def test_bounds_are_the_range_and_ten_times_beyond_on_either_side():
    support = Support(0.0, 100.0, False, (), (), ())
    values = np.array([-1000.0, -1000.1, 1100.0, 1100.1, np.nan, np.inf])
    assert support.outside(np.full(6, 50.0), values).tolist() == [False, True, False, True, True, True]
    # A report beyond those of the fit widens what is possible for its own row.
    assert not support.outside(np.array([1e6]), np.array([1.05e7])).any()


def test_on_the_log_scale_a_factor_may_be_as_large_as_the_reports_apart():
    support = Support(10.0, 1000.0, True, (), (), ())
    most = 1000.0 * 100.0 * (1.0 + BEYOND)
    assert support.outside(np.full(3, 50.0), np.array([0.99 * most, 1.01 * most, 0.0])).tolist() == [
        False,
        True,
        True,
    ]
    # A report of zero stays zero.
    assert not support.outside(np.zeros(1), np.zeros(1)).any()


def test_what_a_fit_saw_includes_its_truths(table):
    truth = table["y"].where(table.index > 55)
    truth[59] = -40.0
    fit = fit_table(
        table.assign(truth=truth), replace(ROLES, truth="truth"), Settings(direction="over", method="toy")
    )
    assert fit.support.low == -40.0
    assert fit.support.high == table["y"].max()
    assert fit.support.columns == ("p", "e")


@pytest.mark.parametrize("value", [3.1e17, -3.1e17, np.nan, np.inf])
def test_rows_without_support_are_a_bug_that_says_what_to_send(fit, table, value):
    table.loc[7, "e"] = fit.encoder.environment[0].decoded(np.array([1.6]))[0]
    arrays = arrays_of(fit, table)
    support = replace(fit.support, column_high=(9.0, 9.0))
    with pytest.raises(
        AnswerError, match=r"first row 8: .*bug in proxycal.*nothing was returned.*config\.toml"
    ):
        answer_rows(thrown(fit, value).method_fit, support, arrays)
    # By position, as pages ask; rows that are fine are answered.
    with pytest.raises(AnswerError, match="first row 8"):
        answer_rows(thrown(fit, value).method_fit, support, arrays, np.array([3, 7]))
    assert len(answer_rows(thrown(fit, value).method_fit, support, arrays, np.array([3, 5])).y_cal) == 2


def test_a_row_that_lies_outside_of_the_fitted_columns_is_named_instead(fit, table):
    table.loc[7, "e"] = 1e9
    with pytest.raises(TableError, match=r"row 8: .*Column 'e' of that row lies outside"):
        answer_rows(thrown(fit).method_fit, fit.support, arrays_of(fit, table))


def test_the_truth_of_a_row_needs_no_support(fit, table):
    arrays = replace(arrays_of(fit, table), truth=np.where(np.arange(60) == 3, 1e9, np.nan))
    assert answer_rows(fit.method_fit, fit.support, arrays).y_cal[3] == 1e9


def test_totals_without_support_are_a_bug(fit, table):
    arrays = arrays_of(fit, table)
    groups = Groups(np.arange(60) % 2, ("a", "b"))
    sums = sum_rows(fit.method_fit, arrays, groups, np.ones(60))
    assert answer_totals(fit.method_fit, fit.support, sums, 0.95, by="kind").rows.tolist() == [30, 30, 60]
    wrong = replace(sums, calibrated=sums.calibrated + np.array([0.0, 1e9]))
    for statistic in ("total", "mean"):
        with pytest.raises(AnswerError, match=r"2 of 3 groups .*group 'b'"):
            answer_totals(fit.method_fit, fit.support, wrong, 0.95, statistic, by="kind")


def test_every_door_is_behind_it(fit, table, tmp_path, capsys):
    """Where the method throws a row far away, Python, files and shell say so and write nothing."""
    table.loc[7, "e"] = fit.encoder.environment[0].decoded(np.array([1.6]))[0]
    with pytest.raises(AnswerError, match="nothing supports"):
        fit_table(table, ROLES, Settings(direction="over", method="thrown"))
    bad = thrown(replace(fit, support=replace(fit.support, column_high=(9.0, 9.0))))
    save_fit(tmp_path / "run", replace(bad, settings=replace(bad.settings, method="thrown")))
    table.to_csv(tmp_path / "table.csv", index=False)
    model = proxycal.load(tmp_path / "run")
    for ask in (model.calibrate, model.transform, model.latents):
        with pytest.raises(AnswerError):
            ask(table)
    out = tmp_path / "out.csv"
    with pytest.raises(AnswerError):
        calibrate_files(tmp_path / "run", [tmp_path / "table.csv"], out)
    with pytest.raises(AnswerError):
        totals_files(model.result_, [tmp_path / "table.csv"])
    with pytest.raises(AnswerError):
        model.totals(table)
    for command in ("calibrate", "totals"):
        args = [command, str(tmp_path / "run"), str(tmp_path / "table.csv"), "--out", str(out)]
        assert main(args) == 1
        assert "bug in proxycal" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "table.csv"]


def test_runs_of_earlier_versions_have_it_from_their_rows(fit, tmp_path):
    save_fit(tmp_path / "run", fit)
    assert load_fit(tmp_path / "run").support == fit.support
    run = load_run(tmp_path / "run")
    before = {name: value for name, value in run.results.items() if name != "support"}
    save_run(tmp_path / "old", replace(run, results=before))
    assert load_fit(tmp_path / "old").support == fit.support


def test_nothing_else_of_the_package_answers():
    """`predict` of effect.calibrate and `conclude` of effect.totals are called in one module only."""
    wanted = {"proxycal.effect.calibrate": "predict", "proxycal.effect.totals": "conclude"}
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        and wanted.get(node.module or "") in {alias.name for alias in node.names}
    }
    assert users == {"effect/last_check.py"}
