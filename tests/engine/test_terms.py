import numpy as np
import pytest

from proxycal.engine.covariates import Covariates
from proxycal.engine.terms import Curve, Levels, Numbers, Wanted, curves, environment_terms, spread_of


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return Covariates(
        P=rng.normal(size=(200, 2)),
        E=rng.normal(size=(200, 3)),
        m=rng.normal(size=(200, 1)),
        levels={"region": rng.integers(0, 4, 200)},
        level_counts={"region": 4},
        environment_names=("age", "income", "staff"),
    )


def test_a_curve_is_what_a_straight_line_leaves(rows):
    term = curves("E", rows)[0]
    X = term.columns(rows)
    line = np.column_stack([np.ones(rows.n), rows.E[:, 0]])
    np.testing.assert_allclose(line.T @ (X * term.scale + term.centre), 0.0, atol=1e-8)
    assert term.about == "curve of age"
    # A cubic spline of nine columns follows a parabola.
    square = rows.E[:, 0] ** 2
    both = np.column_stack([line, X])
    left = square - both @ np.linalg.lstsq(both, square, rcond=None)[0]
    assert left.std() < 0.02 * square.std()


def test_new_rows_get_the_columns_of_the_learned_term(rows):
    terms = environment_terms(rows, Wanted(by_content=True))
    some = np.array([3, 50, 199])
    for term in terms:
        np.testing.assert_allclose(term.columns(rows.take(some)), term.columns(rows)[some], atol=1e-12)


def test_a_curve_goes_on_as_its_line_beyond_what_it_learned(rows):
    curve = Curve.learn("E", 0, rows.E[:, 0])
    far = Covariates(
        P=np.zeros((3, 2)), E=np.array([[8.0, 0, 0], [9.0, 0, 0], [10.0, 0, 0]]), m=np.zeros((3, 1))
    )
    np.testing.assert_allclose(np.diff(curve.columns(far), n=2, axis=0), 0.0, atol=1e-9)


def test_few_values_have_no_curve(rows):
    assert Curve.learn("E", 0, np.array([0.0, 1.0, 2.0, 1.0])) is None


def test_levels_share_one_variance(rows):
    term = spread_of("levels of region", Levels("region", 4), rows)
    X = term.columns(rows)
    assert X.var(axis=0).sum() == pytest.approx(1.0)
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)


def test_a_constant_column_makes_no_term(rows):
    flat = Covariates(P=rows.P, E=np.ones((200, 1)), m=rows.m)
    assert spread_of("flat", Numbers("E", (0,)), flat) is None


def test_products_take_every_pair(rows):
    products = environment_terms(rows, Wanted(lines=False, curves=False, levels=False))
    # Three pairs of lines, three of steps, three steps alone, and four levels with each line and step.
    assert [term.width for term in products] == [3 + 3 + 3 + 12 + 12]
