"""The search for the nearest points: which one is used, how much it finds, and that it repeats itself."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from proxycal.effect import match as matching
from proxycal.effect import nearest as module
from proxycal.effect.match import match_effect, match_new
from proxycal.effect.nearest import ExactSearch, GraphSearch, Index, is_approximate, share_found


def _points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def _index(points):
    d = points.shape[1]
    return Index(points, np.zeros(d), np.eye(d))


def _world(n=3000, d=20, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    biased = rng.random(n) < 1 / (1 + np.exp(-z[:, 0] / 5))
    return z[:, 0] - z[:, -1] + 2.0 * biased + 0.5 * rng.normal(size=n), z, biased


@pytest.fixture
def graph_beyond_1000(monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(module, "EXACT_POINTS", 1000)


@pytest.mark.parametrize(
    ("n", "d", "approximate"),
    [(50_000, 20, False), (50_001, 20, True), (50_001, 7, True), (10_000_000, 6, False), (1000, 50, False)],
)
def test_the_switch_depends_on_points_and_dimensions_alone(n, d, approximate):
    assert is_approximate(n, d) is approximate


def test_the_graph_finds_nearly_all_of_the_nearest_in_20_dimensions():
    pytest.importorskip("faiss")
    points, queries = _points(10_000, 20), _points(150, 20, seed=1)
    search = GraphSearch.over(points)
    squared = ((queries[:, None, :] - points[None, :, :]) ** 2 @ np.ones(20)).argsort(axis=1)[:, :6]
    recall = share_found(search.nearest(queries, 6), squared)
    assert 0.95 <= recall <= 1.0
    np.testing.assert_array_equal(ExactSearch(points).nearest(queries, 6), squared)


def test_a_search_that_is_too_narrow_is_widened(monkeypatch):
    pytest.importorskip("faiss")
    points = _points(4000, 20)
    monkeypatch.setattr(module, "LINKS", 4)
    monkeypatch.setattr(module, "BUILD_WIDTH", 8)
    assert GraphSearch.over(points).graph.hnsw.efSearch > module.WIDTHS[0]


def test_the_same_points_give_the_same_answers_whatever_the_threads():
    faiss = pytest.importorskip("faiss")
    points, queries = _points(3000, 12), _points(500, 12, seed=1)
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(4)
    try:
        one, two = (GraphSearch.over(points).nearest(queries, 6) for _ in range(2))
        assert faiss.omp_get_max_threads() == 4, "the user's setting is given back"
    finally:
        faiss.omp_set_num_threads(before)
    np.testing.assert_array_equal(one, two)


def test_recall_is_the_share_of_the_nearest():
    assert share_found(np.array([[0, 1], [5, 6]]), np.array([[1, 2], [6, -1]])) == pytest.approx(2 / 3)
    assert share_found(np.array([[-1]]), np.array([[-1]])) == 1.0


def test_an_effect_by_the_graph_is_nearly_the_exact_one(graph_beyond_1000, monkeypatch):
    y, z, biased = _world()
    fast = match_effect(y, z, biased)
    assert isinstance(fast.controls.index.search, GraphSearch)
    assert 0.95 <= fast.recall <= 1.0
    assert f"approximate index that finds {fast.recall:.1%}" in fast.note
    monkeypatch.setattr(module, "EXACT_POINTS", 10**9)
    exact = match_effect(y, z, biased)
    assert (exact.recall, exact.note) == (1.0, "")
    assert fast.alpha == pytest.approx(exact.alpha, abs=0.1 * exact.se)
    assert fast.se == pytest.approx(exact.se, rel=0.02)
    same = np.mean([len(set(a) & set(b)) for a, b in zip(fast.neighbours, exact.neighbours, strict=True)]) / 5
    assert same == pytest.approx(fast.recall, abs=0.01), "what the sample says holds for all rows"


def test_recall_is_measured_and_not_assumed(graph_beyond_1000, monkeypatch):
    """A graph that returns strangers is found out."""
    y, z, biased = _world(n=2500)
    monkeypatch.setattr(
        GraphSearch, "nearest", lambda self, queries, count: np.tile(np.arange(count), (len(queries), 1))
    )
    assert match_effect(y, z, biased).recall < 0.1


def test_same_rows_same_bytes_and_new_rows_agree(graph_beyond_1000):
    y, z, biased = _world(n=2500, d=10)
    one, two = (match_effect(y, z, biased) for _ in range(2))
    again = match_new(one.controls, y, z, biased)
    # A run that was stored is read back as new controls, which build their own graph.
    stored = match_new(replace(one.controls, index=None), y, z, biased)
    for name in ("tau", "n_matched", "neighbours", "distances"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    # New rows are matched by other code than fitted ones: the same matches, numbers to rounding.
    for other in (again, stored):
        np.testing.assert_array_equal(one.neighbours, other.neighbours)
        for name in ("tau", "n_matched", "distances"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-12)


def test_pieces_change_nothing(graph_beyond_1000, monkeypatch):
    y, z, biased = _world(n=2500, d=10)
    whole = match_effect(y, z, biased)
    monkeypatch.setattr(matching, "CHUNK", 300)
    np.testing.assert_array_equal(whole.neighbours, match_effect(y, z, biased).neighbours)


def test_without_the_library_the_search_is_exact_and_says_what_would_help(graph_beyond_1000, monkeypatch):
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    y, z, biased = _world(n=2500)
    fit = match_effect(y, z, biased)
    assert isinstance(fit.controls.index.search, ExactSearch)
    assert fit.recall == 1.0
    assert "proxycal[scale]" in fit.note


def test_a_search_is_made_once_and_not_sent_along():
    index = _index(_points(100, 3))
    assert index.search is index.search
    copy = pickle.loads(pickle.dumps(index))
    assert "search" not in vars(copy)
    queries = _points(20, 3, seed=1)
    np.testing.assert_array_equal(copy.search.nearest(queries, 4), index.search.nearest(queries, 4))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_the_exact_search_finds_the_nearest_and_of_ties_the_first(tied, d):
    """By brute force, with whole numbers so that ties are exact; without them scikit-learn finds the same."""
    z = np.round(2.0 * _points(300, d)) if tied else _points(300, d)
    count = 6
    found = np.sort(ExactSearch(z).nearest(z, count), axis=1)
    squared = ((z[:, None, :] - z[None, :, :]) ** 2).sum(axis=2)
    by_hand = np.sort(np.argsort(squared, axis=1, kind="stable")[:, :count], axis=1)
    np.testing.assert_array_equal(found, by_hand)
    assert sorted(ExactSearch(z).nearest(z[:1], len(z))[0]) == list(range(len(z)))
    if not tied:
        theirs = NearestNeighbors(algorithm="kd_tree").fit(z).kneighbors(z, count, return_distance=False)
        np.testing.assert_array_equal(found, np.sort(theirs, axis=1))
