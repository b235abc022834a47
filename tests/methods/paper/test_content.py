from dataclasses import replace

import numpy as np
import pytest
import torch

from proxycal.errors import StoreError, TrainingError
from proxycal.methods.paper.content import ContentFit, fit_content
from proxycal.methods.paper.settings import PaperSettings

TINY = PaperSettings(d_z=2, width=8, epochs=3, batch_size=32, min_steps=0)
QUICK = PaperSettings(width=32, epochs=40, min_steps=150, learning_rate=5e-3, variance_learning_rate=0.05)
P_NAMES, E_NAMES = ("built", "water", "veg"), ("income", "age")


def _easy(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One content y, driven by E, seen by three proxies; standardised."""
    rng = np.random.default_rng(seed)
    E = rng.normal(size=(n, 2))
    y = E @ [0.6, -0.4] + rng.normal(size=n)
    P = y[:, None] * [1.0, 0.8, 1.2] + 0.3 * rng.normal(size=(n, 3))
    return (P - P.mean(0)) / P.std(0), E, y


def _fit(n: int, settings: PaperSettings, seed: int = 0) -> ContentFit:
    P, E, _ = _easy(n)
    held = n // 10
    return fit_content(P, E, np.ones(n), [np.arange(held, n)], [np.arange(held)], settings, seed)[0]


def _r2(y: np.ndarray, z: np.ndarray) -> float:
    X = np.column_stack([np.ones(len(z)), z])
    return float(1 - np.var(y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) / np.var(y))


@pytest.mark.parametrize("prior", ["conditional", "standard"])
def test_the_content_of_new_rows_is_recovered(prior: str) -> None:
    fit = _fit(600, replace(QUICK, d_z=2, prior=prior))  # type: ignore[arg-type]
    P, E, y = _easy(500, seed=1)
    z_hat = fit.encode(P, E)
    assert z_hat.shape == (500, 2)
    assert z_hat.dtype == np.float64
    # The limit, E[y | P, E], explains 0.98 of y.
    assert _r2(y, z_hat[:, fit.active]) > 0.9
    # One content needs one latent; the other says nothing.
    assert fit.active_units == 1


def test_learned_variances_are_the_noise_of_each_proxy() -> None:
    fit = _fit(1500, replace(QUICK, d_z=1))
    slopes, share = np.array([1.0, 0.8, 1.2]), 0.6**2 + 0.4**2 + 1
    noise = 0.3**2 / (slopes**2 * share + 0.3**2)
    np.testing.assert_allclose(np.exp(fit.state["log_variance"][:, 0]), noise, rtol=0.35)


def test_models_fitted_together_equal_models_fitted_one_by_one() -> None:
    P, E, _ = _easy(110)
    # 60, 61 and 58 rows share an axis and need padding; 97 rows take another number of steps.
    train = [np.arange(60), np.arange(40, 101), np.arange(50, 108), np.arange(97)]
    validation = [np.arange(60, 70), np.arange(12), np.arange(9), np.arange(97, 110)]
    w = np.random.default_rng(1).uniform(0.5, 2, 110)
    settings = replace(TINY, epochs=8, width=16)
    together = fit_content(P, E, w, train, validation, settings, seed=3)
    for f, fit in enumerate(together):
        alone = fit_content(P, E, w, [train[f]], [validation[f]], settings, seed=3)[0]
        assert alone.best_epoch == fit.best_epoch
        np.testing.assert_allclose(fit.encode(P, E), alone.encode(P, E), atol=1e-6)
        for name, values in alone.history.items():
            np.testing.assert_allclose(fit.history[name], values, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(fit.kl_per_latent, alone.kl_per_latent, atol=1e-6)


@pytest.mark.parametrize("d_z", [1, 3])
def test_company_of_the_same_size_changes_rounding_only(d_z: int) -> None:
    P, E, _ = _easy(150)
    # 101 rows in batches of 32: strides and lengths that no vector register divides.
    train = [np.arange(f, f + 101) for f in range(3)]
    validation = [np.arange(120, 150)] * 3
    settings = replace(TINY, d_z=d_z, epochs=10, width=16)
    together = fit_content(P, E, np.ones(150), train, validation, settings, seed=3)
    for f, fit in enumerate(together):
        alone = fit_content(P, E, np.ones(150), [train[f]], [validation[f]], settings, seed=3)[0]
        # A batch of three products and three products of one may add in another order: 40 steps in single
        # precision leave them some 1e-8 apart on some processors. Content has a spread of about one.
        assert alone.best_epoch == fit.best_epoch
        for name, value in alone.state.items():
            np.testing.assert_allclose(fit.state[name], value, atol=1e-5, err_msg=name)


def test_every_model_may_have_its_own_standardisation() -> None:
    P, E, _ = _easy(80)
    rows, held = [np.arange(60)] * 2, [np.arange(60, 80)] * 2
    own = fit_content(np.stack([P, 2 * P]), np.stack([E, E + 1]), np.ones(80), rows, held, TINY, seed=0)
    for f, (p, e) in enumerate([(P, E), (2 * P, E + 1)]):
        alone = fit_content(p, e, np.ones(80), rows[:1], held[:1], TINY, seed=0)[0]
        np.testing.assert_allclose(own[f].encode(p, e), alone.encode(p, e), atol=1e-6)


@pytest.mark.parametrize("norm", ["batch", "layer"])
@pytest.mark.parametrize("rows", [2, 31, 33, 65])
def test_a_last_batch_of_one_row_trains(rows: int, norm: str) -> None:
    P, E, _ = _easy(rows + 3)
    settings = replace(TINY, norm=norm)  # type: ignore[arg-type]
    fit = fit_content(P, E, np.ones(rows + 3), [np.arange(rows)], [np.arange(rows, rows + 3)], settings, 0)[0]
    assert np.isfinite(fit.encode(P, E)).all()


@pytest.mark.parametrize(
    "change",
    [
        {"beta": 2.0}, {"prior": "conditional"}, {"norm": "layer"}, {"encode_environment": True}, {"d_z": 3},
        {"width": 9}, {"depth": 3}, {"batch_size": 16}, {"learning_rate": 2e-3},
        {"variance_learning_rate": 1e-3}, {"min_steps": 10},
    ],
)  # fmt: skip
def test_every_setting_changes_the_loss(change: dict[str, object]) -> None:
    base = _fit(80, TINY).history["train_loss"]
    changed = _fit(80, replace(TINY, **change)).history["train_loss"]
    assert changed.shape != base.shape or not np.allclose(changed, base, rtol=1e-6)


def test_the_warmup_is_of_stage_2_only() -> None:
    first, other = (_fit(80, replace(TINY, warmup=warmup)) for warmup in (0.0, 0.9))
    assert {k: v.tobytes() for k, v in first.tensors.items()} == {
        k: v.tobytes() for k, v in other.tensors.items()
    }


def test_weights_move_the_fit_and_an_encoder_without_environment_ignores_it() -> None:
    P, E, _ = _easy(80)
    rows, held = [np.arange(60)], [np.arange(60, 80)]
    settings = replace(TINY, encode_environment=False)
    plain = fit_content(P, E, np.ones(80), rows, held, settings, 0)[0]
    weighted = fit_content(P, E, np.where(P[:, 0] > 0, 3.0, 0.2), rows, held, settings, 0)[0]
    assert not np.allclose(plain.encode(P, E), weighted.encode(P, E))
    np.testing.assert_array_equal(plain.encode(P, E), plain.encode(P, E + 5))


def test_without_environment_columns_the_prior_is_standard() -> None:
    P, _, _ = _easy(80)
    none = np.empty((80, 0))
    rows, held = [np.arange(60)], [np.arange(60, 80)]
    losses = [
        fit_content(P, none, np.ones(80), rows, held, replace(TINY, prior=prior), 0)[0].history["train_loss"]
        for prior in ("conditional", "standard")
    ]
    np.testing.assert_array_equal(*losses)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_a_loss_that_is_not_finite_names_stage_epoch_term_and_column(bad: float) -> None:
    P, E, _ = _easy(80)
    P[7, 1] = bad
    arguments = (P, E, np.ones(80), [np.arange(60)], [np.arange(60, 80)], TINY, 0)
    with pytest.raises(TrainingError, match=r"content stage.* epoch 1.*reconstruction term.*'water'"):
        fit_content(*arguments, names=P_NAMES + E_NAMES)
    with pytest.raises(TrainingError, match=r"'P\[1\]'"):
        fit_content(*arguments)


def test_a_bad_environment_value_on_a_validation_row_is_named_too() -> None:
    P, E, _ = _easy(80)
    E[70, 0] = np.nan
    seeing, rows = replace(TINY, encode_environment=True), ([np.arange(60)], [np.arange(60, 80)])
    with pytest.raises(TrainingError, match=r"validation rows.*'income'"):
        fit_content(P, E, np.ones(80), *rows, seeing, 0, names=P_NAMES + E_NAMES)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    first, again, other = _fit(80, TINY, seed=4), _fit(80, TINY, seed=4), _fit(80, TINY, seed=5)
    assert {k: v.tobytes() for k, v in first.tensors.items()} == {
        k: v.tobytes() for k, v in again.tensors.items()
    }
    assert not np.array_equal(first.state["decoder.out.weight"], other.state["decoder.out.weight"])


def test_a_fit_neither_reads_nor_moves_the_global_generator() -> None:
    state = torch.random.get_rng_state()
    first = _fit(80, TINY)
    assert torch.equal(state, torch.random.get_rng_state())
    torch.rand(3)
    np.testing.assert_array_equal(first.kl_per_latent, _fit(80, TINY).kl_per_latent)


def test_a_fit_restored_from_its_tensors_is_the_same_fit() -> None:
    P, E, _ = _easy(80)
    fit = _fit(80, TINY)
    restored = ContentFit.from_tensors(TINY, (3, 2), fit.tensors)
    np.testing.assert_array_equal(restored.encode(P, E), fit.encode(P, E))
    np.testing.assert_array_equal(restored.kl_per_latent, fit.kl_per_latent)
    np.testing.assert_array_equal(restored.history["train_kl"], fit.history["train_kl"])
    assert restored.stopped == fit.stopped
    with pytest.raises(StoreError, match="decoder"):
        ContentFit.from_tensors(TINY, (4, 2), fit.tensors)


def test_a_row_is_encoded_alike_alone_and_among_many() -> None:
    fit = _fit(80, TINY)
    P, E, _ = _easy(20_000, seed=2)
    among = fit.encode(P, E)
    assert among.shape == (20_000, 2)
    # Single precision holds seven digits.
    np.testing.assert_allclose(fit.encode(P[19_990:], E[19_990:]), among[19_990:], rtol=1e-5, atol=1e-6)


def test_progress_is_reported_every_epoch() -> None:
    P, E, _ = _easy(80)
    seen: list[tuple[str, int, int]] = []
    fit = fit_content(
        P, E, np.ones(80), [np.arange(60)], [np.arange(60, 80)], TINY, 0, report=lambda *at: seen.append(at)
    )[0]
    assert seen == [("content", 1, 3), ("content", 2, 3), ("content", 3, 3)]
    assert fit.stopped.startswith(f"all 3 epochs run; epoch {fit.best_epoch} kept")
