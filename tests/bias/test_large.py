"""Tables too large to race or to hold at once: the same answer from parts, pieces and all rows."""

import numpy as np
import pytest

import proxycal.bias.designs as designs
import proxycal.bias.exact as exact
from proxycal.bias.designs import Data
from proxycal.bias.everything import fit_everything
from proxycal.experiments.worlds import draw_world


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


def test_pieces_formed_anew_are_the_pieces_that_are_kept(monkeypatch):
    data = data_of(draw_world("exponential", 700, 3.0, seed=1))
    monkeypatch.setattr(designs, "CHUNK", 150)
    kept = exact.fit_exact(data, race_rows=300)
    monkeypatch.setattr(designs, "KEEP_ROWS", 100)
    anew = exact.fit_exact(data, race_rows=300)
    assert anew.shift.tobytes() == kept.shift.tobytes()
    assert anew.shift_cov.tobytes() == kept.shift_cov.tobytes()


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
