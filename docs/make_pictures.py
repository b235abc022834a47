"""Draw the pictures of the README and of the pages from fresh fits: they show what the package does today.

Run it with `python docs/make_pictures.py`. The pictures of a page are drawn by the code that the page shows.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import proxycal as pc
from proxycal.report import style

ALPHA = 2.0
DOCS = Path(__file__).parent
IMAGES = DOCS / "img"
blocks = runpy.run_path(str(DOCS / "run_blocks.py"))["blocks"]


def main() -> None:
    """All of them."""
    show(before_and_after(), "result")
    gallery()
    tutorial()


def before_and_after() -> Figure:
    """Reported minus content, and what is reported and calibrated against the truth, side by side."""
    sim = pc.simulate(n=1500, alpha=ALPHA, random_state=0)
    model = pc.ProxyCalibrator(sim.roles, direction="over", random_state=0).fit(sim.table)
    y_true = sim.truth["y_true"].to_numpy()
    y_obs = sim.table[sim.roles.outcome].to_numpy()
    y_cal = model.calibrate(sim.table)["y_cal"].to_numpy()

    figure = Figure(figsize=(9.6, 3.4), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2)
    model.plot(ax=left)
    low, high = model.alpha_interval_
    left.set_title(
        f"true bias {ALPHA:.2f}, estimate {model.alpha_:.2f} ({low:.2f} to {high:.2f})", fontsize=10, pad=20
    )
    style.styled(right, height=0.0)
    for y, colour, name in ((y_obs, style.BIASED, "reported"), (y_cal, style.UNBIASED, "calibrated")):
        error = np.sqrt(np.mean((y - y_true) ** 2))
        right.scatter(
            y_true, y, s=7, color=colour, alpha=0.6, linewidths=0, label=f"{name}: error {error:.2f}"
        )
    right.axline((0.0, 0.0), slope=1.0, color=style.INK, linewidth=1.0, linestyle=":")
    right.set_title("before and after, against the truth", fontsize=10, pad=20)
    style.label(right, "y, true", "y")
    style.legend(right)
    return figure


def gallery() -> None:
    """The pictures of the gallery, each from the block below it."""
    names: dict[str, Any] = {}
    for block in blocks((DOCS / "gallery.md").read_text(encoding="utf-8")):
        exec(compile(block.code, "gallery.md", "exec"), names)
        if (drawn := re.search(r'model\.plot\((?:"(\w+)")?\)', block.code)) is not None:
            show(names["ax"].figure, f"gallery-{drawn[1] or 'residual'}")


def tutorial() -> None:
    """The main picture of the tutorial, from its first blocks up to the fit."""
    names: dict[str, Any] = {}
    for block in blocks((DOCS / "tutorial.md").read_text(encoding="utf-8")):
        exec(compile(block.code, "tutorial.md", "exec"), names)
        if "model" in names:
            break
    show(names["model"].plot().figure, "tutorial-residual")


def show(figure: Figure, name: str) -> None:
    """Write one picture."""
    target = IMAGES / f"{name}.png"
    figure.savefig(target, dpi=130, facecolor="white")
    print(f"{target}: {target.stat().st_size / 1024:.0f} KB")


if __name__ == "__main__":
    main()
