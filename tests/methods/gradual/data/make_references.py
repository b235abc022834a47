"""Writes iv_data.csv and references.json: what linearmodels 7.1 and PySensemakr 0.0.8 say about them.

Run in an environment of its own (pip install linearmodels PySensemakr); the package does not depend on them.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent


def rows() -> pd.DataFrame:
    """Two contents, five proxies, three environment columns, weights and clusters; errors depend on both."""
    rng = np.random.default_rng(7)
    n = 300
    cluster = rng.integers(0, 40, size=n)
    e = rng.normal(size=(n, 3)) + 0.5 * rng.normal(size=(40, 3))[cluster]
    z = np.column_stack([0.6 * e[:, 0] - 0.4 * e[:, 1], 0.5 * e[:, 1] + 0.5 * e[:, 2]]) + rng.normal(
        size=(n, 2)
    )
    p = z @ rng.normal(size=(2, 5)) + 0.6 * rng.normal(size=(n, 5))
    noise = (rng.normal(size=n) + 0.7 * rng.normal(size=40)[cluster]) * np.exp(0.3 * e[:, 0])
    y = z @ [1.5, -1.0] + e @ [0.8, 0.0, -0.4] + noise
    table = pd.DataFrame(
        np.column_stack([y, p, e]), columns=["y", *(f"p{k}" for k in range(5)), "e0", "e1", "e2"]
    )
    return table.assign(weight=rng.uniform(0.5, 2.0, size=n), cluster=cluster).round(6)


def main() -> None:
    """Fit the same equation by linearmodels, four ways."""
    # Imported here: the tests' collector reads this file where neither is installed.
    import sensemakr
    from linearmodels.iv import IV2SLS, IVGMM

    table = rows()
    table.to_csv(HERE / "iv_data.csv", index=False)
    exog = table[["e0", "e1", "e2"]].assign(const=1.0)
    model = {
        "dependent": table["y"],
        "exog": exog,
        "endog": table[["p0", "p1"]],
        "instruments": table[["p2", "p3", "p4"]],
    }
    plain, weighted = IV2SLS(**model), IV2SLS(**model, weights=table["weight"])
    gmm = IVGMM(**model, center=True).fit(iter_limit=2, debiased=False)
    fits = {
        "robust": plain.fit(cov_type="robust", debiased=True),
        "clustered": plain.fit(cov_type="clustered", clusters=table["cluster"], debiased=True),
        "weighted": weighted.fit(cov_type="robust", debiased=True),
    }
    names = ["e0", "e1", "e2"]
    out = {
        kind: {"bias": list(fit.params[names]), "se": list(fit.std_errors[names])}
        for kind, fit in fits.items()
    }
    out["j"] = {"statistic": float(gmm.j_stat.stat), "p": float(gmm.j_stat.pval)}
    # A t statistic of 10 on 100 degrees of freedom has a partial R2 of one half.
    shares = np.array([0.02, 0.1, 0.5, 0.9])
    t = pd.Series(np.sqrt(100 * shares / (1 - shares)))
    values = np.asarray(sensemakr.robustness_value(t_statistic=t, dof=100, q=1, alpha=1.0), dtype=float)
    out["robustness"] = {"r2": list(shares), "value": list(values)}
    (HERE / "references.json").write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
