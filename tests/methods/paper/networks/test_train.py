from dataclasses import replace

import numpy as np
import pytest
import torch

from proxycal.errors import TrainingError
from proxycal.methods.paper.content import ContentVae
from proxycal.methods.paper.networks.batches import as_positions, model_axis
from proxycal.methods.paper.networks.nets import draw_parameters
from proxycal.methods.paper.networks.train import (
    Trained,
    check_row_sets,
    generators_for,
    kl_weight,
    largest_column,
    n_epochs,
    one_thread,
    train_models,
)
from proxycal.methods.paper.settings import PaperSettings

SMALL = PaperSettings(d_z=1, width=8, epochs=5, batch_size=32, min_steps=0, warmup=0.0)


def _run(settings: PaperSettings, weights: np.ndarray | None = None) -> tuple[ContentVae, Trained]:
    rng = np.random.default_rng(0)
    E = rng.normal(size=(90, 2))
    P = E @ rng.normal(size=(2, 3)) + 0.3 * rng.normal(size=(90, 3))
    generators = generators_for([0])
    vae = ContentVae(settings, 1, 3, 2)
    draw_parameters(vae, generators)
    w = torch.as_tensor(np.ones(90) if weights is None else weights)
    data = {"P": model_axis(P, 1), "E": model_axis(E, 1)}
    rows = as_positions([np.arange(70)]), as_positions([np.arange(70, 90)])
    return vae, train_models(vae, data, w, *rows, settings, generators, "content", {})


def test_the_kept_epoch_is_the_best_validation_reconstruction() -> None:
    _, trained = _run(replace(SMALL, epochs=40, learning_rate=0.2))
    reconstruction = trained.history["validation_reconstruction"][0]
    assert trained.best_epoch[0] == 1 + np.argmin(reconstruction)
    assert 1 < trained.best_epoch[0] < 40


def test_the_kept_state_is_the_one_of_the_kept_epoch() -> None:
    long, trained = _run(replace(SMALL, epochs=40, learning_rate=0.2))
    short, _ = _run(replace(SMALL, epochs=int(trained.best_epoch[0]), learning_rate=0.2))
    for name, value in long.state_dict().items():
        assert torch.equal(value, short.state_dict()[name]), name


def test_epochs_of_the_warmup_are_never_kept() -> None:
    _, trained = _run(replace(SMALL, epochs=40, warmup=0.9, beta=5.0, learning_rate=0.1))
    reconstruction = trained.history["validation_reconstruction"][0]
    assert np.argmin(reconstruction) < 36
    assert trained.best_epoch[0] == 37 + np.argmin(reconstruction[36:])


def test_the_loss_is_the_sum_of_its_named_terms() -> None:
    history = _run(replace(SMALL, beta=3.0))[1].history
    assert sorted(history) == [
        f"{rows}_{term}" for rows in ("train", "validation") for term in ("kl", "loss", "reconstruction")
    ]
    for rows in ("train", "validation"):
        np.testing.assert_allclose(
            history[f"{rows}_loss"], history[f"{rows}_reconstruction"] + 3 * history[f"{rows}_kl"], rtol=1e-5
        )
        assert history[f"{rows}_loss"].shape == (1, 5)


def test_a_row_without_weight_does_not_count_in_the_loss() -> None:
    light = np.ones(90)
    light[70:80] = 0
    some, all_rows = _run(SMALL, light)[1], _run(SMALL)[1]
    np.testing.assert_array_equal(some.history["train_loss"], all_rows.history["train_loss"])
    assert not np.allclose(some.history["validation_loss"], all_rows.history["validation_loss"])


def test_kl_weight_rises_to_beta_and_stays() -> None:
    weights = [kl_weight(step, 10, 4.0, 0.4) for step in range(10)]
    assert weights == [0.0, 1.0, 2.0, 3.0] + [4.0] * 6
    assert kl_weight(0, 10, 4.0, 0.0) == 4.0


def test_few_rows_still_get_the_floor_of_steps() -> None:
    assert n_epochs(400, PaperSettings(epochs=50, min_steps=300)) == 300
    assert n_epochs(5000, PaperSettings(epochs=50, min_steps=300)) == 50
    assert n_epochs(400, PaperSettings(epochs=50, min_steps=0)) == 50


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1e30])
def test_the_largest_column_is_found_and_nan_counts_as_infinite(bad: float) -> None:
    data = {"P": torch.zeros(1, 2, 5), "E": torch.ones(1, 3, 5)}
    data["E"][0, 1, 4] = bad
    name, value = largest_column(data, {"E": ("income", "age", "size")})
    assert name == "age"
    assert value >= 1e29
    assert largest_column(data, {})[0] == "E[1]"


def test_models_without_rows_are_refused() -> None:
    with pytest.raises(TrainingError, match="model 1"):
        check_row_sets([np.arange(5), np.arange(1)], [np.arange(2), np.arange(2)], "content")
    with pytest.raises(TrainingError, match="one of each"):
        check_row_sets([np.arange(5)], [], "content")


def test_the_number_of_threads_is_restored_even_after_an_error() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            inside = torch.get_num_threads()
        with pytest.raises(ValueError, match="Positions"), one_thread():
            raise ValueError("Positions")
        assert inside == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
