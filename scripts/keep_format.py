"""Keep run folders of the present format for ever: tests/store/formats/NUMBER-METHOD, with table and answers.

    python scripts/keep_format.py

Run it once after FORMAT of `proxycal.store.folder` was raised, which every change of what a file of a run
folder means asks for. Folders of earlier formats stay as they are: tests/store/test_formats.py loads them or
sees them refused.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

import proxycal
from proxycal.store.folder import FORMAT

PLACE = Path(__file__).resolve().parents[1] / "tests" / "store" / "formats"
ROWS = 60
METHODS = ("moments", "validated")


def main() -> None:
    """Write a folder for each method that has none."""
    warnings.simplefilter("ignore")
    sim = proxycal.simulate(n=ROWS, d_z=1, d_e=1, n_proxies=2, alpha=6.0, random_state=5)
    table = sim.table.assign(
        kind=np.array(["a", "é", "c d"])[np.arange(ROWS) % 3],
        truth=np.where(np.arange(ROWS) % 2, sim.truth["y_true"], np.nan),
    )
    for method in METHODS:
        folder = PLACE / f"{FORMAT}-{method}"
        if folder.exists():
            continue
        folder.mkdir(parents=True)
        roles = proxycal.Roles(
            "y", ["p_1", "p_2"], ["e_1", "kind"], truth="truth" if method == "validated" else None
        )
        table.to_csv(folder / "table.csv", index=False)
        model = proxycal.ProxyCalibrator(roles, direction="over", method=method)
        model.fit(proxycal.read_table(folder / "table.csv")).save(folder / "run")
        model.calibrate(table).to_csv(folder / "answers.csv", index=False)


if __name__ == "__main__":
    main()
