"""The nearest of many points: exact where that is feasible, by an approximate index beyond.

    dimensions      up to 50,000 points        more points
    up to 6         exact (tree)               exact (tree): time per query hardly grows with the points
    7 and 8         exact (tree)               HNSW graph
    more than 8     exact (all distances)      HNSW graph

The choice depends on nothing else, so that the same rows are always searched in the same way. The graph
(Malkov and Yashunin 2018, as built by faiss) takes n log n steps to build and log n to ask; a pass over all
points takes n to ask, and a tree in many dimensions visits nearly all of them. Where faiss is not installed
the search is exact, whatever it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.spatial import KDTree

# Above this dimension a tree visits nearly all points and plain distances by matrix product are faster.
TREE_DIMENSIONS = 8
# Up to this dimension a tree is fast at any number of points: 0.16 ms a query at a million points of 6.
EXACT_DIMENSIONS = 6
# About where the graph, with its building, is as fast as all distances in 20 dimensions.
EXACT_POINTS = 50_000

# Distances that differ by no more than this share are tied, on every processor.
TIED = 1e-9

# Links of a point and width of the search that finds them. Of the nearest 6 among a million normal points in
# 20 dimensions, 0.965 are then found at width 64, 0.995 at width 128.
LINKS, BUILD_WIDTH = 32, 80
# The search starts this wide and is widened until the graph finds this share of the nearest of its points.
WIDTHS, ENOUGH = (64, 128, 256, 512), 0.97
PROBES, PROBED = 200, 6
# Neighbours asked for beyond those wanted: the graph ranks in single precision, the caller in double.
SPARE = 4


def is_approximate(n: int, d: int) -> bool:
    """Whether n points of d dimensions are searched by the approximate index.

    >>> is_approximate(50_000, 20), is_approximate(50_001, 20), is_approximate(1_000_000, 6)
    (False, True, False)
    """
    return d > EXACT_DIMENSIONS and n > EXACT_POINTS


def has_graph() -> bool:
    """Whether the library behind the approximate index is installed."""
    return find_spec("faiss") is not None


@dataclass(frozen=True)
class ExactSearch:
    """Every neighbour it returns is among the nearest of points (m, d)."""

    points: np.ndarray

    def nearest(self, queries: np.ndarray, count: int) -> np.ndarray:
        """Positions (n, count) of the points nearest to queries (n, d), in no order that means anything.

        Of points that are tied for the last place, those that come first in `points` are taken.
        """
        if self.points.shape[1] > TREE_DIMENSIONS:
            # Loaded here: it takes a second, and content seldom has so many dimensions.
            from sklearn.neighbors import NearestNeighbors

            every = NearestNeighbors(algorithm="brute").fit(self.points)
            return np.asarray(every.kneighbors(queries, count, return_distance=False))
        distance, found = map(np.asarray, self._tree.query(queries, np.arange(1, count + 2)))
        found = found[:, :count]
        tied = distance[:, count - 1] >= (1.0 - TIED) * distance[:, count]
        for row in np.flatnonzero(tied):
            found[row] = self._first(queries[row], count, float(distance[row, count - 1]))
        return found

    def _first(self, query: np.ndarray, count: int, reach: float) -> np.ndarray:
        """Points nearer to a query than `reach`, then the first of those at that distance, count in all."""
        near = np.sort(self._tree.query_ball_point(query, (1.0 + TIED) * reach))
        at_reach = np.linalg.norm(self.points[near] - query, axis=1) >= (1.0 - TIED) * reach
        return np.concatenate([near[~at_reach], near[at_reach]])[:count]

    @cached_property
    def _tree(self) -> KDTree:
        return KDTree(self.points)


@dataclass(frozen=True, slots=True)
class GraphSearch:
    """Nearly every neighbour it returns is among the nearest; the same points give the same graph."""

    graph: Any

    @classmethod
    def over(cls, points: np.ndarray) -> GraphSearch:
        """Build the graph of points (m, d), and widen the search until it finds enough."""
        import faiss

        graph = faiss.IndexHNSWFlat(points.shape[1], LINKS)
        graph.hnsw.efConstruction = BUILD_WIDTH
        threads = faiss.omp_get_max_threads()
        # Several threads would link the points in an order that changes from run to run.
        faiss.omp_set_num_threads(1)
        try:
            graph.add(_single(points))
        finally:
            faiss.omp_set_num_threads(threads)
        made = cls(graph)
        probes = points[np.linspace(0, len(points) - 1, min(PROBES, len(points))).astype(int)]
        count = min(PROBED, len(points))
        exact = ExactSearch(points).nearest(probes, count)
        for width in WIDTHS:
            graph.hnsw.efSearch = width
            if share_found(made.nearest(probes, count), exact) >= ENOUGH:
                break
        return made

    def nearest(self, queries: np.ndarray, count: int) -> np.ndarray:
        """Positions (n, count or a few more) of points near to queries (n, d); -1 where none was found."""
        wanted = min(count + SPARE, self.graph.ntotal)
        return np.asarray(self.graph.search(_single(queries), wanted)[1])


def share_found(found: np.ndarray, nearest: np.ndarray) -> float:
    """Recall: the share of the positions nearest (n, k), -1 for none, that are among found (n, j).

    >>> share_found(np.array([[3, 1, 9]]), np.array([[1, 2]]))
    0.5
    """
    there = nearest >= 0
    hit = (nearest[:, :, None] == found[:, None, :]).any(axis=2)
    return float(hit[there].mean()) if there.any() else 1.0


class Index:
    """Points (m, d), with the search among them made when it is first asked for and then kept."""

    def __init__(self, z: np.ndarray, mean: np.ndarray, transform: np.ndarray) -> None:
        self._made_of = (z, mean, transform)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are made of the points alone: whoever gets one builds the search where it is used."""
        return Index, self._made_of

    @cached_property
    def search(self) -> ExactSearch | GraphSearch:
        """The search that the number of points and their dimension ask for."""
        points = self._points()
        graph = is_approximate(*points.shape) and has_graph()
        return GraphSearch.over(points) if graph else ExactSearch(points)

    @property
    def exact(self) -> ExactSearch:
        """The exact search among the same points, to compare with."""
        return self.search if isinstance(self.search, ExactSearch) else ExactSearch(self._points())

    def _points(self) -> np.ndarray:
        z, mean, transform = self._made_of
        return np.asarray((z - mean) @ transform)


def _single(points: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(points, dtype=np.float32)
