"""`proxycal simulate` as a shell sees it."""

from __future__ import annotations

import json

import pandas as pd

import proxycal
from proxycal.cli import main


def test_simulate_keeps_the_truth_in_a_file_of_its_own(capsys, here):
    assert (
        main(["simulate", "--n", "60", "--alpha", "3", "--seed", "4", "--out", "sim.parquet", "--json"]) == 0
    )
    said = json.loads(capsys.readouterr().out)
    sim = proxycal.simulate(n=60, alpha=3.0, random_state=4)
    pd.testing.assert_frame_equal(pd.read_parquet(said["table"]), sim.table)
    pd.testing.assert_frame_equal(pd.read_parquet(said["truth"]), sim.truth)
    assert said["roles"]["outcome"] == sim.roles.outcome
