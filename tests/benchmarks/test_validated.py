"""The benchmark of validated rows: its worlds, and a page of trials."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.validated import AUDITS, NHANES, WORLDS, bench, draw, page


@pytest.mark.parametrize("world", WORLDS)
def test_worlds_are_biased_in_their_direction(world):
    table, direction = draw(world, 4000, seed=1)
    gap = (table["y"] - table["true"]) * (1.0 if direction == "over" else -1.0)
    assert (abs(gap.mean()) < 0.02) if world == "clean" else gap.mean() > 0.5


def test_every_world_and_outcome_is_asked():
    cells = bench().cells
    assert {cell.settings["world"] for cell in cells} == {
        *WORLDS,
        *(NHANES + o for o in ("weight", "height", "bmi")),
    }
    assert len({cell.key for cell in cells}) == len(cells)


def test_a_page_says_what_was_reached():
    row = {
        "error": None,
        "share": 0.05,
        "verdict": "bias found",
        "held": 0.95,
        "mean_held": True,
        "groups": 2,
    }
    row |= {"groups_held": 2, "seconds": 1.0, "rmse_report": 4.6, "rmse_exact": 4.6, "rmse_regression": 4.0}
    row |= {f"audit_{m}": 0.8 for m in AUDITS}
    trials = pd.DataFrame(
        [
            row | {"world": WORLDS[0], "rmse_validated": 3.0},
            row | {"world": NHANES + "height", "rmse_validated": 4.2},
        ]
    )
    text = [part.rows[0] for part in page(trials).parts]
    assert text[0]["reached"] == "**no**"
    assert text[1]["reached"] == "yes"
    assert (text[1]["validated"], text[1]["proxycal"]) == ("5%", "3.000")
    assert "below both in 1 of 1 worlds" in page(trials).parts[1].note
    rows = page(trials).parts[3].rows
    assert [(row["world"], row["validated"]) for row in rows] == [
        (world, share) for world in ("NHANES", "worlds") for share in ("5%", "all")
    ]
    together = {row["world"]: row for row in rows if row["validated"] == "all"}
    assert together["NHANES"]["groups"] == "100.0% of 2"
    # A mean that is always held, in one draw, is not within 92 to 98%.
    assert together["worlds"]["reached"] == "**no**"
    assert np.isclose(page(trials).figures["rmse_validated"].iloc[0], 3.0)
