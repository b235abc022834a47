"""Every language says everything that English does, with the same numbers in it."""

from __future__ import annotations

import string

import pytest

from proxycal.errors import SettingsError
from proxycal.report.wording import LANGUAGES, words


def names(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "en"])
def test_a_translation_is_whole(language):
    english, other = words("en"), words(language)
    assert other.texts.keys() == english.texts.keys()
    assert other.numbers.keys() == english.numbers.keys()
    for key, text in english.texts.items():
        assert names(other.texts[key]) == names(text), key
        assert other.texts[key] != text or key in ("total", "of"), f"{key} is still English"


def test_numbers_are_written_as_the_language_does():
    assert words("es").number("-1,234.5%") == "-1.234,5\xa0%"
    assert words("de").number("1.2 to 3.4 billion") == "1,2 bis 3,4 Mrd."
    assert words("en").number("1,234.5%") == "1,234.5%"


def test_another_language_is_refused():
    with pytest.raises(SettingsError, match="use 'en', 'de' or 'es'"):
        words("../en")
