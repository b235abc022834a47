from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets.nation import simulate_disasters
from proxycal.errors import SettingsError
from proxycal.studies.case_study import POOLED
from proxycal.studies.case_study_files import Inputs, check_inputs, perform


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        (Inputs(), "--sheldus or --storm-events is required"),
        (Inputs(simulated=True, sheldus="x.csv"), "generates all of its files"),
        (Inputs(sheldus="x", storm_events="y"), "exclude each other"),
        (Inputs(sheldus="x", zones="y"), "--zones"),
        (Inputs(sheldus="x", counties="y"), "--transitions"),
    ],
)
def test_inputs_that_do_not_fit_together_are_refused(inputs, words):
    with pytest.raises(SettingsError, match=words):
        check_inputs(inputs)


def test_storm_events_make_the_same_study(tmp_path):
    small = simulate_disasters(tmp_path / "nation", n_counties=150)
    inputs = Inputs(None, small.folder, small.zones, small.transitions, small.counties)
    text = perform(inputs, tmp_path, year=2022)
    fits = pd.read_csv(tmp_path / "fits.csv").set_index("fit")
    np.testing.assert_allclose(fits.loc[POOLED, "alpha"], 1.8, rtol=0.15)
    table = pd.read_csv(tmp_path / "counties.csv", dtype={"fips": str})
    both = table.merge(small.truth, on=["fips", "hazard", "year"], validate="one_to_one")
    assert len(both) == len(table)
    np.testing.assert_allclose(both["reported"], both["reported_loss"], rtol=0.01, atol=40)
    assert not (tmp_path / "check.csv").exists()
    for name in ("counties.csv", "counties.parquet", "totals.csv", "account.csv", "map.html", "results.md"):
        assert (tmp_path / name).stat().st_size > 100
    for name in (
        "maps-ratio-2022.png",
        "maps-per-head-2022.pdf",
        "maps-tau-2022.png",
        "hazards.png",
        "hazards.pdf",
    ):
        assert (tmp_path / "figures" / name).stat().st_size > 5000
    assert "Rows kept and dropped, by source" in text
    assert "## If the bias varies gradually with the county" in text
    assert pd.read_csv(tmp_path / "gradual.csv")["fit"].iloc[0] == POOLED
    assert "filed by forecast zone" in text


@pytest.mark.slow
def test_the_whole_nation_meets_its_marks(tmp_path):
    perform(Inputs(simulated=True), tmp_path)
    check = pd.read_csv(tmp_path / "check.csv").set_index("fit")
    assert (check["alpha_error"].abs() < 0.05).all()
    assert abs(check.loc[POOLED, "calibrated_error"]) < 0.03
    assert check.loc[POOLED, "reported_error"] < -0.2
    assert (check["rank_correlation"] > 0.75).all()
