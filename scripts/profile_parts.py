"""What a row costs in matching and in the encoder, where a fit does not ask for all of them.

    python scripts/profile_parts.py matching 1000 10000 100000
    python scripts/profile_parts.py encoder 1000 100000 10000000

Matching: half of the rows are controls, in 5 and 20 dimensions. CPU time of one thread.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from threadpoolctl import threadpool_limits

from proxycal.effect.match import match_effect
from proxycal.methods.paper.content import fit_content
from proxycal.methods.paper.settings import PaperSettings

DIMENSIONS = (5, 20)
PROXIES, ENVIRONMENT = 5, 14
AT_ONCE = 1_000_000


def matching(n: int) -> str:
    """Microseconds a row, and the share of the nearest that were found, in each dimension."""
    cells = []
    for d in DIMENSIONS:
        rng = np.random.default_rng(0)
        z, biased = rng.normal(size=(n, d)), np.arange(n) % 2 == 1
        y = z[:, 0] + biased + 0.5 * rng.normal(size=n)
        start = time.process_time()
        fit = match_effect(y, z, biased)
        cells.append(f"{1e6 * (time.process_time() - start) / n:.0f} us, found {fit.recall:.3f}")
    return " | ".join(cells)


def encoder(n: int) -> str:
    """Microseconds a row of z_hat from the encoder of stage 1, some rows at a time."""
    rng, rows = np.random.default_rng(0), np.arange(2000)
    P, E = rng.normal(size=(2000, PROXIES)), rng.normal(size=(2000, ENVIRONMENT))
    config = PaperSettings(d_z=5, epochs=1, min_steps=0)
    fit = fit_content(P, E, np.ones(2000), [rows[:1800]], [rows[1800:]], config, seed=0)[0]
    seconds = 0.0
    for begin in range(0, n, AT_ONCE):
        m = min(AT_ONCE, n - begin)
        P, E = rng.normal(size=(m, PROXIES)), rng.normal(size=(m, ENVIRONMENT))
        start = time.process_time()
        fit.encode(P, E)
        seconds += time.process_time() - start
    return f"{1e6 * seconds / n:.1f} us"


if __name__ == "__main__":
    with threadpool_limits(1):
        for size in sys.argv[2:]:
            part = {"matching": matching, "encoder": encoder}[sys.argv[1]]
            print(f"| {int(size):,} | {part(int(size))} |", flush=True)
