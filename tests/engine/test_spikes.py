import numpy as np

from proxycal.engine.spikes import held_by_many, pairs


def test_values_of_a_grid_are_no_spikes():
    rng = np.random.default_rng(0)
    assert held_by_many(np.round(rng.normal(size=500)), np.ones(500)) == ()
    assert held_by_many(rng.normal(size=500), np.ones(500)) == ()


def test_values_apart_by_floating_point_error_are_one():
    y = np.r_[np.full(20, 0.3), np.full(20, 0.1 + 0.2), np.linspace(1.0, 2.0, 60)]
    assert len(held_by_many(y, np.ones(100))) == 1


def test_a_spike_is_moved_upward_and_the_others_stay():
    first, *others = pairs((0.0, 1.0, 3.0))
    assert (first.low, first.high, first.others) == (0.0, 1.0, (3.0,))
    assert first.spikes == (0.0, 3.0)
    assert [moved.size for moved in others] == [3.0, 2.0]
