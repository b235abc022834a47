"""What leaves the house, in the reader's language: one file of words for each, and numbers to match."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from proxycal.errors import SettingsError

# The English file has every key, and a language that lacks one is no language.
LANGUAGES = ("en", "de", "es")
_NUMBER = re.compile(r"(?<![\w.])[-+−]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?%?")


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language: texts by name, with names in braces, and signs and words of numbers."""

    language: str
    texts: dict[str, str]
    numbers: dict[str, str]

    def say(self, name: str, **values: str) -> str:
        """One text, filled in.

        >>> words("de").say("of", statistic="Summe", y="loss")
        'Summe von loss.'
        """
        return self.texts[name].format(**values)

    def number(self, text: str) -> str:
        """Numbers as English writes them, as this language does.

        >>> words("de").number("1,234.5 to 2,000.0 million"), words("es").number("n/a")
        ('1.234,5 bis 2.000,0 Mio.', 'n/d')
        """
        if self.language == "en":
            return text
        text = _NUMBER.sub(lambda found: self._signs(found[0]), text)
        for word in ("million", "billion", "trillion"):
            text = re.sub(rf"\b{word}\b", self.numbers[word], text)
        text = text.replace("n/a", self.numbers["missing"])
        return re.sub(r"(?<=\S) to (?=\S)", f" {self.numbers['to']} ", text)

    def _signs(self, number: str) -> str:
        swap = {".": self.numbers["decimal"], ",": self.numbers["thousands"]}
        swap["%"] = self.numbers["percent"].replace(" ", "\u00a0")
        return "".join(swap.get(sign, sign) for sign in number)


@cache
def words(language: str) -> Words:
    """The words of a language.

    >>> words("fr")
    Traceback (most recent call last):
        ...
    proxycal.errors.SettingsError: language = 'fr' is not known: use 'en', 'de' or 'es'
    """
    if language not in LANGUAGES:
        raise SettingsError(f"language = {language!r} is not known: use 'en', 'de' or 'es'")
    text = resources.files("proxycal.report").joinpath("words", f"{language}.toml").read_text("utf-8")
    read = tomllib.loads(text)
    return Words(language, read["memo"], read["numbers"])
