"""Figures of the studies show the means of the summary beside the truth and the published figures."""

from __future__ import annotations

import numpy as np
import pandas as pd

from proxycal.studies.figures import COLOURS, save, semisynthetic_figure, synthetic_figure
from proxycal.studies.pages import paper_table
from proxycal.studies.studies import METHODS


def cells(**columns) -> pd.DataFrame:
    return pd.DataFrame({"metric": "alpha", "sd": 0.1, "folds": 10, **columns})


SYNTHETIC = cells(
    dataset="synthetic", n=[500, 500, 1000, 500], d_z=[1, 5, 1, 1], alpha=[5, 5, 5, 1], noise="gaussian",
    method="paper", mean=[4.0, 5.0, 4.9, 1.2],
)  # fmt: skip


def test_every_method_has_a_colour_of_its_own():
    assert set(COLOURS) == set(METHODS)
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_a_panel_per_alpha_with_means_over_data_sets_and_the_published_ones():
    one, five = synthetic_figure(SYNTHETIC).axes
    assert (one.get_title(), five.get_title()) == ("true alpha 1", "true alpha 5")
    lines = {line.get_label(): line for line in five.lines}
    assert lines["paper"].get_xdata().tolist() == [500, 1000]
    np.testing.assert_allclose(lines["paper"].get_ydata(), [4.5, 4.9])
    known = paper_table("table2_alpha")
    known = known[known["n"].isin([500, 1000]) & known["d_z"].isin([1, 5]) & (known["alpha"] == 5)]
    np.testing.assert_allclose(lines["published"].get_ydata(), known.groupby("n")["mean"].mean())


def test_methods_beside_each_other_with_their_spread():
    summary = cells(
        dataset=["JOBS", "JOBS", "OTHER"], alpha=1, d_z=5, method=["paper", "exact", "exact"],
        mean=[1.5, 1.1, 9.0],
    )  # fmt: skip
    (panel,) = semisynthetic_figure(summary, "JOBS").axes
    assert panel.get_title() == "JOBS, true alpha 1"
    assert [bar.lines[0].get_xdata()[0] for bar in panel.containers] == [1.5, 1.1]
    crosses = [line for line in panel.lines if line.get_marker() == "x"]
    assert len(crosses) == 1, "the paper has no figure for ours"


def test_the_same_figure_is_the_same_bytes(tmp_path):
    made = []
    for name in ("one", "two"):
        paths = save(synthetic_figure(SYNTHETIC), tmp_path, name)
        assert [path.name for path in paths] == [f"{name}.png", f"{name}.pdf"]
        made.append([path.read_bytes() for path in paths])
    assert made[0] == made[1]
