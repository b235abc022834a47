"""Derivatives by the predictors, from differences."""

import numpy as np


def differences(function, eta, step=1e-4):
    """Central differences by each predictor."""
    moves = step * np.eye(len(eta))[:, :, None]
    return np.stack([(function(eta + move) - function(eta - move)) / (2.0 * step) for move in moves])
