"""Sums over the cells of rows (state of the report, component of the content)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def summed(values: Array, axis: int) -> Array:
    """The sum over an axis; of one component, or state, itself."""
    if values.shape[axis] == 1:
        return values[0] if axis == 0 else values[:, 0]
    return np.asarray(np.add.reduce(values, axis=axis))


def after_zero(values: Array) -> Array:
    """The values after a zero: the first component, or state, is what the others are relative to."""
    out = np.zeros(len(values) + 1)
    out[1:] = values
    return out


def log_sum(values: Array) -> Array:
    """Log of the sum of exponentials over the first axis, kept as an axis."""
    top = values.max(axis=0, keepdims=True)
    return np.asarray(top + np.log(np.exp(values - top).sum(axis=0, keepdims=True)))


def normalised(joint: Array) -> tuple[Array, Array]:
    """Log likelihood (n,) and posterior (T,J,n) from the joint log density of cells, which is overwritten."""
    flat = joint.reshape(-1, joint.shape[-1])
    if len(flat) == 1:
        return flat[0].copy(), np.ones_like(joint)
    top = np.maximum.reduce(flat, axis=0)
    flat -= top
    np.exp(flat, out=flat)
    total = np.add.reduce(flat, axis=0)
    flat /= total
    np.log(total, out=total)
    total += top
    return total, flat.reshape(joint.shape)
