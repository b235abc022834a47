"""The head of a table is found below titles, over two rows, above units; what is regular stays as it is."""

from __future__ import annotations

import pytest

from proxycal.reading.head import head_of

DATA = [["Lee", "TX", "1,200", "3.5"], ["Clay", "TX", "80", "2"], ["Polk", "OK", "95", "-"]]
NAMES = ["county", "state", "loss", "area"]
PAD = ["", "", "", ""]


@pytest.mark.parametrize(
    ("above", "names", "first", "rows"),
    [
        ([NAMES], NAMES, 1, (1,)),
        ([["Losses of 2021"], NAMES], NAMES, 2, (2,)),
        ([["Losses of 2021", "", "", ""], PAD, ["Source: the agency"], [], NAMES], NAMES, 5, (5,)),
        ([[], [], NAMES], NAMES, 3, (3,)),
        (
            [["Table 1"], ["", "", "2021", ""], NAMES],
            ["county", "state", "2021 / loss", "2021 / area"],
            3,
            (2, 3),
        ),
        (
            [["county", "state", "Reports", ""], ["", "", "loss", "area"]],
            ["county", "state", "Reports / loss", "Reports / area"],
            2,
            (1, 2),
        ),
        ([["Title"], ["county", "state", "2021", "2022"]], ["county", "state", "2021", "2022"], 2, (2,)),
    ],
)
def test_the_row_of_names(above, names, first, rows):
    head = head_of([*above, *DATA])
    assert (list(head.names), head.first, head.rows) == (names, first, rows)
    assert head.places == (0, 1, 2, 3)


def test_units_below_the_names_are_kept_beside_them():
    for above in ([], [["Losses"], []]):
        head = head_of([*above, NAMES, ["", "", "(USD)", "km2"], *DATA])
        assert (list(head.names), head.first) == (NAMES, len(above) + 2)
        assert head.units == {"loss": "USD", "area": "km2"}


def test_a_row_of_gaps_is_no_row_of_units():
    assert head_of([NAMES, ["Lee", "TX", "-", "n/a"], *DATA]).first == 1


def test_the_header_row_that_was_named_is_taken():
    rows = [["a", "b", "c", "d"], NAMES, *DATA]
    assert head_of(rows).first == 1
    head = head_of(rows, header_row=2)
    assert (list(head.names)[-1], head.first) == ("d / area", 2)
    assert head_of(rows, header_row=9) is None


def test_of_two_tables_side_by_side_the_fuller_is_read():
    other = [["", "state", "people"], ["", "TX", "9"], ["", "OK", "8"], ["", "", ""]]
    rows = [[*one, *two] for one, two in zip([NAMES, *DATA], other, strict=True)]
    head = head_of(rows)
    assert list(head.names) == NAMES
    assert head.beside == ("state", "people")


def test_a_column_between_two_halves_of_one_table_is_left_out():
    rows = [[*row[:2], "", *row[2:]] for row in [NAMES, *DATA]]
    head = head_of(rows)
    assert (list(head.names), head.places) == (NAMES, (0, 1, 3, 4))


def test_text_alone_has_a_header_too():
    head = head_of([["Who said what"], ["who", "what"], ["a", "b"], ["c", "d"]])
    assert (head.names, head.first) == (("who", "what"), 2)


@pytest.mark.parametrize("rows", [[], [[]], [["", " "], [""]]])
def test_nothing_has_no_head(rows):
    assert head_of(rows) is None
