"""Boosted trees by scikit-learn, kept as plain arrays: a run folder holds no pickles."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

TREES, RATE, LEAVES, LEAF_ROWS = 60, 0.08, 8, 10
# More rows than this teach these trees nothing new, and cost time.
MOST_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class Trees:
    """T trees of at most m nodes each: where value <= threshold go left, else right; a leaf points to itself.

    feature, left, right : (T, m) whole numbers. threshold, value : (T, m); rates are in the values.
    start : (1,) what all trees add to.
    """

    feature: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    threshold: Array
    value: Array
    start: Array

    def predict(self, x: Array) -> Array:
        """The sum of the trees for rows (n, p)."""
        # The trees were grown on single precision, and a threshold must cut new rows in the same way.
        x = x.astype(np.float32).astype(np.float64)
        tree = np.arange(len(self.feature))[None]
        rows = np.arange(len(x))[:, None]
        node = np.zeros((len(x), len(self.feature)), dtype=np.int64)
        for _ in range(LEAVES - 1):
            goes_left = x[rows, self.feature[tree, node]] <= self.threshold[tree, node]
            node = np.where(goes_left, self.left[tree, node], self.right[tree, node])
        return np.asarray(self.start[0] + self.value[tree, node].sum(axis=1))

    def state(self) -> dict[str, np.ndarray]:
        """The arrays by name."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @classmethod
    def from_state(cls, arrays: Mapping[str, np.ndarray]) -> Trees:
        """The reverse of `state`."""
        return cls(**{part.name: arrays[part.name] for part in fields(cls)})


def grow(x: Array, target: Array, seed: int) -> Trees:
    """Boosted trees of target (n,) on x (n, p)."""
    if len(x) > MOST_ROWS:
        chosen = np.random.default_rng(seed).choice(len(x), MOST_ROWS, replace=False)
        x, target = x[chosen], target[chosen]
    boosted = GradientBoostingRegressor(
        n_estimators=TREES,
        learning_rate=RATE,
        max_leaf_nodes=LEAVES,
        min_samples_leaf=LEAF_ROWS,
        random_state=seed,
    ).fit(x, target)
    grown = [tree.tree_ for tree in boosted.estimators_[:, 0]]
    size = max(tree.node_count for tree in grown)
    whole = np.zeros((3, len(grown), size), dtype=np.int64)
    real = np.zeros((2, len(grown), size))
    for t, tree in enumerate(grown):
        m, leaf = tree.node_count, tree.children_left < 0
        own = np.arange(m)
        whole[0, t, :m] = np.where(leaf, 0, tree.feature)
        whole[1, t, :m] = np.where(leaf, own, tree.children_left)
        whole[2, t, :m] = np.where(leaf, own, tree.children_right)
        real[0, t, :m] = tree.threshold
        real[1, t, :m] = RATE * tree.value[:, 0, 0]
    start = np.array([float(np.mean(target))])
    return Trees(whole[0], whole[1], whole[2], real[0], real[1], start)
