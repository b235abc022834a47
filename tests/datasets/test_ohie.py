"""OHIE from generated files with the real names, value labels and ranges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets.ohie import COLUMNS, ENVIRONMENT, PROXIES, load_ohie, ohie_stand_in
from proxycal.errors import StoreError, TableError


@pytest.fixture(scope="module")
def people():
    table = ohie_stand_in(n=400, random_state=3).table
    table["tanf_tot_hh_prenotify07"] = 0.0
    table.loc[0, "tanf_tot_hh_prenotify07"] = 16_031.0
    table["charg_tot_pre_ed"] = 2.0 * table["ed_charg_tot_pre_ed"]
    table.loc[5, "a1c_inp"] = np.nan
    return table


def write(folder, people, ending=".dta"):
    """The four files; each has people the others do not, and the lottery has value labels."""
    for position, (stem, columns) in enumerate(COLUMNS.items()):
        part = people.drop(index=people.index[10 * position : 10 * position + 10])
        part = part[["person_id", *columns]].sample(frac=1.0, random_state=position)
        if ending == ".dta":
            labels = {"treatment": {0: "Not selected", 1: "Selected"}} if "treatment" in part else None
            part.to_stata(folder / f"{stem}.dta", write_index=False, value_labels=labels)
        else:
            if "treatment" in part:
                part["treatment"] = part["treatment"].map({0: "Not selected", 1: "Selected"})
            part.to_csv(folder / f"{stem}.csv", index=False)


@pytest.mark.parametrize("ending", [".dta", ".csv"])
def test_the_files_are_joined_and_what_was_dropped_is_named(tmp_path, people, ending):
    write(tmp_path, people, ending)
    data = load_ohie(tmp_path)
    assert len(data.table) == 360, (
        "in all four files; person 6, whose gap is in the first file, among the rest"
    )
    assert set(data.table["treatment"]) == {0.0, 1.0}
    assert data.roles.outcome == "log_ed_charg_tot_ed"
    assert data.roles.proxies == PROXIES
    dropped = {"tanf_tot_hh_prenotify07", "charg_tot_pre_ed"}
    assert data.roles.environment == tuple(name for name in ENVIRONMENT if name not in dropped)
    assert "low variance: tanf_tot_hh_prenotify07" in data.about
    assert "collinear: charg_tot_pre_ed" in data.about
    row = data.table.set_index("person_id").loc[200]
    same = people.set_index("person_id").loc[200]
    assert row["log_ed_charg_tot_ed"] == pytest.approx(np.log1p(same["ed_charg_tot_ed"]))
    assert row["bp_sar_inp"] == pytest.approx(same["bp_sar_inp"])
    assert row["treatment"] == same["treatment"]


def test_a_row_with_a_gap_is_left_out_and_counted(tmp_path, people):
    gap = people.copy()
    gap.loc[100, "hdl_inp"] = np.nan
    write(tmp_path, gap)
    data = load_ohie(tmp_path)
    assert 101 not in set(data.table["person_id"])
    assert "359 people with every column; 1 with a gap" in data.about


def test_what_is_missing_is_named(tmp_path, people):
    write(tmp_path, people)
    (tmp_path / "oregonhie_ed_vars.dta").unlink()
    with pytest.raises(StoreError, match=r"holds no oregonhie_ed_vars \(.dta or .csv\)"):
        load_ohie(tmp_path)
    people[["person_id"]].to_csv(tmp_path / "oregonhie_ed_vars.csv", index=False)
    with pytest.raises(TableError, match="has no column 'ed_charg_tot_ed', 'num_visit_pre_cens_ed'"):
        load_ohie(tmp_path)


def test_people_named_twice_and_unknown_labels_are_refused(tmp_path, people):
    write(tmp_path, people, ".csv")
    path = tmp_path / "oregonhie_descriptive_vars.csv"
    table = pd.read_csv(path)
    pd.concat([table, table.iloc[:1]]).to_csv(path, index=False)
    with pytest.raises(TableError, match="twice"):
        load_ohie(tmp_path)
    table["treatment"] = table["treatment"].astype(object)
    table.loc[3, "treatment"] = "Perhaps"
    table.to_csv(path, index=False)
    with pytest.raises(TableError, match="holds 1 values that are no numbers, first 'Perhaps'"):
        load_ohie(tmp_path)


def test_the_stand_in_has_the_ranges_and_never_passes_for_the_real_thing():
    data = ohie_stand_in(n=1000)
    assert data.about.startswith("simulated stand-in")
    assert data.table["ed_charg_tot_ed"].between(0, 71_157).all()
    assert data.table["bp_sar_inp"].between(72, 229).all()
    assert data.table["log_ed_charg_tot_ed"].max() <= np.log1p(71_157)
    assert not data.table.isna().any().any()
