"""The files of the simulated nation are read back as they were drawn."""

from __future__ import annotations

import numpy as np

from proxycal.datasets import load_sheldus, load_storm_events
from proxycal.datasets.losses import HAZARDS, KEYS


def with_truth(table, nation):
    return table.merge(nation.truth, on=list(KEYS), how="left", validate="one_to_one")


def test_sheldus_comes_back_as_reported(nation):
    made = load_sheldus(nation.sheldus, nation.transitions, nation.counties)
    both = with_truth(made.table, nation)
    np.testing.assert_allclose(both["loss"], both["reported_loss"], rtol=1e-3, atol=0.02)
    assert len(both) == (nation.truth["reported_loss"] > 0).sum()
    assert set(both["hazard"]) == set(HAZARDS)


def test_storm_events_come_back_as_reported(nation):
    made = load_storm_events(nation.storm_events, nation.transitions, nation.counties, zones=nation.zones)
    both = with_truth(made.table, nation)
    # The files give two decimals of thousands, millions and billions, for each of up to three events.
    np.testing.assert_allclose(both["loss"], both["reported_loss"], rtol=0.01, atol=40)


def test_without_a_zone_table_the_zone_hazards_are_missing_and_counted(nation):
    made = load_storm_events(nation.storm_events, nation.transitions, nation.counties)
    assert set(made.table["hazard"]) == {"Flooding", "Tornado"}
    assert "no zone table was given" in made.about
