"""Draw the picture of the README from a fresh fit, so that it shows what the package does today.

python docs/make_pictures.py
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import proxycal as pc
from proxycal.report import plots


def main() -> None:
    """Reported minus content, and reported against calibrated, side by side."""
    sim = pc.simulate(n=1500, alpha=5.0, random_state=0)
    model = pc.ProxyCalibrator(sim.roles, method="paper", random_state=0).fit(sim.table)
    figure = Figure(figsize=(9.6, 3.5), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2)
    model.plot("residual", left)
    model.plot("calibrated", right)
    low, high = model.alpha_interval_
    left.set_title(f"true bias 5, estimate {model.alpha_:.2f} ({low:.2f} to {high:.2f})", fontsize=10, pad=20)
    right.set_title("what calibration does to each row", fontsize=10, pad=20)
    for ax in (left, right):
        ax.title.set_color(plots.INK)
    target = Path(__file__).parent / "img" / "result.png"
    target.parent.mkdir(exist_ok=True)
    figure.savefig(target, dpi=130, metadata={"Software": None})
    print(f"{target}: {target.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
