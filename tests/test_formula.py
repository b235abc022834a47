"""`proxycal.fit`: the same fit as by roles, printed back, and one error for what cannot be passed."""

from __future__ import annotations

import numpy as np
import pytest

import proxycal
from proxycal.errors import SettingsError

FORMULA = "y ~ p_1 + p_2 | e_1 + e_2"


@pytest.fixture(scope="module")
def simulated():
    return proxycal.simulate(n=400, d_z=2, d_e=2, n_proxies=2, alpha=5.0, random_state=0)


def test_a_formula_is_the_fit_of_its_roles(simulated):
    table = simulated.table.assign(w=np.linspace(1.0, 2.0, 400))
    by_formula = proxycal.fit(FORMULA, table, direction="over", method="moments", weights="w", level=0.9)
    roles = proxycal.Roles("y", ["p_1", "p_2"], ["e_1", "e_2"], weights="w")
    by_roles = proxycal.ProxyCalibrator(roles, direction="over", method="moments", level=0.9).fit(table)
    assert by_formula.result_ == by_roles.result_
    assert by_formula.get_params() == by_roles.get_params() | {"log_proxies": by_formula.log_proxies}


def test_every_model_prints_its_formula(simulated, tmp_path):
    model = proxycal.fit(FORMULA, simulated.table, direction="over", method="moments")
    assert model.formula_ == FORMULA
    assert FORMULA in repr(model)
    model.report(tmp_path / "report.html")
    assert FORMULA in (tmp_path / "report.html").read_text(encoding="utf-8")
    again = proxycal.fit(model.formula_, simulated.table, direction="over", method="moments")
    assert again.result_ == model.result_


def test_a_logarithm_is_the_scale_of_the_fit(simulated):
    table = np.exp(simulated.table / simulated.table.abs().max())
    model = proxycal.fit("log(y) ~ log(p_1) + p_2 | e_1 + e_2", table, direction="over", method="moments")
    assert (model.result_.settings.scale, model.result_.settings.log_proxies) == ("log", ("p_1",))
    assert model.formula_ == "log(y) ~ log(p_1) + p_2 | e_1 + e_2"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"lvel": 0.9}, "lvel cannot be passed to proxycal.fit .it is not known.: use one of .*cluster"),
        ({"outcome": "y"}, "the formula says the outcome"),
        ({"roles": None}, "the formula says the roles"),
    ],
)
def test_what_cannot_be_passed_is_named(simulated, settings, said):
    with pytest.raises(SettingsError, match=said):
        proxycal.fit(FORMULA, simulated.table, direction="over", **settings)


def test_a_logarithm_is_asked_for_in_one_place(simulated):
    with pytest.raises(SettingsError, match="leave out scale"):
        proxycal.fit("log(y) ~ p_1 | e_1", simulated.table, direction="over", scale="log")
    with pytest.raises(SettingsError, match="leave out log_proxies"):
        proxycal.fit("y ~ log(p_1) | e_1", simulated.table, direction="over", log_proxies=["p_1"])
