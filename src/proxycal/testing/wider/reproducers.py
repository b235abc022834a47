"""Seven worlds in which a method with one size and a gate on E alone is wrong with confidence.

All seven come from one stream of draws, so that seed 0 with 2,000 rows gives the published tables.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from proxycal.table.roles import Roles
from proxycal.testing.wider.recipe import residual_sd
from proxycal.testing.wider.record import DrawnWorld, WiderWorld

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FAMILY = "reproducers"
CLUSTER_ROWS = 10


def draw(which: int, seed: int, n: int) -> DrawnWorld:
    """Reproducer 1 to 7."""
    r = np.random.default_rng(seed)
    e = r.normal(size=(n, 2))
    z = 0.5 * e + 0.8 * r.normal(size=(n, 2))
    p = z @ [[1, 0.3, 0.8], [0.2, 1, -0.5]] + 0.7 * r.normal(size=(n, 3))
    t = z @ [1.5, 1.0] + r.normal(size=n)
    logit = -0.8 + 1.2 * e[:, 0] - 0.7 * e[:, 1]
    a = r.random(n) < expit(logit)
    sizes = r.gamma(11, 0.58, n)
    a_content = r.random(n) < expit(logit + z @ [0.8, 0.55])
    cluster = np.arange(n) // CLUSTER_ROWS
    intercepts = 1.5 * r.normal(size=cluster[-1] + 1)[cluster]
    skewed = (r.exponential(1, n) - 1) * np.exp(0.7 * e[:, 0])
    whole = np.round(50 + 4 * t)
    nobody = np.zeros(n, dtype=bool)
    y, y_true, who = {
        1: (t + a * sizes, t, a),
        2: (t + 3.8 * a_content, t, a_content),
        3: (t + intercepts + 3.8 * a, t + intercepts, a),
        4: (t + 2 * (e[:, 0] > 0.5), None, nobody),
        5: (t + 0.5 * e[:, 0] * (z @ [1.5, 1.0]), None, nobody),
        6: (t + skewed, None, nobody),
        7: (np.where(a, 10 * np.floor(whole / 10), whole), whole, a),
    }[which]
    y_true = y if y_true is None else y_true
    noise = y_true - intercepts if which == 3 else y_true
    frame = pd.DataFrame(np.column_stack([y, p, e]), columns=["y", "p_1", "p_2", "p_3", "e_1", "e_2"])
    roles = Roles("y", ["p_1", "p_2", "p_3"], ["e_1", "e_2"], cluster="cluster" if which == 3 else None)
    if which == 3:
        frame["cluster"] = cluster
    direction: Literal["over", "under"] = "under" if which == 7 else "over"
    return DrawnWorld(frame, roles, direction, y_true, who, y - y_true, residual_sd(noise, p, e))


def _world(
    which: int, about: str, size_sd: float = 0.0, share: float = 0.0, hard: bool = False
) -> WiderWorld:
    direction: Literal["over", "under"] = "under" if which == 7 else "over"
    return WiderWorld(f"y{which}", FAMILY, about, partial(draw, which), 2000, direction, size_sd, share, hard)


WORLDS = (
    _world(1, "sizes vary (gamma, cv 0.3), five sds", 5.0, 0.35),
    _world(2, "who is biased depends on content too", 3.0, 0.37),
    _world(3, "random intercepts of declared clusters, bias by row", 3.0, 0.35),
    _world(4, "no bias; a step of the environment moves everybody"),
    _world(5, "no bias; the slope of content varies with the environment"),
    _world(6, "no bias; skewed noise whose scale varies with the environment"),
    _world(7, "the biased round down to tens", 0.9, 0.35, hard=True),
)
