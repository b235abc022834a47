"""Stage 1 from a file of rows: the fit of memory where both draw alike, and as good where they do not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from proxycal.errors import TrainingError
from proxycal.methods.paper.content import fit_content, fit_content_file
from proxycal.methods.paper.networks.rows import write_rows
from proxycal.methods.paper.settings import PaperSettings

TINY = PaperSettings(d_z=2, width=8, epochs=3, batch_size=32, min_steps=0)


def _table(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """P, E, weights and the one content y behind the proxies."""
    rng = np.random.default_rng(0)
    E = rng.normal(size=(n, 2))
    y = E @ [0.6, -0.4] + rng.normal(size=n)
    P = y[:, None] * [1.0, 0.8, 1.2] + 0.3 * rng.normal(size=(n, 3))
    return (P - P.mean(0)) / P.std(0), E, rng.uniform(0.5, 2, n), y


def test_where_an_epoch_is_one_batch_it_is_the_fit_of_memory(tmp_path: Path) -> None:
    P, E, w, _ = _table(150)
    write_rows(tmp_path / "rows", [np.column_stack([P, E, w])])
    rows, settings = np.arange(150), replace(TINY, batch_size=200, epochs=6)
    memory = fit_content(P, E, w, [rows[30:]], [rows[:30]], settings, seed=3)[0]
    file = fit_content_file(tmp_path / "rows", (3, 2), rows[30:], rows[:30], settings, seed=3)
    # Another way to the same numbers; six steps in single precision have seven digits.
    for name, value in memory.tensors.items():
        np.testing.assert_allclose(file.tensors[name], value, atol=1e-5, err_msg=name)


def test_the_content_is_recovered_from_mini_batches(tmp_path: Path) -> None:
    P, E, w, y = _table(600)
    write_rows(tmp_path / "rows", [np.column_stack([P, E, w])])
    settings = PaperSettings(
        d_z=2, width=32, min_steps=150, learning_rate=5e-3, variance_learning_rate=0.05, batch_size=128
    )
    fit = fit_content_file(tmp_path / "rows", (3, 2), np.arange(60, 600), np.arange(60), settings, seed=0)
    assert fit.active_units == 1
    # The limit, E[y | P, E], explains 0.98 of y.
    assert np.corrcoef(y, fit.encode(P, E)[:, fit.active][:, 0])[0, 1] ** 2 > 0.9


def test_a_value_that_is_not_finite_is_named_by_its_column(tmp_path: Path) -> None:
    P, E, w, _ = _table(80)
    E[7, 1] = np.inf
    write_rows(tmp_path / "rows", [np.column_stack([P, E, w])])
    with pytest.raises(TrainingError, match=r"content stage.* epoch 1.*'age'"):
        fit_content_file(
            tmp_path / "rows", (3, 2), np.arange(60), np.arange(60, 80),
            replace(TINY, encode_environment=True), 0, names=("built", "water", "veg", "income", "age"),
        )  # fmt: skip
