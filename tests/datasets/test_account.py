"""The account of a source adds up to its rows, in an order that does not depend on theirs."""

from __future__ import annotations

import random

from proxycal.datasets.account import (
    balance,
    frame,
    left_out,
    lines,
    most_common,
    read_rows,
    repaired,
    summed,
)


def account():
    return [
        read_rows("losses", 100, "read"),
        *left_out("losses", ["hail"] * 3 + ["wind"], "left out: other hazards"),
        *repaired("losses", ["46113"], "moved to the county of today"),
        *summed("losses", 96, 90, "summed into another row"),
        read_rows("land", 7, "read"),
    ]


def test_the_changes_of_a_source_add_up_to_its_rows():
    assert balance(account(), "losses") == 90
    assert balance(account(), "land") == 7
    assert balance(account(), "nobody") == 0


def test_what_happened_to_no_row_has_no_entry():
    assert left_out("a", [], "left out") == repaired("a", [], "repaired") == summed("a", 5, 5, "summed") == []


def test_names_are_counted_whatever_their_order():
    names = ["b"] * 2 + ["a"] * 2 + ["c", "d", "e", "f"]
    shuffled = random.Random(0).sample(names, len(names))
    assert most_common(names) == most_common(shuffled) == ("a x2", "b x2", "c", "d", "2 others")
    assert most_common([72001, 72001]) == ("72001 x2",)
    assert most_common([]) == ()


def test_text_and_table_say_the_same():
    made = account()
    text = lines(made).splitlines()
    assert text[1] == "- losses: 4 rows left out: other hazards (hail x3, wind)"
    table = frame(made)
    assert len(table) == len(text) == len(made)
    assert table.loc[1].tolist() == ["losses", 4, -4, "left out: other hazards", "hail x3; wind"]
