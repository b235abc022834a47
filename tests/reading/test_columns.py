"""A column is what all of its values are."""

from __future__ import annotations

import pyarrow as pa
import pytest

from proxycal.reading.columns import Seen, convert, decimal_of_file, look, style_of, to_series


def column(values, of_file=None):
    style = style_of(look(pa.array(values)), of_file)
    return style.kind, convert(pa.array(values), style).to_pylist()


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        (["1", " 2 "], "whole", [1, 2]),
        (["1", ""], "number", [1.0, None]),
        (["1.5", "NA", " n/a "], "number", [1.5, None, None]),
        (["", "NULL"], "number", [None, None]),
        (["TRUE", "false", ""], "flag", [True, False, None]),
        (["True", "maybe"], "text", ["True", "maybe"]),
        (["True", "1"], "text", ["True", "1"]),
        (["01003", "48001"], "code", ["01003", "48001"]),
        ([" a ", "NA"], "text", [" a ", None]),
        (["50,015"], "unclear", ["50,015"]),
        (["3/4/2024"], "unclear", ["3/4/2024"]),
    ],
)
def test_kinds(values, kind, read):
    assert column(values) == (kind, read)


def test_pieces_are_judged_together():
    pieces = [["50,015", "1"], ["", "3,5"], ["7"]]
    seen = sum((look(pa.array(piece)) for piece in pieces), Seen())
    style = style_of(seen, None)
    assert (style.kind, style.decimal) == ("number", ",")
    assert [convert(pa.array(piece), style).to_pylist() for piece in pieces] == [
        [50.015, 1.0],
        [None, 3.5],
        [7.0],
    ]


def test_the_decimal_sign_of_a_file_is_that_of_its_sure_columns():
    sure, unsure, point = look(pa.array(["3,5"])), look(pa.array(["50,015"])), look(pa.array(["3.5"]))
    assert decimal_of_file([sure, unsure]) == ","
    assert decimal_of_file([point, unsure]) == "."
    assert decimal_of_file([unsure]) is None
    assert decimal_of_file([sure, point]) is None
    assert decimal_of_file([sure, look(pa.array(["version 1.2", "3.5"]))]) == ","


def test_types_in_pandas():
    for values, dtype in (
        (["1"], "int64"),
        (["1.5"], "float64"),
        (["True"], "bool"),
        (["True", ""], "boolean"),
    ):
        style = style_of(look(pa.array(values)), None)
        assert str(to_series(convert(pa.array(values), style), style).dtype) == dtype
