"""Samples against all rows: what agrees, what does not, and how it is counted."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import sampled
from benchmarks.sampled import PATHS, bench, compared, page, run_block


def trial(other, distance=0.0, error=np.nan, verdict="bias found"):
    """A table of which every way says the same but the pieces, `distance` standard errors away."""
    row = {"world": "t3", "n": 2500, "sample": 900, "alpha": 3.0, "seed": 1, "error": error}
    for path in PATHS:
        moved = path == "pieces"
        row |= {
            f"{path}: verdict": other if moved else verdict,
            f"{path}: alpha": 2.0 + 0.25 * distance * moved,
            f"{path}: se": 0.25,
            f"{path}: gain": 10.0,
            f"{path}: model": "J=1",
            f"{path}: seconds": 1.0,
        }
    return row


def test_there_are_a_hundred_tables_with_seeds_of_their_own():
    cells = bench().cells
    seeds = [seed for cell in cells for seed in cell.settings["seeds"]]
    assert len(seeds) == len(set(seeds)) == 100
    assert min(seeds) == sampled.FIRST_SEED


@pytest.mark.parametrize(
    ("row", "agrees"),
    [
        (trial("bias found", 0.09), True),
        (trial("bias found", -0.11), False),
        (trial("not identified"), False),
        (trial("no bias found", 5.0, verdict="no bias found"), True),
        (trial("bias found", error="ValueError: no"), False),
    ],
)
def test_a_table_agrees_in_its_verdict_and_where_a_bias_is_found_in_alpha(row, agrees):
    made = compared(pd.DataFrame([row])).set_index("path")
    assert made.loc["pieces", "agree"] == agrees


def test_the_page_counts_and_names_who_does_not_agree():
    frame = pd.DataFrame([trial("bias found")] * 98 + [trial("not identified")] * 2)
    made = page(frame)
    lines = {(row["fitted"], row["rows"]): row for row in made.parts[0].rows}
    pieces, all_rows = (lines[what, "all"] for what in sampled.COMPARED.values())
    assert (pieces["agree"], pieces["reached"]) == ("98 of 100", "**no**")
    assert (all_rows["agree"], all_rows["reached"]) == ("100 of 100", "yes")
    assert [row["verdicts"] for row in made.parts[1].rows] == ["bias found / not identified"] * 2


def test_a_table_is_fitted_every_way():
    settings = {"world": "gaussian", "n": 600, "sample": 300, "alpha": 4.0, "seeds": [3]}
    row = run_block(settings)[0]
    assert {row[f"{path}: verdict"] for path in PATHS} == {"bias found"}
    alphas = [row[f"{path}: alpha"] for path in PATHS]
    # Three ways to one maximum, each to a decrement of 1e-10.
    assert np.ptp(alphas) < 0.1 * row["whole: se"]
    assert len(set(alphas)) > 1
