"""Tables of text: every value as it stands, and what is wrong in one message."""

from __future__ import annotations

import pytest

from proxycal.errors import StoreError
from proxycal.reading.options import Reading
from proxycal.reading.text import form_of, text_tables


def test_values_stand_as_they_are(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('fips;y;note\n01003;1.50;" a; b"\n\n01005;NA;""\n')
    tables = list(text_tables(path, form_of(path, "text", Reading()), 1))
    assert [table.to_pylist()[0] for table in tables] == [
        {"fips": "01003", "y": "1.50", "note": " a; b"},
        {"fips": "", "y": "", "note": ""},  # a row of the file; the plan leaves it out
        {"fips": "01005", "y": "NA", "note": ""},
    ]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a,b,a\n1,2,3\n", r"two columns named 'a' \(columns 1 and 3\): rename"),
        ("a,b\n1,5,2,5\n", "header has 2 names and the first row 4 values.*decimal commas.*semicolons"),
        ("a,b\n1,2\n1,2,3\n", "not a regular CSV"),
    ],
)
def test_what_is_wrong_is_one_message(content, says, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(StoreError, match=says):
        list(text_tables(path, form_of(path, "text", Reading()), 10))
