"""Whether a change of the code changed an answer: 40 seeded tables over all methods, before and after.

    python scripts/compare_answers.py record before.npz      with the code before the change
    python scripts/compare_answers.py compare before.npz     with the code after it

Alpha, its interval, the verdict and every column of `calibrate` must agree to 1e-9.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import proxycal as pc

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

TOLERANCE = 1e-9
SMALL = pc.PaperSettings(d_z=2, width=16, epochs=5, batch_size=64, min_steps=60)


def cases() -> Iterator[tuple[str, pd.DataFrame, pc.Roles, dict[str, Any]]]:
    """Name, table, roles and arguments of every fit."""
    for method in ("exact", "moments"):
        for seed, alpha in enumerate((0.0, 1.0, 5.0, 10.0)):
            for noise in ("gaussian", "poisson"):
                sim = pc.simulate(
                    n=600, d_z=2, d_e=4, n_proxies=3, alpha=alpha, noise=noise, random_state=seed
                )
                yield f"{method} {noise} {alpha:g}", sim.table, sim.roles, {"method": method}
    for alpha in (0.5, 1.0, 5.0):
        jobs = pc.datasets.load_jobs()
        sim = pc.inject_bias(jobs.table, jobs.roles, alpha=alpha, random_state=3)
        for method in ("exact", "moments", "paper"):
            yield f"{method} jobs {alpha:g}", sim.table, sim.roles, {"method": method, "paper": SMALL}
    yield from _shapes()
    for seed in range(3):
        sim = pc.simulate(n=400, d_z=2, d_e=3, n_proxies=3, alpha=5.0, random_state=20 + seed)
        yield f"paper {seed}", sim.table, sim.roles, {"method": "paper", "paper": SMALL}


def _shapes() -> Iterator[tuple[str, pd.DataFrame, pc.Roles, dict[str, Any]]]:
    """What a fit may be asked beside the plain case: weights, clusters, validated rows, effects, gaps."""
    sim = pc.simulate(n=900, d_z=2, d_e=3, n_proxies=4, alpha=2.0, random_state=7)
    rng = np.random.default_rng(7)
    extra = {
        "w": rng.uniform(0.5, 2.0, 900),
        "whole": rng.integers(1, 4, 900),
        "unit": rng.integers(0, 60, 900).astype(str),
        "region": rng.choice(["a", "b", "c"], 900),
    }
    table = sim.table.assign(**extra, checked=np.where(rng.random(900) < 0.1, sim.truth["y_true"], np.nan))
    plain = sim.roles
    yield "weights", table, replace(plain, weights="w"), {}
    yield "counts", table, replace(plain, counts="whole"), {}
    yield "cluster", table, replace(plain, cluster="unit"), {}
    yield "validated rows", table, replace(plain, truth="checked"), {}
    by_region = replace(plain, environment=(*plain.environment, "region"))
    yield "by region", table, by_region, {"effect": "by:region"}
    yield "linear effect", table, plain, {"effect": "linear"}
    yield "bootstrap", table, plain, {"interval": "bootstrap"}
    turned = table.assign(**{plain.outcome: -table[plain.outcome]})
    yield "under", turned, plain, {"direction": "under"}
    with_gaps = table.mask(rng.random(table.shape) < 0.02)
    for missing in ("drop", "impute"):
        kept = with_gaps.assign(**{plain.outcome: table[plain.outcome]})
        yield f"gaps {missing}", kept, plain, {"missing": missing}
    bent = table.assign(**{plain.outcome: table[plain.outcome] + np.square(table[plain.proxies[0]])})
    yield "curved", bent, plain, {}
    zeros = table.assign(**{plain.outcome: np.where(rng.random(900) < 0.3, 0.0, table[plain.outcome])})
    yield "zeros", zeros, plain, {}


def answers() -> dict[str, np.ndarray]:
    """Every answer of every case by name."""
    kept: dict[str, np.ndarray] = {}
    for name, table, roles, arguments in cases():
        model = pc.ProxyCalibrator(roles, **({"direction": "over"} | arguments)).fit(table)
        low, high = model.alpha_interval_
        kept[f"{name}: size"] = np.array([model.alpha_, model.alpha_se_, low, high, model.share_biased_])
        kept[f"{name}: verdict"] = np.array(model.verdict_)
        kept[f"{name}: summary"] = model.summary()[["alpha", "se", "low", "high"]].to_numpy(float)
        kept[f"{name}: calibrated"] = model.calibrate(table).to_numpy(float)
    return kept


def compare(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> list[str]:
    """One line per answer that changed."""
    changed = [f"{name}: not in both" for name in before.keys() ^ after.keys()]
    for name in before.keys() & after.keys():
        old, new = before[name], after[name]
        if old.dtype.kind == "U":
            same = str(old) == str(new)
        else:
            same = old.shape == new.shape and np.allclose(
                old, new, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True
            )
        if not same:
            changed.append(f"{name}: {old.ravel()[:5]} -> {new.ravel()[:5]}")
    return sorted(changed)


def main() -> int:
    """Record the answers, or compare them with recorded ones."""
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        print(__doc__)
        return 2
    warnings.simplefilter("ignore", pc.ProxycalWarning)
    found = answers()
    fits = sum(name.endswith("verdict") for name in found)
    if sys.argv[1] == "record":
        np.savez(sys.argv[2], **found)
        print(f"{fits} fits recorded in {sys.argv[2]}")
        return 0
    with np.load(sys.argv[2]) as stored:
        changed = compare(dict(stored), found)
    print(*changed, f"{fits} fits compared, {len(changed)} answers changed", sep="\n")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
