"""A band of a fitted model: groups in order, known truths, and what is refused in one line."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import proxycal as pc


@pytest.fixture(scope="module")
def fitted():
    sim = pc.simulate(n=200, alpha=0.0, random_state=0)
    table = sim.table.assign(
        y=np.exp(sim.table["y"] / 5.0), region=np.where(np.arange(200) % 2, "west", "east")
    )
    return pc.ProxyCalibrator(sim.roles, direction="under", method="moments").fit(table), table


def test_groups_add_up_to_all_rows_and_carry_the_assumption(fitted):
    model, table = fitted
    made = model.band(table, share=(0.1, 0.4), reports=(0.6, 0.9), by="region")
    assert made["region"].tolist() == ["east", "west", "overall"]
    assert made["rows"].tolist() == [100, 100, 200]
    ends = made[["reported", "low", "high", "lowest", "highest"]]
    np.testing.assert_allclose(ends.iloc[:2].sum(), ends.iloc[2])
    assert (made["reported"] < made["low"]).all()
    assert made["assumption"].str.startswith("An assumption, not a finding").all()
    whole = model.band(pl.from_pandas(table), share=(0.1, 0.4), reports=(0.6, 0.9))
    assert whole["high"].to_list() == pytest.approx([made["high"].iloc[2]])


def test_validated_rows_count_with_their_truth(fitted):
    _, table = fitted
    known = table.assign(true=np.where(np.arange(200) < 40, 2.0 * table["y"], np.nan))
    roles = pc.Roles("y", [c for c in table if c.startswith("p_")], ["e_1"], truth="true")
    model = pc.ProxyCalibrator(roles, direction="under", method="moments").fit(known)
    none = model.band(known, share=(0.0, 0.0), reports=(0.5, 0.5)).iloc[0]
    assert none["low"] == pytest.approx(none["reported"] + known["y"].iloc[:40].sum())


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"share": (0.1, 0.4)}, "say which part"),
        ({"share": (0.4, 0.1), "amount": (1, 2)}, "the smaller first"),
        ({"share": (0.1, 40), "amount": (1, 2)}, "between 0 and 1"),
        ({"share": (0.1, 0.4), "reports": (0.9, 1.2)}, "between 0 and 1"),
        ({"share": (0.1, 0.4), "reports": (0.0, 0.2)}, "begin above 0"),
        ({"share": 0.1, "amount": (1, 2)}, "must be two numbers"),
    ],
)
def test_what_cannot_be_assumed_is_refused(fitted, asked, said):
    model, table = fitted
    with pytest.raises(pc.ProxycalError, match=said):
        model.band(table, **asked)


def test_a_part_of_negative_values_is_refused(fitted):
    model, table = fitted
    with pytest.raises(pc.ProxycalError, match=r"negative value.*by what amount"):
        model.band(table.assign(y=table["y"] - 5.0), share=(0.1, 0.4), reports=(0.6, 0.9))
