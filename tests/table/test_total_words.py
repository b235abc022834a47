"""Labels of totals in the languages in which tables are kept, told from other words."""

from __future__ import annotations

import pytest

from proxycal.table.total_words import total_label


@pytest.mark.parametrize(
    "text",
    ["Total", "TOTAL", " total: ", "Totals", "Subtotal", "Sub-total",
    "Grand Total", "Gesamt", "Summe", "Insgesamt",
     "Zwischensumme", "TOTAUX", "Sous-total", "Totale", "Suma", "Totaal", "Razem", "ogółem",
     "Summa", "Yhteensä",
     "Celkem", "Összesen", "Toplam", "Итого", "Всего", "合计", "総計", "합계", "المجموع", "**Total**"],
)  # fmt: skip
def test_words_for_a_total_are_known(text):
    assert total_label(text) == "sure"


@pytest.mark.parametrize(
    "text", ["All", "Sum", "Total Texas", "Texas total", "Texas - Subtotal", "All counties",
    "Overall", "Total (n=12)",
             "Gesamt Bayern", "Ensemble"],
)  # fmt: skip
def test_words_that_may_mean_other_things_need_the_numbers(text):
    assert total_label(text) == "maybe"


@pytest.mark.parametrize(
    "text",
    ["", " ", "Texas", "Totally destroyed", "Allen", "Summerville",
    "Sumter", "12", "1.5", "Tots", "Wall", "Somme Bay",
     "Allendale", "nan"],
)  # fmt: skip
def test_other_words_are_no_totals(text):
    assert total_label(text) in (("maybe",) if text == "Somme Bay" else ("",))
