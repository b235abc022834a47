"""The page in a real browser, from files as people keep them to totals by state; clicks are counted."""

from __future__ import annotations

import pytest
from selenium.webdriver.support.ui import Select

from app.driving import (
    answered,
    choose_direction,
    download,
    open_page,
    read,
    roles_on,
    text,
    totals,
    until,
    upload,
)
from messy_files import ALL, ROWS, losses, noisy, truths, write_all
from test_messy_files import fill

MOST_CLICKS = 8


@pytest.fixture
def page(browser, program):
    """A new page; closed after."""
    browser.get_log("browser")
    open_page(browser, program.address)
    yield browser
    browser.get("about:blank")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("messy")
    write_all(made)
    return made


def covers(page, true) -> list[str]:
    """Groups whose interval holds the truth."""
    units = {"million": 1e6, "billion": 1e9}
    inside = []
    for group, (*_, interval, _) in totals(page).items():
        low, _, high, *unit = interval.replace(",", "").split()
        # As precise as it is shown.
        times = units[unit[0]] if unit else 1.0
        at = true["overall" if group == "all rows" else group] / times
        half = 0.5 * 10.0 ** -len(low.partition(".")[2])
        inside += [group] if float(low) - half <= at <= float(high) + half else []
    return inside


@pytest.mark.slow
@pytest.mark.parametrize("messy", ALL, ids=lambda messy: messy.name)
def test_every_file_comes_to_its_totals_in_a_few_clicks(page, folder, messy):
    upload(page, folder / messy.name)
    clicks = 2  # the field and the file
    if messy.refused:
        until(lambda: messy.refused in text(page, "#upload-message"), "one sentence says what to change")
        return
    read(page, ROWS)
    roles = roles_on(page)
    assert roles[messy.outcome] == "outcome"
    assert {name for name, role in roles.items() if role == "proxies"} == set(messy.proxies)
    choose_direction(page, "under")
    clicks += 1
    if "--missing" in messy.options:
        Select(page.find_element("id", "missing")).select_by_value("impute")
        clicks += 2
    page.find_element("id", "run").click()
    clicks += 1
    answered(page)
    until(lambda: len(totals(page)) == 7, "there are totals by state")
    assert clicks <= MOST_CLICKS
    inside = covers(page, truths(*losses()))
    assert "all rows" in inside
    # Six states at 95%: five or more in 97 tables of 100.
    assert len(inside) >= 6, totals(page)


def test_ordinary_noise_comes_to_a_total_by_an_audit_on_the_page(page, tmp_path):
    table, true = noisy()
    table.to_csv(tmp_path / "losses.csv", index=False)
    upload(page, tmp_path / "losses.csv")
    read(page, len(table))
    choose_direction(page, "under")
    page.find_element("id", "run").click()
    until(lambda: text(page, "#answer .verdict") == "not identified", "the data do not tell")
    until(lambda: "An assumption, not a finding" in text(page, "#what_if"), "what follows from an assumption")
    share = page.find_element("id", "share_high")
    share.clear()
    share.send_keys("30")
    until(lambda: "10% to 30% of the rows" in text(page, "#what_if"), "it follows what is typed")
    sheet = download(page, "get_audit", tmp_path)
    fill(sheet, true)
    page.find_element("id", "filled").send_keys(str(sheet))
    until(lambda: "50 rows were checked" in text(page, "#answer"), "it says what was learned")
    until(lambda: len(totals(page)) == 7 and "to" in totals(page)["all rows"][3], "there are totals by state")
    inside = covers(page, truths(table, true))
    assert "all rows" in inside
    assert len(inside) >= 6, totals(page)
    assert "rows checked the total is known to within" in text(page, "#answer")
    assert page.get_log("browser") == []
