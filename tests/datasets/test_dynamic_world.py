"""Transition tables: fractions by hand, windows, names and numbers of classes, and broken tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets.account import balance
from proxycal.datasets.dynamic_world import CLASSES, PROXIES, SOURCE, read_transitions, standardised
from proxycal.errors import SettingsError, TableError

AREAS = {
    ("built", "built"): 900.0, ("built", "water"): 60.0, ("built", "bare"): 40.0,
    ("trees", "trees"): 1500.0, ("crops", "crops"): 400.0, ("crops", "water"): 70.0, ("grass", "bare"): 30.0,
    ("crops", "grass"): 500.0, ("bare", "bare"): 90.0, ("bare", "water"): 10.0, ("water", "water"): 1000.0,
}  # fmt: skip
# built 1000, vegetation 1500 + 400 + 70 + 30 + 500 = 2500, bare 100, so land 3600
FRACTIONS = {
    "bare_to_water": 10 / 3600, "built_to_damage": 100 / 1000, "built_to_water": 60 / 1000,
    "vegetation_to_damage": 100 / 2500, "vegetation_to_water": 70 / 2500,
}  # fmt: skip


def table(areas=AREAS, fips="01001", year=2023, hazard="Flooding", scale=1.0):
    rows = [(fips, hazard, year, start, end, scale * area) for (start, end), area in areas.items()]
    return pd.DataFrame(rows, columns=["fips", "hazard", "year", "from_class", "to_class", "area"])


def write(tmp_path, *tables):
    path = tmp_path / "transitions.csv"
    pd.concat(tables).to_csv(path, index=False)
    return path


def test_the_five_fractions_are_those_taken_by_hand(tmp_path):
    twice = AREAS | {("built", "water"): 160.0, ("built", "built"): 800.0}
    third = AREAS | {
        ("crops", "water"): 0.0,
        ("crops", "crops"): 470.0,
        ("bare", "water"): 0.0,
        ("bare", "bare"): 100.0,
    }
    path = write(tmp_path, table(), table(twice, fips="01003"), table(third, fips="01005"))
    made = read_transitions(path)
    by_hand = pd.DataFrame(
        [
            FRACTIONS,
            FRACTIONS | {"built_to_damage": 0.2, "built_to_water": 0.16},
            FRACTIONS | {"vegetation_to_damage": 30 / 2500, "vegetation_to_water": 0.0, "bare_to_water": 0.0},
        ]
    )
    logs = np.log1p(1e6 * by_hand[list(PROXIES)])
    expected = (logs - logs.mean()) / logs.std(ddof=0)
    np.testing.assert_allclose(made.table[list(PROXIES)], expected, atol=1e-12)
    assert balance(made.account, SOURCE) == 3


def test_units_of_area_do_not_matter(tmp_path):
    other = table(AREAS | {("built", "water"): 5.0}, fips="01003")
    one = read_transitions(write(tmp_path, table(), other))
    hectares = read_transitions(write(tmp_path, table(scale=1e-4), other))
    np.testing.assert_allclose(one.table[list(PROXIES)], hectares.table[list(PROXIES)])


def test_change_adds_up_over_the_windows_of_a_year(tmp_path):
    # Half of every change in each of two windows: the other half is still unchanged in that window.
    halves = {pair: area / 2 for pair, area in AREAS.items() if pair[0] != pair[1]}
    for start in {start for start, _ in AREAS}:
        whole = sum(area for (source, _), area in AREAS.items() if source == start)
        halves[start, start] = whole - sum(area for (source, _), area in halves.items() if source == start)
    twice = pd.concat([table(halves, fips="01003").assign(window=name) for name in ("may", "june")])
    small = table(AREAS | {("built", "water"): 1.0}, fips="01005").assign(window="may")
    made = read_transitions(write(tmp_path, table().assign(window="may"), twice, small)).table
    np.testing.assert_allclose(made.loc[0, list(PROXIES)].tolist(), made.loc[1, list(PROXIES)].tolist())


def test_classes_by_number_are_the_same_as_by_name(tmp_path):
    numbered = {(CLASSES.index(start), CLASSES.index(end)): area for (start, end), area in AREAS.items()}
    path = write(tmp_path, table(), table(numbered, fips="01003"), table({("built", "built"): 1.0} | AREAS | {
        ("built", "water"): 1.0}, fips="01005"))  # fmt: skip
    made = read_transitions(path).table
    np.testing.assert_allclose(made.loc[0, list(PROXIES)].tolist(), made.loc[1, list(PROXIES)].tolist())


def test_what_counts_as_damage_is_an_argument(tmp_path):
    more_bare = AREAS | {("built", "bare"): 140.0, ("built", "built"): 800.0}
    path = write(tmp_path, table(), table(more_bare, fips="01003"))
    water = read_transitions(path, damage=["water"]).table
    bare = read_transitions(path, damage=["bare"]).table
    assert water["built_to_damage"].tolist() == [0.0, 0.0]
    assert bare["built_to_damage"].tolist() == [-1.0, 1.0]
    with pytest.raises(SettingsError, match="flooded_vegetation"):
        read_transitions(path, damage=["lava"])


def test_what_is_left_out_is_counted(tmp_path):
    no_built = {pair: area for pair, area in AREAS.items() if pair[0] != "built"}
    path = write(
        tmp_path, table(), table(no_built, fips="01003"), table(fips="72001"), table(hazard="Hail"),
        table(year=2012),
    )  # fmt: skip
    made = read_transitions(path, years=range(2016, 2024))
    assert made.table["fips"].tolist() == ["01001"]
    assert balance(made.account, SOURCE) == 1
    text = " ".join(map(str, made.account))
    for words in ("01003 2023", "72001", "Hail", "2012"):
        assert words in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"from_class": "lava"}, "no Dynamic World class"),
        ({"area": -1.0}, "blank or negative"),
        ({"area": None}, "blank or negative"),
        ({"area": "big"}, "no numbers"),
    ],
)
def test_values_that_cannot_be_are_refused(tmp_path, change, words):
    with pytest.raises(TableError, match=words):
        read_transitions(write(tmp_path, table(), table().head(1).assign(**change)))


def test_a_table_of_changes_only_is_refused(tmp_path):
    changes = {pair: area for pair, area in AREAS.items() if pair[0] != pair[1]}
    with pytest.raises(TableError, match="unchanged"):
        read_transitions(write(tmp_path, table(changes)))


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(TableError, match="to_class"):
        read_transitions(write(tmp_path, table().drop(columns="to_class")))


def test_a_constant_column_is_left_at_zero():
    assert standardised(pd.DataFrame({"f": [0.1, 0.1]}))["f"].tolist() == [0.0, 0.0]
