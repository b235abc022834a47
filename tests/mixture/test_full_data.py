"""Tables too large to select on or to hold at once: the same answer from parts, pieces and all rows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import proxycal.mixture.compare as exact
import proxycal.mixture.designs as designs
from proxycal.mixture import maximise
from proxycal.mixture.designs import Data
from proxycal.mixture.full_data import fit_full_data
from proxycal.mixture.information import uphill
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.testing.worlds import draw_world


def data_of(world):
    columns = world.P.shape[1] + world.E.shape[1]
    return Data(
        world.y, world.P, world.E, np.ones(len(world.y)), np.zeros(columns, bool), cluster=world.cluster
    )


@pytest.fixture(scope="module")
def known():
    """1,200 rows with a bias of 4, every second of them, and the fits of both."""
    data = data_of(draw_world("gaussian", 1200, 4.0, seed=3))
    part = data.take(np.arange(0, 1200, 2))
    return SimpleNamespace(
        data=data, part=part, whole=exact.fit_exact(data), sample=exact.fit_exact(part, total=1200.0)
    )


@pytest.mark.parametrize("kind", ["gaussian", "clusters"])
def test_leaders_that_meet_on_a_part_end_at_the_maximum_of_all_rows(monkeypatch, known, kind):
    data = known.data if kind == "gaussian" else data_of(draw_world(kind, 1200, 4.0, seed=3))
    whole = known.whole if kind == "gaussian" else exact.fit_exact(data)
    monkeypatch.setattr(exact, "JUDGE_ROWS", 400)
    parted = exact.fit_exact(data, compare_rows=300)
    assert parted.n_compared == 300
    assert parted.converged
    assert parted.gain > 0
    assert parted.bias.shape == whole.bias.shape
    np.testing.assert_allclose(parted.shift, whole.shift, rtol=1e-6)
    np.testing.assert_allclose(parted.shift_cov, whole.shift_cov, rtol=1e-4)


@pytest.mark.parametrize("seed", [3, 6])
def test_a_weak_bias_that_trails_in_the_sample_gets_a_second_look(seed):
    data = data_of(draw_world("gaussian", 3000, 1.4, seed=seed))
    whole = exact.fit_exact(data, compare_rows=3000)
    found = exact.fit_exact(data, compare_rows=250)
    assert (found.n_compared, whole.n_compared) == (1000, 3000)
    assert found.gain == pytest.approx(whole.gain, abs=1e-4)
    assert found.gain > 30.0
    np.testing.assert_allclose(found.shift, whole.shift, rtol=1e-6)


def test_pieces_formed_anew_are_the_pieces_that_are_kept(monkeypatch):
    data = data_of(draw_world("exponential", 700, 3.0, seed=1))
    monkeypatch.setattr(designs, "CHUNK", 150)
    kept = exact.fit_exact(data, compare_rows=300)
    monkeypatch.setattr(designs, "KEEP_ROWS", 100)
    anew = exact.fit_exact(data, compare_rows=300)
    # A thousandth of a standard error is far more than rounding and far less than a row lost or doubled.
    se = np.sqrt(np.diag(kept.shift_cov))
    assert (np.abs(anew.shift - kept.shift) < 1e-3 * se).all()
    np.testing.assert_allclose(anew.shift_cov, kept.shift_cov, rtol=1e-5)
    assert anew.gain == pytest.approx(kept.gain, rel=1e-6)


def test_the_lead_of_a_bias_is_that_of_a_fit_in_memory(known):
    answer = fit_full_data(known.sample, lambda frame: frame.chunks(known.data), 1200.0, known.part)
    assert answer.gain == pytest.approx(known.whole.gain, rel=1e-4)


def test_a_model_without_a_bias_that_cannot_catch_up_is_foretold_and_changes_no_size(monkeypatch, known):
    for module in ("full_data", "settle"):
        near = replace(THRESHOLDS, exact_lead=THRESHOLDS.too_far_behind)
        monkeypatch.setattr(f"proxycal.mixture.{module}.THRESHOLDS", near)
    passes = []

    def chunks_of(frame):
        passes.append(frame)
        return frame.chunks(known.data)

    answer = fit_full_data(known.sample, chunks_of, 1200.0, known.part)
    assert answer.converged
    # The bias, itself without a gate, what is looked for in noise and the answer need all rows.
    assert len(passes) <= 4
    # Every second row foretells the lead of all of them, but for what their own draw brings.
    assert answer.gain == pytest.approx(known.whole.gain, rel=0.25)
    np.testing.assert_allclose(answer.shift, known.whole.shift, rtol=1e-6)


def test_all_rows_choose_between_models_that_a_sample_cannot_tell_apart():
    data = data_of(draw_world("t3", 2400, 2.0, seed=2))
    part = data.take(np.arange(0, 2400, 4))
    sample, whole = exact.fit_exact(part, total=2400.0), exact.fit_exact(data, compare_rows=2400)
    answer = fit_full_data(sample, lambda frame: frame.chunks(data), 2400.0, part)
    claims = [candidate for candidate in sample.undecided if candidate.claims_bias]
    assert len(claims) > 1
    assert answer.bias.shape == whole.bias.shape
    # The units of the ridge are those of the sample.
    assert abs(answer.shift[0] - whole.shift[0]) < 0.1 * np.sqrt(whole.shift_cov[0, 0])


def test_the_features_of_a_sample_are_made_and_judged_by_more_rows():
    data = data_of(draw_world("E curved in the mean", 1500, 3.0, seed=1))
    part, whole = data.take(np.arange(0, 1500, 5)), exact.fit_exact(data).bias.frame
    alone = exact.fit_exact(part, total=1500.0).bias.frame
    judged = exact.fit_exact(part, total=1500.0, judges=data).bias.frame
    assert judged.features == whole.features
    np.testing.assert_allclose(judged.content.rotate, whole.content.rotate, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose([judged.centre, judged.scale], [whole.centre, whole.scale])
    assert alone.scale != pytest.approx(judged.scale, rel=1e-6)


def test_a_bias_that_is_not_there_is_left_after_some_passes(monkeypatch):
    steps = []

    def counted(*given):
        for step in uphill(*given):
            if step.params.a is not None:
                steps.append(step)
            yield step

    def passes(sample, data, part, later):
        monkeypatch.setattr(maximise, "LATER", later)
        steps.clear()
        answer = fit_full_data(sample, lambda frame: frame.chunks(data), 2000.0, part)
        return answer, len(steps)

    monkeypatch.setattr(maximise, "uphill", counted)
    usual, few, many = maximise.LATER, 0, 0
    for seed in (7, 10, 12, 14):
        data = data_of(draw_world("gaussian", 2000, 0.0, seed=seed))
        part = data.take(np.arange(0, 2000, 5))
        sample = exact.fit_exact(part, total=2000.0)
        left, left_after = passes(sample, data, part, usual)
        whole, whole_after = passes(sample, data, part, 1e9)
        assert left.converged
        assert left.gain < -15.0
        assert whole.gain < -15.0
        np.testing.assert_allclose(left.null.params.beta, whole.null.params.beta, rtol=1e-6, atol=1e-9)
        few, many = few + left_after, many + whole_after
    assert few < many / 2
