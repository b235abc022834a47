"""The map page in a real browser: the hazard switch recolours it, and a county's tooltip has its numbers."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from proxycal.datasets.county_shapes import county_list
from proxycal.studies.case_study_maps import COLOURS
from proxycal.studies.case_study_page import render

# San Bernardino, Elko and Mohave are large enough to be pointed at on any screen.
ROWS = [
    ("06071", "Flooding", 2022, 1_000.0, 2_500.0, 900.0, 3_100.0, 0.5, -0.2),
    ("06071", "Flooding", 2023, 7_000.0, 7_000.0, 7_000.0, 7_000.0, 0.0, 0.1),
    ("06071", "Wildfire", 2023, 1_234_567.0, 7_654_321.0, 7_000_000.0, 8_000_000.0, 0.98, -1.8),
    ("32007", "Wildfire", 2023, 50.0, 60.0, 50.0, 300.0, 0.1, np.nan),
]


@pytest.fixture(scope="module")
def page():
    names = [
        "fips",
        "hazard",
        "year",
        "reported",
        "calibrated",
        "calibrated_low",
        "calibrated_high",
        "p_biased",
    ]
    table = pd.DataFrame(ROWS, columns=[*names, "tau"])
    table = table.assign(population=10_000.0, tau_abs=table["tau"].abs(), verdict="bias found")
    return render(table, 2023, "A note with <b>tags</b> & </script>.")


@pytest.fixture(scope="module")
def browser(browser, page, tmp_path_factory):
    place = tmp_path_factory.mktemp("page") / "map.html"
    place.write_text(page, encoding="utf-8")
    browser.get_log("browser")  # what other pages logged is gone
    browser.get(place.as_uri())
    return browser


def test_the_page_needs_nothing_from_outside(page):
    outside = re.findall(r'(?:src|href)\s*=\s*"|https?://(?!www\.w3\.org)|@import|url\(', page)
    assert outside == []
    assert page.count('<path id="c') == 3142


def test_what_a_user_wrote_stays_text(page):
    assert "A note with &lt;b&gt;tags&lt;/b&gt; &amp; &lt;/script&gt;." in page
    assert page.count("</script>") == 2


def choose(browser, hazard):
    browser.find_element("css selector", f"input[value='{hazard}']").find_element("xpath", "..").click()


def fill(browser, fips):
    colour = browser.find_element("id", f"c{fips}").value_of_css_property("fill")
    return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", colour)[:3])


def hover(browser, fips):
    from selenium.webdriver import ActionChains

    ActionChains(browser).move_to_element(browser.find_element("id", f"c{fips}")).perform()
    tip = browser.find_element("id", "tip")
    assert tip.is_displayed()
    return tip.text


def test_a_click_on_the_hazard_switch_recolours_and_the_tooltip_tells_the_numbers(browser):
    choose(browser, "2")
    choose(browser, "Flooding")
    assert fill(browser, "06071") == COLOURS[0]
    assert fill(browser, "32007") == "#ffffff"
    assert "reported: $7,000\n" in hover(browser, "06071")
    assert "no event" in hover(browser, "32007")

    choose(browser, "Wildfire")
    assert fill(browser, "06071") == COLOURS[3]
    assert fill(browser, "32007") == "#d9d9d9"
    assert hover(browser, "06071").splitlines() == [
        "San Bernardino, California", "Wildfire, 2023", "reported: $1,234,567", "calibrated: $7,654,321",
        "95% interval: $7,000,000 to $8,000,000", "probability of bias: 98%", "tau (log dollars): -1.80",
    ]  # fmt: skip
    summary = browser.find_element("id", "summary").text
    assert summary.startswith("Wildfire, 2023: 2 counties with a loss; reported $1,234,617")


def test_the_map_shows_what_calibration_changes_in_all_and_per_head(browser):
    """Wildfire in San Bernardino: 6.2 times what was reported, 642 dollars more for each of 10,000 people."""
    choose(browser, "Wildfire")
    choose(browser, "0")
    assert fill(browser, "06071") == COLOURS[4]
    assert fill(browser, "32007") == COLOURS[1]
    assert browser.find_element("id", "legend").text == "Calibrated loss over reported loss:"
    choose(browser, "1")
    assert fill(browser, "06071") == COLOURS[4]
    assert fill(browser, "32007") == COLOURS[0]
    assert "dollars per head" in browser.find_element("id", "legend").text


def test_a_dark_page_has_dark_paper_and_steps_away_from_it(browser):
    from browser import use_scheme

    choose(browser, "Wildfire")
    choose(browser, "0")
    use_scheme(browser, "dark")
    try:
        assert fill(browser, "06071") == COLOURS[0]
        assert fill(browser, "01001") == "#14171b"
    finally:
        use_scheme(browser, "light")


def test_the_year_switch_and_the_search_work(browser):
    from selenium.webdriver.support.select import Select

    choose(browser, "Flooding")
    Select(browser.find_element("id", "year")).select_by_visible_text("2022")
    box = browser.find_element("id", "find")
    box.send_keys("San Bernardino, California")
    assert "calibrated: $2,500" in browser.find_element("id", "found").text
    assert "on" in browser.find_element("id", "c06071").get_attribute("class")
    box.clear()
    Select(browser.find_element("id", "year")).select_by_visible_text("2023")


def test_every_county_can_be_seen(browser):
    sizes = browser.execute_script(
        "return [...document.querySelectorAll('#counties path')].map(p => {"
        "const b = p.getBBox(); return [p.id.slice(1), b.width * b.height]})"
    )
    assert {code for code, _ in sizes} == set(county_list().index)
    assert min(size for _, size in sizes) > 0.05


def test_nothing_was_logged_as_an_error(browser):
    assert [line for line in browser.get_log("browser") if line["level"] == "SEVERE"] == []
