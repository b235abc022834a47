"""Words for a total in the languages in which tables are kept, and whether a cell is the label of one."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Literal

# Alone in a cell, or at its beginning or end ("Total Texas", "Texas total"), these name a total.
_WORDS = (
    "total", "totals", "subtotal", "subtotals", "sub-total", "sub total", "grand total", "sum total",
    "gesamt", "gesamtsumme", "gesamtergebnis", "gesamtwert", "insgesamt", "summe", "zwischensumme",
    "endsumme",
    "teilsumme", "totaux", "sous-total", "sous total", "total general", "total général", "totale",
    "subtotale", "totale generale", "totales", "suma", "suma total", "soma", "totaal", "subtotaal",
    "eindtotaal", "razem", "ogółem", "łącznie", "summa", "totalt", "delsumma", "delsum", "i alt", "ialt",
    "yhteensä", "celkem", "součet", "mezisoučet", "összesen", "toplam", "genel toplam",
    "ara toplam", "итого",
    "всего", "сумма", "σύνολο", "合计", "总计", "小计", "合計",
    "総計", "小計", "합계", "총계", "소계", "المجموع",
    "الإجمالي", "إجمالي",
)  # fmt: skip
# Words that are labels of totals among other things: only where the numbers say so too.
_WEAK = (
    "all", "sum", "overall", "alle", "tous", "toutes", "todos", "todas", "tutti", "tutte",
    "ensemble", "somme",
    "somma", "som", "general", "nation", "whole",
)  # fmt: skip
# A quick look, as a regular expression: what does not match it has no label.
LIKELY = "(?i)" + "|".join((*(re.escape(word) for word in _WORDS), *(rf"^\W*{word}\b" for word in _WEAK)))
_BETWEEN = r"[\s:,;./()\[\]–—-]+"


def total_label(text: str) -> Literal["", "maybe", "sure"]:
    """Whether a cell is the label of a total: "sure" by itself, "maybe" if the numbers agree.

    >>> total_label("TOTAL:"), total_label("Texas total"), total_label("All"), total_label("Texas")
    ('sure', 'maybe', 'maybe', '')
    >>> total_label("Zwischensumme"), total_label("totally destroyed")
    ('sure', '')
    """
    plain = unicodedata.normalize("NFC", text).casefold().strip(" \t\r\n\xa0:*.()[]=-–—#")
    if not plain or (plain[0].isdigit() and plain.replace(".", "").isdigit()):
        return ""
    whole, part, weak = _patterns()
    if whole.fullmatch(plain):
        return "sure"
    return "maybe" if part.search(plain) or weak.match(plain) else ""


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    words = "|".join(sorted((re.escape(word.casefold()) for word in _WORDS), key=len, reverse=True))
    weak = "|".join(map(re.escape, _WEAK))
    return (
        re.compile(words),
        re.compile(rf"^(?:{words}){_BETWEEN}|{_BETWEEN}(?:{words})$"),
        re.compile(rf"^(?:{weak})(?:{_BETWEEN}|$)"),
    )
