"""The paper's method end to end: known truth, mirror, seeds, saving, and what it says when it fails."""

from __future__ import annotations

import functools
import math
import warnings
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from proxycal import ProxyCalibrator, Roles, inject_bias, load, simulate
from proxycal.errors import ProxycalWarning, UnavailableError
from proxycal.methods.paper.fit import PaperFit, fit_paper
from proxycal.methods.paper.settings import PaperSettings
from proxycal.methods.parts import hold_out
from proxycal.settings import Settings
from proxycal.store import RUN_FILES
from proxycal.table.encode import Encoder

# Small networks that still learn the simulated design, in about two seconds.
QUICK = PaperSettings(width=16, restarts=2, epochs=30, min_steps=300, batch_size=128, learning_rate=5e-3)
# Networks that learn next to nothing, for questions of structure.
TINY = PaperSettings(d_z=2, width=4, restarts=1, epochs=2, min_steps=0, batch_size=64)


@functools.cache
def simulated(alpha: float = 5.0, n: int = 500, seed: int = 0):
    return simulate(n=n, d_z=5, alpha=alpha, random_state=seed)


def learned():
    """The first 500 of 700 rows, those that `quick_fit` has seen."""
    sim = simulated(n=700)
    return replace(sim, table=sim.table.iloc[:500], truth=sim.truth.iloc[:500])


@functools.cache
def quick_fit() -> ProxyCalibrator:
    sim = learned()
    return ProxyCalibrator(sim.roles, direction="over", method="paper", paper=QUICK).fit(sim.table)


def tiny_fit(table: pd.DataFrame, roles: Roles, **arguments: object) -> ProxyCalibrator:
    return ProxyCalibrator(roles, **{"direction": "over", "method": "paper", "paper": TINY, **arguments}).fit(
        table
    )


def answers(model: ProxyCalibrator, table: pd.DataFrame) -> list[pd.DataFrame]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        return [model.calibrate(table), model.effects(table), model.latents(table), model.summary()]


def rmse(y: pd.Series, y_true: pd.Series) -> float:
    return float(np.sqrt(np.mean((np.asarray(y) - np.asarray(y_true)) ** 2)))


# --- known truth --------------------------------------------------------------------------------------


def test_finds_a_known_bias_and_who_carries_it():
    model, sim = quick_fit(), learned()
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(5.0, rel=0.03)
    low, high = model.alpha_interval_
    assert low < model.alpha_ < high
    out = model.calibrate(sim.table)
    assert np.mean((out["p_biased"] > 0.5) == (sim.truth["a"] == 1)) > 0.98
    assert model.share_biased_ == pytest.approx(sim.truth["a"].mean(), abs=0.02)
    assert rmse(out["y_cal"], sim.truth["y_true"]) < 0.1 * rmse(
        sim.table[sim.roles.outcome], sim.truth["y_true"]
    )
    assert rmse(out["mu"], sim.truth["y_true"]) < 0.5
    np.testing.assert_allclose(out["shift"], model.alpha_ * out["p_biased"])
    assert ((out["y_cal_low"] <= out["y_cal"]) & (out["y_cal"] <= out["y_cal_high"])).all()


def test_moments_stand_beside_and_agree():
    summary = quick_fit().summary()
    assert list(summary.index) == ["exact", "moments", "match", "gradual"]
    assert summary.loc["moments", "alpha"] == pytest.approx(5.0, rel=0.03)
    assert "method='exact'" in summary.loc["exact", "note"]
    assert {finding.topic for finding in quick_fit().findings_ if not finding.ok} == set()


def test_new_rows_are_answered_with_what_was_learned():
    model, sim = quick_fit(), simulated(n=700)
    held, truth = sim.table.iloc[500:], sim.truth.iloc[500:]
    out = model.calibrate(held)
    assert np.mean((out["p_biased"] > 0.5) == (truth["a"] == 1)) > 0.95
    assert rmse(out["y_cal"], truth["y_true"]) < 0.5 * rmse(held[sim.roles.outcome], truth["y_true"])


def test_effects_are_signed_differences_to_the_named_matches():
    model, sim = quick_fit(), learned()
    table = sim.table
    out, biased = model.effects(table), model.calibrate(table)["p_biased"] > 0.5
    assert out.loc[biased, "tau"].mean() == pytest.approx(model.alpha_, abs=1e-9)
    assert abs(out.loc[~biased, "tau"].mean()) < 0.2
    matched = out["matched"].str.split("; ")
    assert (matched.str.len() == out["n_matched"]).all()
    assert not biased[matched.explode().astype(int).unique()].any()
    assert not any(str(row) in names for row, names in matched[~biased].items())
    lengths = out["distances"].str.split("; ").map(lambda parts: [float(part) for part in parts])
    assert all(parts == sorted(parts) for parts in lengths)


def test_plain_differences_are_means_over_the_matches():
    sim = simulated()
    model = tiny_fit(sim.table, sim.roles).set_params(paper=replace(TINY, adjust=False, k=3)).fit(sim.table)
    y, out = sim.table[sim.roles.outcome], model.effects(sim.table)
    for row in (0, 17, 400):
        names = [int(name) for name in out.loc[row, "matched"].split("; ")]
        assert len(names) == 3
        assert out.loc[row, "tau"] == pytest.approx(y[row] - y[names].mean())


def test_without_a_bias_nothing_is_found_and_nothing_is_changed():
    sim = simulated(alpha=0.0)
    model = ProxyCalibrator(sim.roles, direction="over", method="paper", paper=QUICK).fit(sim.table)
    assert model.verdict_ == "not identified"
    assert "collapse" in {finding.topic for finding in model.findings_ if not finding.ok}
    with pytest.warns(ProxycalWarning, match="left as reported"):
        out = model.calibrate(sim.table)
    np.testing.assert_array_equal(out["y_cal"], sim.table[sim.roles.outcome])


# --- structure ----------------------------------------------------------------------------------------


def test_under_reporting_mirrors_over_reporting_exactly():
    sim = simulated(n=200)
    mirrored = sim.table.assign(**{sim.roles.outcome: -sim.table[sim.roles.outcome]})
    over, under = tiny_fit(sim.table, sim.roles), tiny_fit(mirrored, sim.roles, direction="under")
    assert (under.alpha_, under.alpha_se_, under.alpha_interval_) == (
        over.alpha_,
        over.alpha_se_,
        over.alpha_interval_,
    )
    pd.testing.assert_frame_equal(under.summary(), over.summary(), check_exact=True)
    # Of the fit itself: calibrate leaves the outcome alone where so little was learned.
    up, down = (
        model.result_.method_fit.predict(model.result_.encoder.transform(table))
        for model, table in ((over, sim.table), (under, mirrored))
    )
    for name in ("y_cal", "shift", "mu"):
        np.testing.assert_array_equal(getattr(down, name), -getattr(up, name))
    np.testing.assert_array_equal(down.y_cal_low, -up.y_cal_high)
    np.testing.assert_array_equal(down.p_biased, up.p_biased)
    assert (down.shift <= 0).all()
    assert down.shift.any()
    np.testing.assert_array_equal(under.effects(mirrored)["tau"], -over.effects(sim.table)["tau"])


def test_same_seed_same_bytes_whatever_n_jobs(tmp_path):
    sim = simulated(n=120)
    for n_jobs in (1, 2):
        tiny_fit(sim.table, sim.roles, n_jobs=n_jobs, random_state=7).save(tmp_path / str(n_jobs))
    for name in set(RUN_FILES) - {"config.toml"}:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes(), name


def test_another_seed_gives_another_fit():
    sim = simulated(n=120)
    first, second = (tiny_fit(sim.table, sim.roles, random_state=seed) for seed in (1, 2))
    assert first.alpha_ != second.alpha_


def test_truth_columns_change_nothing():
    sim = simulated(n=120)
    known = sim.truth["y_true"].where(np.arange(120) % 3 == 0)
    roles = replace(sim.roles, truth="known")
    rng = np.random.default_rng(0)
    fits = [
        tiny_fit(sim.table.assign(known=column), roles)
        for column in (known.to_numpy(), rng.permutation(known.to_numpy()))
    ]
    # What the gradual method would say is anchored by them, and stands beside.
    first, second = ([f for f in fit.findings_ if f.topic != "gradual"] for fit in fits)
    assert first == second
    fits.append(tiny_fit(sim.table, sim.roles))
    first = answers(fits[0], sim.table)
    for other in fits[1:]:
        for left, right in zip(first, answers(other, sim.table), strict=True):
            pd.testing.assert_frame_equal(_own(left), _own(right), check_exact=True)


def _own(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.drop(index="gradual", errors="ignore")


def test_save_and_load_give_identical_answers(tmp_path):
    model, table = quick_fit(), learned().table
    model.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.result_ == model.result_
    assert isinstance(again.result_.method_fit, PaperFit)
    assert again.check() == model.check()
    for left, right in zip(answers(model, table), answers(again, table), strict=True):
        pd.testing.assert_frame_equal(left, right, check_exact=True)
    again.save(tmp_path / "copy")
    for name in RUN_FILES:
        assert (tmp_path / "copy" / name).read_bytes() == (tmp_path / "run" / name).read_bytes(), name


def test_history_names_every_term_of_both_stages(tmp_path):
    model = quick_fit()
    model.save(tmp_path / "run")
    table = pd.read_csv(tmp_path / "run" / "history.csv")
    for stage in ("content", "bias"):
        for part in ("train", "validation"):
            for term in ("reconstruction", "kl", "loss"):
                assert f"{stage}.{part}_{term}" in set(table["curve"])
    curve = table[table["curve"] == "bias.train_loss"]["value"]
    assert curve.iloc[-1] < curve.iloc[0]


def test_units_of_the_outcome_only_rescale_the_answer():
    sim = simulated(n=200)
    scaled = sim.table.assign(**{sim.roles.outcome: 1000.0 * sim.table[sim.roles.outcome] + 5.0})
    plain, large = tiny_fit(sim.table, sim.roles), tiny_fit(scaled, sim.roles)
    assert large.alpha_ == pytest.approx(1000.0 * plain.alpha_, rel=1e-3)
    assert large.verdict_ == plain.verdict_


@pytest.mark.parametrize("cut", ["mixture", "median", "otsu"])
def test_every_cut_keeps_alpha_at_or_above_zero(cut):
    sim = simulated(n=120)
    model = tiny_fit(sim.table, sim.roles).set_params(paper=replace(TINY, cut=cut)).fit(sim.table)
    low, high = model.alpha_interval_
    assert model.alpha_ >= 0
    assert low <= model.alpha_ <= high
    out = answers(model, sim.table)
    # Nobody knows how far a report is from the truth where no bias was found.
    known = out[0] if model.verdict_ == "bias found" else out[0].drop(columns=["y_cal_low", "y_cal_high"])
    assert known.notna().all().all()
    assert out[1]["tau"].notna().all()


def test_weights_clusters_and_categories_go_through():
    sim = simulated(n=200)
    frame = sim.table.assign(
        w=np.tile([1.0, 3.0], 100), area=np.repeat(np.arange(20), 10), kind=["a", "b"] * 100
    )
    roles = replace(sim.roles, weights="w", cluster="area", environment=[*sim.roles.environment, "kind"])
    plain = replace(sim.roles, environment=[*sim.roles.environment, "kind"])
    weighted, unweighted = tiny_fit(frame, roles), tiny_fit(frame, plain)
    assert math.isfinite(weighted.alpha_se_)
    assert weighted.alpha_ != unweighted.alpha_


def test_one_row_more_than_a_batch_trains():
    # 64 + 1 training rows: a last batch of one row would break batch norm.
    sim = simulated(n=73)
    train, _ = hold_out(73, TINY.validation, seed=0)
    assert len(train) == 63
    for batch in (62, 31):
        model = (
            tiny_fit(sim.table, sim.roles).set_params(paper=replace(TINY, batch_size=batch)).fit(sim.table)
        )
        assert math.isfinite(model.alpha_)


def test_a_semi_synthetic_table_with_two_proxies_goes_through():
    sim = simulated(n=150)
    roles = replace(sim.roles, proxies=list(sim.roles.proxies)[:2])
    injected = inject_bias(sim.table, roles, alpha=3.0, random_state=0)
    model = tiny_fit(injected.table, injected.roles)
    assert model.summary().index.tolist() == ["exact", "moments", "match", "gradual"]


def test_varying_effects_are_refused_by_name():
    sim = simulated(n=120)
    with pytest.raises(UnavailableError, match="effect='linear' is not available with method='paper'"):
        tiny_fit(sim.table, sim.roles, effect="linear")


# --- parts --------------------------------------------------------------------------------------------


def test_every_setting_reaches_the_fit():
    sim = simulated(n=120)
    arrays = Encoder.fit(sim.table, sim.roles).transform(sim.table)

    def outcome(paper: PaperSettings) -> tuple[object, ...]:
        fit = fit_paper(arrays, Settings(direction="over", method="paper", sections={"paper": paper}))
        return fit.match.low, fit.match.se, fit.split.threshold, fit.evidence.stopped

    base = outcome(TINY)
    changes = {
        "d_z": 3, "k": 2, "cut": "median", "prior": "conditional", "encode_environment": True,
        "norm": "layer", "variance": "by row", "scale_outcome": False, "beta": 0.5, "score_beta": 0.5,
        "warmup": 0.5, "restarts": 5, "width": 5, "depth": 3, "epochs": 3, "batch_size": 32,
        "learning_rate": 1e-2, "variance_learning_rate": 0.1, "min_steps": 20, "adjust": False,
        "validation": 0.3,
    }  # fmt: skip
    # Where networks are trained must not change a fit; networks/test_device.py has the device. The quantile
    # is of its cut only; test_groups.py has both.
    assert set(changes) | {"device", "quantile"} == {item.name for item in fields(PaperSettings)}
    unchanged = [name for name, value in changes.items() if outcome(replace(TINY, **{name: value})) == base]
    assert unchanged == []


# --- what the method must show ------------------------------------------------------------------------


def one_run(alpha: float, seed: int) -> tuple[float, float, float]:
    """alpha_hat, accuracy of A, and how much of the error calibration leaves, with default settings."""
    sim = simulate(n=2500, d_z=5, alpha=alpha, random_state=seed)
    model = ProxyCalibrator(sim.roles, direction="over", method="paper", random_state=seed).fit(sim.table)
    out, y_true = model.calibrate(sim.table), sim.truth["y_true"]
    accuracy = float(np.mean((out["p_biased"] > 0.5) == (sim.truth["a"] == 1)))
    return model.alpha_, accuracy, rmse(out["y_cal"], y_true) / rmse(sim.table[sim.roles.outcome], y_true)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [5.0, 10.0])
def test_default_settings_over_five_seeds(alpha):
    runs = np.array([one_run(alpha, seed) for seed in range(5)])
    assert runs[:, 0].mean() == pytest.approx(alpha, rel=0.1)
    assert runs[:, 1].mean() > 0.95
    assert runs[:, 2].max() < 0.5
