from dataclasses import replace

import numpy as np
import pytest

from proxycal.errors import StoreError, TrainingError
from proxycal.methods.paper.score import BiasVaeFit, fit_bias_vae
from proxycal.methods.paper.settings import PaperSettings

TINY = PaperSettings(width=8, epochs=3, batch_size=32, min_steps=0, restarts=2)


def _biased(n: int, alpha: float, seed: int = 0) -> tuple[np.ndarray, ...]:
    """y = 2 z_1 + alpha A + noise of sd 0.3 in units of 10, A driven by E."""
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(n, 2))
    z = np.column_stack([E[:, 0] + rng.normal(size=n), rng.normal(size=n)])
    A = E[:, 1] + rng.normal(size=n) > 0
    y = 100 + 10 * (2 * z[:, 0] + alpha * A + 0.3 * rng.normal(size=n))
    return y, z, E, A


def _fit(n: int, alpha: float, settings: PaperSettings, seed: int = 0) -> BiasVaeFit:
    y, z, E, _ = _biased(n, alpha)
    held = n // 10
    return fit_bias_vae(y, z, E, np.ones(n), [np.arange(held, n)], [np.arange(held)], settings, seed)[0]


WORKING = PaperSettings(width=64, min_steps=200, learning_rate=5e-3, variance_learning_rate=0.05)


@pytest.fixture(scope="module")
def strong() -> BiasVaeFit:
    return _fit(1200, 5.0, WORKING)


def test_the_score_of_new_rows_tells_who_is_biased(strong: BiasVaeFit) -> None:
    y, z, E, A = _biased(600, 5.0, seed=1)
    a_hat = strong.score(y, z, E)
    assert a_hat.dtype == np.float64
    low, high = sorted([a_hat[A].mean(), a_hat[~A].mean()])
    biased = (a_hat > (low + high) / 2) == (a_hat[A].mean() > a_hat[~A].mean())
    assert (biased == A).mean() > 0.97
    # Two humps with next to nothing between them, not one wide one.
    middle = np.abs(a_hat - (low + high) / 2) < 0.1 * (high - low)
    assert middle.mean() < 0.02


def test_the_decoder_shifts_the_outcome_by_the_bias(strong: BiasVaeFit) -> None:
    y, z, E, A = _biased(600, 5.0, seed=1)
    a_hat = strong.score(y, z, E)
    shift = strong.reconstruct(np.full(600, np.median(a_hat[A])), z) - strong.reconstruct(
        np.full(600, np.median(a_hat[~A])), z
    )
    assert np.mean(shift) == pytest.approx(50, rel=0.1)
    assert not strong.collapsed
    # alpha^2 / 4 of a variance of 8 + alpha^2 / 4 + 0.1
    assert strong.score_share == pytest.approx(6.25 / 14.34, abs=0.1)
    assert strong.kl > 0.3


def test_without_a_bias_the_collapse_is_seen() -> None:
    fit = _fit(600, 0.0, replace(WORKING, width=32, beta=4.0))
    assert fit.collapsed
    assert fit.kl < 0.01 or fit.score_share < 0.01


def test_a_score_that_the_decoder_ignores_is_a_collapse() -> None:
    fit = _fit(80, 5.0, TINY)
    living = replace(fit, kl=1.0, score_share=0.5)
    assert not living.collapsed
    assert replace(living, score_share=0.005).collapsed
    assert replace(living, kl=0.005).collapsed


def test_the_score_does_not_depend_on_the_units_of_the_outcome() -> None:
    y, z, E, _ = _biased(80, 5.0)
    rows, held = [np.arange(60)], [np.arange(60, 80)]
    euros = fit_bias_vae(y, z, E, np.ones(80), rows, held, TINY, 0)[0]
    cents = fit_bias_vae(100 * y + 7, 50 * z, E, np.ones(80), rows, held, TINY, 0)[0]
    a_hat = euros.score(y, z, E)
    np.testing.assert_allclose(cents.score(100 * y + 7, 50 * z, E), a_hat, atol=1e-6)
    np.testing.assert_allclose(
        cents.reconstruct(a_hat, 50 * z), 100 * euros.reconstruct(a_hat, z) + 7, rtol=1e-6
    )


def test_models_fitted_together_equal_models_fitted_one_by_one() -> None:
    y, z, E, _ = _biased(110, 5.0)
    train = [np.arange(60), np.arange(40, 101), np.arange(50, 108), np.arange(97)]
    validation = [np.arange(60, 70), np.arange(12), np.arange(9), np.arange(97, 110)]
    own_z = np.stack([z, z + 1, 2 * z, z])
    w = np.random.default_rng(1).uniform(0.5, 2, 110)
    settings = replace(TINY, epochs=8, width=16)
    together = fit_bias_vae(y, own_z, E, w, train, validation, settings, seed=3)
    for f, fit in enumerate(together):
        alone = fit_bias_vae(y, own_z[f], E, w, [train[f]], [validation[f]], settings, seed=3)[0]
        assert (fit.restart, fit.best_epoch) == (alone.restart, alone.best_epoch)
        np.testing.assert_allclose(fit.score(y, own_z[f], E), alone.score(y, own_z[f], E), atol=1e-6)
        np.testing.assert_allclose(
            fit.history["validation_loss"], alone.history["validation_loss"], atol=1e-6
        )
        assert fit.kl == pytest.approx(alone.kl, abs=1e-6)
        assert fit.score_share == pytest.approx(alone.score_share, abs=1e-6)


def test_company_of_the_same_size_changes_rounding_only() -> None:
    y, z, E, _ = _biased(150, 5.0)
    train = [np.arange(f, f + 101) for f in range(3)]
    validation = [np.arange(120, 150)] * 3
    settings = replace(TINY, epochs=10, width=16)
    together = fit_bias_vae(y, z, E, np.ones(150), train, validation, settings, seed=3)
    for f, fit in enumerate(together):
        alone = fit_bias_vae(y, z, E, np.ones(150), [train[f]], [validation[f]], settings, seed=3)[0]
        # One batch and a loop may add in another order; single precision has seven digits.
        assert (fit.restart, fit.best_epoch) == (alone.restart, alone.best_epoch)
        for name, value in alone.state.items():
            np.testing.assert_allclose(fit.state[name], value, atol=1e-5, err_msg=name)


def test_the_start_with_the_best_validation_loss_is_kept() -> None:
    single, four = _fit(80, 5.0, replace(TINY, restarts=1)), _fit(80, 5.0, replace(TINY, restarts=4))
    assert single.restart == 0
    assert four.restart > 0

    def kept_loss(fit: BiasVaeFit) -> float:
        return float(fit.history["validation_loss"][fit.best_epoch - 1])

    assert kept_loss(four) < kept_loss(single)


@pytest.mark.parametrize(
    "change",
    [
        {"score_beta": 2.0},
        {"prior": "conditional"},
        {"variance": "by row"},
        {"scale_outcome": False},
        {"norm": "layer"},
        {"warmup": 0.5},
        {"variance_learning_rate": 1e-3},
    ],
)
def test_every_setting_changes_the_loss(change: dict[str, object]) -> None:
    base = _fit(80, 5.0, TINY).history["train_loss"]
    changed = _fit(80, 5.0, replace(TINY, **change)).history["train_loss"]
    assert not np.allclose(changed, base, rtol=1e-6)


@pytest.mark.parametrize("column", ["y", "z", "E"])
def test_a_loss_that_is_not_finite_names_stage_and_column(column: str) -> None:
    y, z, E, _ = _biased(80, 5.0)
    name = {"y": "the outcome", "z": r"z\[1\]", "E": "age"}[column]
    # A value that is wrong on a validation row cannot spoil the standardisation by the training rows.
    {"y": y[:, None], "z": z, "E": E}[column][70, -1] = np.inf
    with pytest.raises(TrainingError, match=f"bias stage.*'{name}'"):
        fit_bias_vae(
            y, z, E, np.ones(80), [np.arange(60)], [np.arange(60, 80)], TINY, 0, names=("income", "age")
        )


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    first, again, other = (_fit(80, 5.0, TINY, seed=seed).tensors for seed in (4, 4, 5))
    assert {k: v.tobytes() for k, v in first.items()} == {k: v.tobytes() for k, v in again.items()}
    assert first["net/decoder.out.weight"].tobytes() != other["net/decoder.out.weight"].tobytes()


def test_a_fit_restored_from_its_tensors_is_the_same_fit() -> None:
    y, z, E, _ = _biased(80, 5.0)
    fit = _fit(80, 5.0, TINY)
    restored = BiasVaeFit.from_tensors(TINY, (2, 2), fit.tensors)
    np.testing.assert_array_equal(restored.score(y, z, E), fit.score(y, z, E))
    np.testing.assert_array_equal(restored.reconstruct(y, z), fit.reconstruct(y, z))
    assert (restored.kl, restored.score_share, restored.stopped) == (fit.kl, fit.score_share, fit.stopped)
    with pytest.raises(StoreError, match="decoder"):
        BiasVaeFit.from_tensors(TINY, (3, 2), fit.tensors)


@pytest.mark.parametrize("variance", ["by row", "fixed"])
def test_the_variance_may_be_stated_by_the_decoder_or_fixed(variance: str) -> None:
    fit = _fit(300, 5.0, replace(TINY, variance=variance))
    assert ("log_variance" in fit.state) == (variance == "fixed")
    if variance == "fixed":
        assert fit.state["log_variance"].item() == 0.0
    y, z, E, _ = _biased(50, 5.0, seed=1)
    again = BiasVaeFit.from_tensors(fit.settings, (2, 2), fit.tensors)
    np.testing.assert_allclose(again.score(y, z, E), fit.score(y, z, E), rtol=1e-6)
    assert fit.reconstruct(fit.score(y, z, E), z).shape == (50,)


def test_an_outcome_left_in_its_units_keeps_them() -> None:
    raw = _fit(300, 5.0, replace(TINY, scale_outcome=False))
    np.testing.assert_array_equal(raw.scale["y"], [0.0, 1.0])
    assert 0 <= raw.score_share < 1


def test_a_weak_kl_keeps_the_score_of_a_small_bias_alive() -> None:
    # A bias of half an sd of the outcome; with a weight of 1 the score is empty.
    y, z, E, A = _biased(900, 1.0)
    rows = np.arange(100, 900), np.arange(100)
    share = []
    for beta in (1.0, 0.1):
        fit = fit_bias_vae(y, z, E, np.ones(900), [rows[0]], [rows[1]], replace(WORKING, score_beta=beta), 0)[
            0
        ]
        a_hat = fit.score(y, z, E)
        share.append(max(np.mean((a_hat > np.median(a_hat)) == A), np.mean((a_hat < np.median(a_hat)) == A)))
    assert share[1] > 0.85
    assert share[1] > share[0]
