"""How close the estimate comes on simulated tables, over seeds: size, who is biased, error after calibration.

Run it with `python benchmarks/accuracy.py [--quick] [--method exact] [--n 2500]`.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter

import numpy as np

import proxycal as pc


def run(alpha: float, seed: int, n: int, method: str) -> dict[str, object]:
    """One simulated table, fitted and held against its truth."""
    sim = pc.simulate(n=n, d_z=5, alpha=alpha, random_state=seed)
    start = time.perf_counter()
    model = pc.ProxyCalibrator(sim.roles, method=method, random_state=seed).fit(sim.table)
    seconds = time.perf_counter() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pc.ProxycalWarning)
        answer = model.calibrate(sim.table)
    y_true = sim.truth["y_true"].to_numpy()
    before = np.sqrt(np.mean((sim.table[sim.roles.outcome].to_numpy() - y_true) ** 2))
    after = np.sqrt(np.mean((answer["y_cal"].to_numpy() - y_true) ** 2))
    return {
        "alpha": model.alpha_,
        "accuracy": float(np.mean((answer["p_biased"] > 0.5) == (sim.truth["a"] == 1))),
        "ratio": float(after / before),
        "verdict": model.verdict_,
        "covered": model.alpha_interval_[0] <= alpha <= model.alpha_interval_[1],
        "seconds": seconds,
    }


def main() -> None:
    """Print one line per size of the bias."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two seeds instead of five")
    parser.add_argument("--method", default="exact")
    parser.add_argument("--n", type=int, default=2500)
    args = parser.parse_args()
    seeds = range(2 if args.quick else 5)
    print(f"method {args.method}, n = {args.n}, d_z = 5, {len(seeds)} seeds")
    print("alpha  estimate (sd)      A right  error after/before  covered  seconds  verdicts")
    for alpha in (1.0, 5.0, 10.0):
        runs = [run(alpha, seed, args.n, args.method) for seed in seeds]
        found = np.array([one["alpha"] for one in runs], dtype=float)
        verdicts = ", ".join(f"{k} {v}" for k, v in Counter(str(one["verdict"]) for one in runs).items())
        means = {
            name: np.mean([one[name] for one in runs]) for name in ("accuracy", "ratio", "covered", "seconds")
        }
        print(
            f"{alpha:5g}  {found.mean():8.3f} ({found.std():.3f})  {means['accuracy']:9.1%}"
            f"  {means['ratio']:18.2f}  {means['covered']:7.0%}  {means['seconds']:7.1f}  {verdicts}"
        )


if __name__ == "__main__":
    main()
