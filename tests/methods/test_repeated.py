"""A row with a count is that many rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from proxycal.methods.registry import METHODS
from proxycal.methods.repeated import in_chunks, repeated, stands_for_more
from proxycal.settings import Settings
from proxycal.table.encode import Encoder

ROLES = pc.Roles("y", ["p1", "p2", "p3"], ["e", "g"], weights="w", counts="times")


def table(n=400, seed=0, size=1.5):
    """A bias that grows with e and differs by group."""
    rng = np.random.default_rng(seed)
    e, g = rng.normal(size=n), rng.integers(0, 3, n)
    z = rng.normal(size=n)
    p = z[:, None] + 0.5 * rng.normal(size=(n, 3))
    y = 2.0 * z + size * (np.maximum(e, 0.0) + 0.5 * (g == 2)) + 0.5 * rng.normal(size=n)
    return pd.DataFrame(p, columns=["p1", "p2", "p3"]).assign(
        y=y,
        e=e,
        g=np.array(["a", "b", "c"])[g],
        w=rng.uniform(0.5, 2.0, n),
        times=rng.integers(1, 5, n),
    )


def both(frame):
    """The same rows with their counts, and one after the other."""
    written = frame.loc[frame.index.repeat(frame["times"])].assign(times=1)
    return (Encoder.fit_transform(part, ROLES)[1] for part in (frame, written))


def test_rows_are_written_out_as_often_as_they_stand_for():
    counted, written = both(table())
    made = repeated(counted)
    assert made.counts is None
    for name in ("y", "P", "E", "weights"):
        # The encoder adds up in another order.
        np.testing.assert_allclose(getattr(made, name), getattr(written, name), rtol=1e-9, atol=1e-12)
    assert stands_for_more(counted)
    assert not stands_for_more(written)


def test_chunks_are_all_rows_in_their_order(monkeypatch):
    counted, _ = both(table())
    monkeypatch.setattr("proxycal.methods.repeated.MOST", 100)
    parts = list(in_chunks(counted))
    assert len(parts) > 5
    assert max(part.n for part in parts) <= 100 + counted.counts.max()
    np.testing.assert_array_equal(np.concatenate([part.y for part in parts]), repeated(counted).y)


@pytest.mark.parametrize("most", [200_000, 100])
def test_the_gradual_method_counts_rows(monkeypatch, most):
    """Also where rows are written out some at a time; then knots are at the weighted quantiles."""
    for module in ("proxycal.methods.repeated", "proxycal.methods.gradual.fit"):
        monkeypatch.setattr(f"{module}.MOST", most)
    settings = Settings(direction="over", method="gradual")
    counted, written = (METHODS["gradual"].fit(arrays, settings) for arrays in both(table()))
    assert counted.verdict == written.verdict == "bias found"
    # Knots that lie elsewhere between two rows move the answer by a small part of its error.
    apart = 1e-6 if most > 1000 else 0.05
    assert abs(counted.estimate.alpha - written.estimate.alpha) < apart * written.estimate.se
    np.testing.assert_allclose(counted.estimate.se, written.estimate.se, rtol=apart)


def test_pieces_count_rows_too(monkeypatch):
    frame = table(400)
    monkeypatch.setattr("proxycal.scale.pieces.BATCH", 150)
    monkeypatch.setattr("proxycal.scale.fit.LARGE", 300)
    counted = pc.ProxyCalibrator(ROLES, "gradual", direction="over").fit(frame)
    written = pc.ProxyCalibrator(ROLES, "gradual", direction="over").fit(
        frame.loc[frame.index.repeat(frame["times"])].assign(times=1).reset_index(drop=True)
    )
    assert counted.verdict_ == written.verdict_ == "bias found"
    assert abs(counted.alpha_ - written.alpha_) < 0.05 * written.alpha_se_
    np.testing.assert_allclose(counted.alpha_se_, written.alpha_se_, rtol=0.05)


@pytest.mark.parametrize(("seed", "alpha"), [(7, 1.5), (8, 0.0)])
def test_the_exact_method_counts_rows(seed, alpha):
    """Tables whose verdict was another one while its checks took counts for weights."""
    sim = pc.simulate(n=200, d_z=2, d_e=3, n_proxies=3, alpha=alpha, random_state=seed)
    roles = replace(sim.roles, counts="times")
    counted = sim.table.assign(times=2)
    written = counted.loc[counted.index.repeat(2)].assign(times=1).reset_index(drop=True)
    first, second = (
        METHODS["exact"].fit(Encoder.fit_transform(part, roles)[1], Settings(direction="over"))
        for part in (counted, written)
    )
    assert first.verdict == second.verdict
    np.testing.assert_allclose(first.estimate.alpha, second.estimate.alpha, rtol=1e-5)
    assert first.evidence.n == second.evidence.n == 400
    if first.controls is not None:
        # Matches are shown as rows of the table that was given.
        assert first.controls.position.max() < 200


def test_the_validated_method_counts_rows():
    sim = pc.simulate(n=200, d_z=2, d_e=3, n_proxies=3, alpha=3.0, random_state=1)
    truth = sim.truth["y_true"].where(sim.table.index < 20)
    roles = replace(sim.roles, counts="times", truth="truth")
    counted = sim.table.assign(times=2, truth=truth)
    written = counted.loc[counted.index.repeat(2)].assign(times=1).reset_index(drop=True)
    first, second = (pc.ProxyCalibrator(roles, direction="over").fit(part) for part in (counted, written))
    assert first.result_.settings.method == second.result_.settings.method == "validated"
    np.testing.assert_allclose(first.alpha_, second.alpha_, rtol=1e-6)
    np.testing.assert_allclose(first.alpha_se_, second.alpha_se_, rtol=1e-6)
    # Trees and mixtures start from sums that are added in another order.
    y_cal = second.calibrate(written)["y_cal"].to_numpy()
    np.testing.assert_allclose(first.calibrate(counted)["y_cal"], y_cal[::2], atol=0.05)
