"""What a person says of a file is checked, and holds for as long as it is said."""

from __future__ import annotations

import pytest

from proxycal.errors import SettingsError
from proxycal.reading.options import Reading, asked, reading_as


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"header_row": 0}, "the first is 1"),
        ({"decimal": ";"}, "use '.' or ','"),
        ({"thousands": "x"}, "thousands = 'x'"),
        ({"thousands": ",", "decimal": ","}, "one must be another sign"),
        ({"total_rows": "maybe"}, "use 'keep' or 'drop'"),
    ],
)
def test_what_cannot_be_is_refused(said, message):
    with pytest.raises(SettingsError, match=message):
        Reading(**said)


def test_one_sign_says_the_other():
    assert (Reading(thousands=",").sign, Reading(thousands=".").sign) == (".", ",")
    assert (Reading(decimal=",", thousands=".").sign, Reading(thousands=" ").sign) == (",", None)


def test_it_holds_for_as_long_as_it_is_said():
    with reading_as(Reading(sheet="2")):
        assert asked().sheet == "2"
    assert asked() == Reading()
