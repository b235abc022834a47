"""The exact method on one model: fits, what is said of rows, pieces, files and closed forms."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal import ProxyCalibrator, ProxycalWarning
from proxycal.datasets import load_jobs
from proxycal.methods.expression import Columns, Expression, column
from proxycal.methods.one_model.compare import compare_models
from proxycal.methods.one_model.refits import refitted_error
from proxycal.methods.registry import Method, register
from proxycal.scale import fit as scale_fit
from proxycal.settings import Settings
from proxycal.testing.worlds import draw_world

ROOM = "proxycal.methods.one_model"


@pytest.fixture(scope="module", autouse=True)
def method():
    """The coming method under a name of its own."""
    coming = Method(
        name="one-model",
        label="one model",
        summary="one model of a row",
        home=f"{ROOM}.fit:fit_one_model",
        record=f"{ROOM}.record:OneModelFit",
        pieces=f"{ROOM}.in_pieces:fit_pieces",
        pieces_in_memory=True,
        effects=("constant", "linear", "by:"),
        cost=(5.0, 0.2),
    )
    with register(coming):
        yield coming


def fitted(table, roles, direction="over", **settings):
    model = ProxyCalibrator(roles, direction=direction, method="one-model", random_state=0, **settings)
    return model.fit(table)


def world_fit(kind, n, size, seed, **settings):
    world = draw_world(kind, n, size, seed=seed)
    return world, fitted(world.table(), world.roles, **settings)


@pytest.fixture(scope="module")
def found():
    return world_fit("gaussian", 600, 3.0, 1)


def test_a_bias_is_found_measured_and_taken_off(found):
    world, model = found
    assert model.verdict_ == "bias found"
    assert abs(model.alpha_ - world.alpha[0]) < 4.0 * model.alpha_se_
    answers = model.calibrate(world.table())
    before, after = (np.sqrt(np.mean((y - world.y_true) ** 2)) for y in (world.y, answers["y_cal"]))
    assert after < 0.5 * before
    assert np.mean((answers["p_biased"] > 0.5) == (world.a == 1.0)) > 0.9
    assert "otherwise" in {finding.topic for finding in model.findings_}


def test_totals_hold_the_truth_and_coefficients_are_tables(found):
    world, model = found
    total = model.totals(world.table()).iloc[0]
    assert total["low"] <= world.y_true.sum() <= total["high"]
    size = model.tidy().set_index("component").loc["size"]
    assert size["estimate"] == pytest.approx(model.alpha_)
    assert size["std_error"] == pytest.approx(model.alpha_se_, rel=0.05)


@pytest.mark.parametrize("kind", ["gaussian", "exponential", "heteroscedastic"])
def test_no_bias_is_claimed_where_there_is_none(kind):
    world, model = world_fit(kind, 600, 0.0, 2)
    assert model.verdict_ != "bias found"
    with pytest.warns(ProxycalWarning):
        np.testing.assert_array_equal(model.calibrate(world.table())["y_cal"], world.y)


def test_two_humps_that_nobody_drives_are_not_identified():
    rng = np.random.default_rng(0)
    z, e = rng.normal(size=800), rng.normal(size=(800, 2))
    hump = 5.0 * (rng.random(800) < 0.5)
    table = pd.DataFrame({"y": z + hump + 0.3 * rng.normal(size=800), "e_1": e[:, 0], "e_2": e[:, 1]})
    for k in (1, 2):
        table[f"p_{k}"] = z + 0.2 * rng.normal(size=800)
    model = fitted(table, proxycal.Roles(outcome="y", proxies=["p_1", "p_2"], environment=["e_1", "e_2"]))
    assert model.verdict_ != "bias found"


def test_jobs_with_its_zero_earnings():
    jobs = load_jobs()
    sim = proxycal.inject_bias(jobs.table, jobs.roles, alpha=1.0, random_state=0)
    model = fitted(sim.table, sim.roles)
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(1.0, abs=0.02)


def test_under_mirrors_over(found):
    world, model = found
    table = world.table()
    under = fitted(table.assign(y=-table["y"]), world.roles, direction="under")
    assert under.alpha_ == pytest.approx(model.alpha_, rel=1e-9)
    np.testing.assert_allclose(
        under.calibrate(table.assign(y=-table["y"]))["y_cal"], -model.calibrate(table)["y_cal"], atol=1e-8
    )


def test_units_and_turned_columns_change_nothing(found):
    world, model = found
    table = world.table()
    columns = [*world.roles.proxies, *world.roles.environment]
    scale = np.array([1000.0, 1e-3, -2.0, 1.0, 7.0] * 2)
    moved = fitted(table.assign(**(table[columns] * scale + 100.0)), world.roles)
    # A climb ends where a step gains less than 1e-6 of log likelihood.
    assert moved.alpha_ == pytest.approx(model.alpha_, rel=1e-4)
    assert moved.verdict_ == model.verdict_


def test_it_answers_the_same_from_its_folder(found, tmp_path):
    world, model = found
    model.save(tmp_path / "run")
    again = proxycal.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.calibrate(world.table()), model.calibrate(world.table()))
    pd.testing.assert_frame_equal(again.totals(world.table()), model.totals(world.table()))
    assert [one.reading for one in again.findings_] == [one.reading for one in model.findings_]
    assert again.result_.method_fit.details.gate == model.result_.method_fit.details.gate


def test_trusted_rows_are_not_biased():
    world = draw_world("gaussian", 600, 3.0, seed=3)
    trusted = (world.a == 0.0) & (np.arange(600) % 2 == 0)
    table = world.table().assign(known=trusted)
    model = fitted(table, replace(world.roles, trusted="known"))
    assert model.verdict_ == "bias found"
    assert (model.calibrate(table)["p_biased"][trusted] == 0.0).all()


def test_a_size_by_level_is_said_level_by_level():
    world, model = world_fit("alpha by level", 1000, 1.5, 0, effect="by:level")
    table = model.summary()
    for k, name in enumerate("abcd"):
        row = table.loc[f"exact, level={name}"]
        assert abs(row["alpha"] - world.alpha[world.level == k][0]) < 4.0 * row["se"]
    constancy = next(one for one in model.findings_ if one.topic == "constancy")
    assert constancy.value < 1e-6


def test_what_clusters_share_is_no_bias():
    _, model = world_fit("clusters", 800, 3.0, 0)
    assert model.verdict_ == "bias found"
    assert model.result_.method_fit.law.unit_variance > 0.0


def test_the_bootstrap_comes_to_the_error_of_the_sandwich(found):
    _, model = found
    compared = compare_models(model.result_.training, Settings(direction="over"))
    error = refitted_error(compared, compared.comparison, seed=0) * compared.standard.unit
    assert error == pytest.approx(model.result_.method_fit.estimate.se, rel=0.5)


# --- many rows ----------------------------------------------------------------------------------------------


def test_pieces_say_what_the_table_in_memory_says(monkeypatch):
    world = draw_world("gaussian", 3000, 3.0, seed=4)
    table = world.table()
    whole = fitted(table, world.roles)
    monkeypatch.setattr(scale_fit, "LARGE", 1000)
    pieces = fitted(table, world.roles)
    assert pieces.verdict_ == whole.verdict_ == "bias found"
    assert abs(pieces.alpha_ - whole.alpha_) < 0.2 * whole.alpha_se_
    assert pieces.alpha_se_ == pytest.approx(whole.alpha_se_, rel=0.3)


def test_some_rows_choose_and_all_are_fitted(monkeypatch, found):
    from proxycal.methods.one_model import compare

    world = draw_world("gaussian", 3000, 3.0, seed=5)
    whole = fitted(world.table(), world.roles)
    monkeypatch.setattr(compare, "CHOSEN_ON", 1000)
    chosen = fitted(world.table(), world.roles)
    assert chosen.result_.method_fit.evidence.chosen_on == 1000
    assert abs(chosen.alpha_ - whole.alpha_) < 0.5 * whole.alpha_se_
    assert chosen.alpha_se_ == pytest.approx(whole.alpha_se_, rel=0.3)


# --- the closed form ----------------------------------------------------------------------------------------


def value_of(expression: Expression, columns: dict[str, np.ndarray]) -> np.ndarray:
    """What an expression comes to."""
    own = {
        "number": lambda: expression.parts[0],
        "column": lambda: columns[expression.parts[0]],
    }
    if expression.kind in own:
        return np.asarray(own[expression.kind](), dtype=float)
    parts = [value_of(part, columns) for part in expression.parts]
    acts = {
        "+": lambda: sum(parts[1:], parts[0]),
        "-": lambda: parts[0] - parts[1],
        "*": lambda: parts[0] * parts[1],
        "/": lambda: parts[0] / parts[1],
        "exp": lambda: np.exp(parts[0]),
        "ln": lambda: np.log(parts[0]),
        "<": lambda: (parts[0] < parts[1]).astype(float),
        "case": lambda: np.where(parts[0] > 0.0, parts[1], parts[2]),
    }
    return np.asarray(acts[expression.kind]())


def test_the_closed_form_is_the_answer():
    sim = proxycal.simulate(n=500, d_z=1, d_e=2, n_proxies=3, alpha=4.0, random_state=1)
    model = fitted(sim.table, sim.roles)
    fit, arrays = model.result_.method_fit, model.result_.training
    if fit.law.family.varies:
        pytest.skip("the sizes of this fit vary, so that it has no closed form")
    named = {"y": arrays.y} | {f"P{k}": x for k, x in enumerate(arrays.P.T)}
    named |= {f"E{k}": x for k, x in enumerate(arrays.E.T)}
    columns = Columns(
        column("y"),
        tuple(column(f"P{k}") for k in range(arrays.P.shape[1])),
        tuple(column(f"E{k}") for k in range(arrays.E.shape[1])),
        {},
    )
    form = fit.closed_form(columns)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p, y_cal = (value_of(part, named) for part in (form.p_biased, form.y_cal(columns.y)))
    predicted = fit.predict(arrays)
    np.testing.assert_allclose(p, predicted.p_biased, atol=1e-9)
    np.testing.assert_allclose(y_cal, predicted.y_cal, atol=1e-8)
