"""The paper's tables hold our figures beside its own, in its layout."""

from __future__ import annotations

import pandas as pd
import pytest

from proxycal.studies.tables import (
    closeness,
    semisynthetic_tables,
    summarise,
    synthetic_tables,
    to_frame,
    to_latex,
    to_markdown,
)


def rows(values, **settings):
    return [
        {**settings, "fold": fold, "metric": "alpha", "value": value, "error": ""}
        for fold, value in enumerate(values)
    ]


@pytest.fixture
def synthetic():
    common = {"dataset": "synthetic", "d_z": 1, "noise": "gaussian", "method": "paper"}
    made = [
        *rows([1.0, 2.0], n=500, alpha=1, **common),
        *rows([5.0, 5.0], n=500, alpha=5, **common),
        *rows([4.0, 5.0], n=1000, alpha=5, **common),
    ]
    lost = {
        "n": 1000,
        "alpha": 1,
        **common,
        "fold": -1,
        "metric": "error",
        "value": None,
        "error": "Oops: no",
    }
    return pd.DataFrame([*made, lost])


def test_mean_and_sd_are_over_folds(synthetic):
    made = summarise(synthetic)
    first = made.iloc[0]
    assert (first["mean"], first["folds"]) == (1.5, 2)
    assert first["sd"] == pytest.approx(0.5**0.5)
    assert len(made) == 3, "a failed cell has no figure"


def test_table_2_has_the_papers_rows_columns_and_figures(synthetic):
    grid = synthetic_tables(summarise(synthetic))[0]
    assert grid.name == "table2_alpha_paper"
    assert grid.columns[:3] == (("", "n"), ("", "d_z"), ("", "d_e"))
    assert grid.columns[3:] == (("alpha=1", "Gaussian"), ("alpha=5", "Gaussian"))
    assert grid.rows[0] == ("500", "1", "10", "1.50±0.71 (1.20±0.23)", "5.00±0.00 (4.16±0.65)")
    assert grid.rows[1] == ("1000", "1", "10", "-", "4.50±0.71 (4.34±0.34)")
    assert grid.rules == (1,), "a rule where n changes, as in the paper"


def test_closeness_is_the_relative_rmse_of_the_means(synthetic):
    grid = closeness(summarise(synthetic))
    assert grid.rows[0] == (
        "paper",
        "0.500",
        f"{(0.1**2 / 2) ** 0.5:.3f}",
        f"{((0.5**2 + 0.1**2) / 3) ** 0.5:.3f}",
    )
    assert grid.rows[1][0:2] == ("published", "0.200")


def test_table_3_names_the_methods_as_the_paper_does_and_ours_after_them():
    made = []
    for method, d_z in (("exact", 5), ("paper", 10), ("tedvae", 5), ("paper", 5)):
        made += rows([1.0, 1.2], dataset="JOBS", alpha=1, d_z=d_z, method=method)
    grid = semisynthetic_tables(summarise(pd.DataFrame(made)))[0]
    assert [row[0] for row in grid.rows] == [
        "Baseline (TEDVAE)", "Ours dim. (Z=5)", "Ours dim. (Z=10)", "exact",
    ]  # fmt: skip
    assert grid.rows[0][1] == "1.100±0.14 (0.505±0.32)"
    assert grid.rows[3][1] == "1.100±0.14", "the paper has no such row"


def test_the_three_forms_hold_the_same_cells(synthetic):
    grid = synthetic_tables(summarise(synthetic))[0]
    assert to_frame(grid).loc[0, "alpha=1 Gaussian"] == "1.50±0.71 (1.20±0.23)"
    assert "| 500 | 1 | 10 | 1.50±0.71 (1.20±0.23) |" in to_markdown(grid)
    latex = to_latex(grid)
    assert r"500 & 1 & 10 & 1.50$\pm$0.71 (1.20$\pm$0.23)" in latex
    assert r"\cmidrule(lr){4-4}\cmidrule(lr){5-5}" in latex
    assert latex.count(r"\midrule") == 2
