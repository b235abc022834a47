"""Tables too large to race or to hold at once: the same answer from parts, pieces and all rows."""

import numpy as np
import pytest

import proxycal.mixture.compare as exact
import proxycal.mixture.designs as designs
import proxycal.mixture.maximise as polish
from proxycal.mixture.designs import Data
from proxycal.mixture.em import run
from proxycal.mixture.full_data import fit_everything
from proxycal.testing.worlds import draw_world


def data_of(world):
    columns = world.P.shape[1] + world.E.shape[1]
    return Data(
        world.y, world.P, world.E, np.ones(len(world.y)), np.zeros(columns, bool), cluster=world.cluster
    )


@pytest.mark.parametrize("kind", ["gaussian", "clusters"])
def test_leaders_that_meet_on_a_part_end_at_the_maximum_of_all_rows(monkeypatch, kind):
    data = data_of(draw_world(kind, 1200, 4.0, seed=3))
    whole = exact.fit_exact(data)
    monkeypatch.setattr(exact, "JUDGE_ROWS", 400)
    parted = exact.fit_exact(data, race_rows=300)
    assert parted.n_race == 300
    assert parted.converged
    assert parted.gain > 0
    assert parted.bias.shape == whole.bias.shape
    np.testing.assert_allclose(parted.shift, whole.shift, rtol=1e-6)
    np.testing.assert_allclose(parted.shift_cov, whole.shift_cov, rtol=1e-4)


@pytest.mark.parametrize("seed", [3, 6])
def test_a_weak_bias_that_trails_in_the_race_gets_a_second_look(monkeypatch, seed):
    data = data_of(draw_world("gaussian", 3000, 1.4, seed=seed))
    whole = exact.fit_exact(data, race_rows=3000)
    found = exact.fit_exact(data, race_rows=250)
    assert (found.n_race, whole.n_race) == (1000, 3000)
    assert found.gain == pytest.approx(whole.gain, abs=1e-4)
    assert found.gain > 30.0
    np.testing.assert_allclose(found.shift, whole.shift, rtol=1e-6)
    monkeypatch.setattr(exact, "SECOND_LOOK", 1)
    assert exact.fit_exact(data, race_rows=250).gain < 0.0


def test_pieces_formed_anew_are_the_pieces_that_are_kept(monkeypatch):
    data = data_of(draw_world("exponential", 700, 3.0, seed=1))
    monkeypatch.setattr(designs, "CHUNK", 150)
    kept = exact.fit_exact(data, race_rows=300)
    monkeypatch.setattr(designs, "KEEP_ROWS", 100)
    anew = exact.fit_exact(data, race_rows=300)
    # A thousandth of a standard error is far more than rounding and far less than a row lost or doubled.
    se = np.sqrt(np.diag(kept.shift_cov))
    assert (np.abs(anew.shift - kept.shift) < 1e-3 * se).all()
    np.testing.assert_allclose(anew.shift_cov, kept.shift_cov, rtol=1e-5)
    assert anew.gain == pytest.approx(kept.gain, rel=1e-6)


def test_a_slice_of_pieces_is_a_list_of_them():
    data = data_of(draw_world("gaussian", 400, 3.0, seed=1))
    frame = designs.candidate_frames(data, "constant")["linear"]
    chunks = frame.chunks(data)
    assert len(chunks[0:1]) == len(chunks) == 1
    assert chunks[0].X.shape[0] == 400


def test_only_a_model_within_reach_goes_on_to_the_maximum_of_all_rows():
    data = data_of(draw_world("gaussian", 1200, 4.0, seed=3))
    sample = exact.fit_exact(data.take(np.arange(0, 1200, 2)))
    whole = exact.fit_exact(data)
    far = fit_everything(sample, lambda frame: frame.chunks(data), 1200.0, seen=1e6)
    near = fit_everything(sample, lambda frame: frame.chunks(data), 1200.0, seen=1.0)
    assert far.null.params is sample.null.params
    assert far.converged
    assert near.null.params is not sample.null.params
    # Twice the sample is worth a BIC of about one for each of its parameters, of which there are 40.
    assert 0.0 < far.gain - near.gain < 120.0
    for one in (far, near):
        np.testing.assert_allclose(one.shift, whole.shift, rtol=1e-6)


def test_a_bias_that_is_not_there_is_left_after_some_passes(monkeypatch):
    data = data_of(draw_world("gaussian", 2000, 0.0, seed=5))
    sample = exact.fit_exact(data.take(np.arange(0, 2000, 5)))

    def passes(later):
        monkeypatch.setattr(polish, "LATER", later)
        steps = []
        monkeypatch.setattr(polish, "run", lambda *a, **k: steps.append(1) or run(*a, **k))
        answer = fit_everything(sample, lambda frame: frame.chunks(data), 2000.0, seen=400.0)
        return answer, len(steps)

    left, few = passes(polish.LATER)
    whole, many = passes(1e9)
    assert left.converged
    assert left.gain < -15.0
    assert whole.gain < -15.0
    assert few < many / 2
    np.testing.assert_allclose(left.null.params.beta, whole.null.params.beta, rtol=1e-6, atol=1e-9)
