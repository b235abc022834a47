import numpy as np
import pytest

from proxycal.table.columns import Column
from proxycal.table.family import recognised, yes_no
from proxycal.testing import KINDS, draw_world, wider_worlds

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("values", "family"),
    [
        (RNG.poisson(2.0, 400), "counts"),
        (RNG.negative_binomial(1, 0.1, 400), "counts"),
        (RNG.poisson(1.0, 400) * 10 + 0.5, "normal"),
        (RNG.poisson(60.0, 400), "normal"),
        (RNG.integers(1, 6, 400), "normal"),
        (RNG.integers(0, 11, 400), "normal"),
        (RNG.integers(0, 2, 400), "binary"),
        (RNG.integers(1, 3, 400), "normal"),
        (RNG.poisson(3.0, 400) - 1, "normal"),
        (1_000 * RNG.poisson(1.0, 400), "normal"),
        (np.round(RNG.normal(40.0, 12.0, 400)), "normal"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value.min():g} to {value.max():g}",
)
def test_small_whole_numbers_from_zero_are_counts_and_zero_one_is_yes_and_no(values, family):
    assert recognised(values.astype(float), "y").family == family


def test_tables_that_the_other_engines_are_for_stay_theirs():
    for kind in KINDS:
        assert recognised(draw_world(kind, n=600, alpha_sd=3.0, seed=1).y, "y").family == "normal", kind
    for world in wider_worlds():
        drawn = world.draw(0, 400)
        y = drawn.table[drawn.roles.outcome].to_numpy(dtype=float)
        assert recognised(y, "y").family == "normal", world.name


@pytest.mark.parametrize("words", [("no", "yes"), ("False", "True"), ("N", "Y"), ("0", "1")])
def test_words_for_yes_and_no_are_one_and_zero(words):
    column = Column("x", "text", np.array([False, False, True]), codes=np.array([0, 1, -1]), levels=words)
    np.testing.assert_array_equal(yes_no(column), [0.0, 1.0, np.nan])


def test_other_words_are_no_answer():
    column = Column("x", "text", np.zeros(2, bool), codes=np.array([0, 1]), levels=("maybe", "yes"))
    assert yes_no(column) is None
