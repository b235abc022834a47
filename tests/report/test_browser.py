"""The report in a real browser: its numbers, its silence on the network, two schemes, accessibility."""

from __future__ import annotations

import json
import re

import pytest

import proxycal
from browser import use_scheme, use_width
from proxycal.report.page import render
from proxycal.table.roles import Roles

HOSTILE = "<img src=x onerror=\"document.title='hit'\">"


@pytest.fixture(scope="module")
def model():
    sim = proxycal.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=4.0, random_state=0)
    table = sim.table.rename(columns={"e_1": HOSTILE, "p_2": "<b>p</b>"})
    roles = Roles("y", ["p_1", "<b>p</b>"], [HOSTILE, "e_2"])
    model = proxycal.ProxyCalibrator(roles, direction="over", random_state=0).fit(table)
    model.refute("drop-proxy", 2)
    return model


@pytest.fixture(scope="module")
def uri(model, tmp_path_factory):
    place = tmp_path_factory.mktemp("report") / "report.html"
    model.report(place)
    return place.as_uri()


@pytest.fixture
def page(browser, uri):
    """The report, freshly opened; the browser is left as it was found."""
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(uri)
    # What is scrolled to stands there at once.
    browser.execute_script("document.documentElement.style.scrollBehavior = 'auto'")
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_alpha_on_the_page_is_that_of_the_api(page, model):
    facts = {
        one.find_element("tag name", "dt").text: one.find_element("tag name", "dd").text
        for one in page.find_elements("css selector", ".facts div")
    }
    assert model.verdict_ == "bias found"
    assert float(facts["Estimated size"]) == pytest.approx(model.alpha_, abs=0.005)
    low, high = facts["95% interval"].split(" to ")
    assert (float(low), float(high)) == pytest.approx(model.alpha_interval_, abs=0.005)
    assert f"{model.alpha_:.2f}" in page.find_element("tag name", "h1").text


def test_no_request_leaves_the_page(page, uri):
    sent = [json.loads(line["message"])["message"] for line in page.get_log("performance")]
    asked = [one["params"]["request"]["url"] for one in sent if one["method"] == "Network.requestWillBeSent"]
    assert uri in asked, "the log sees the page itself"
    assert [url for url in asked if url != uri and not url.startswith("data:")] == []
    assert [line for line in page.get_log("browser") if line["level"] == "SEVERE"] == []


def test_a_hostile_column_stays_text(page):
    assert page.find_elements("css selector", "img, main script, main b b") == []
    assert "hit" not in page.title
    names = [one.text for one in page.find_elements("css selector", ".roles code")]
    assert HOSTILE in names
    assert "<b>p</b>" in names
    drawn = page.execute_script("return [...document.querySelectorAll('svg text')].map(t => t.textContent)")
    assert any(text.startswith("<img src=x") for text in drawn)


def luminance(colour):
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark_render(page, scheme):
    use_scheme(page, scheme)
    body = page.find_element("tag name", "body")
    paper = luminance(body.value_of_css_property("background-color"))
    ink = luminance(body.value_of_css_property("color"))
    assert (paper > ink) == (scheme == "light")
    # Figures follow: the words of a plot stand out from the paper as much as the body text must.
    fill = page.execute_script(
        "return getComputedStyle(document.querySelector('.hero svg text')).getPropertyValue('fill')"
    )
    high, low = sorted([paper, luminance(fill)], reverse=True)
    assert (high + 0.05) / (low + 0.05) > 4.5


def pointed(page, part, x=0, y=0):
    """What the page says of the place x, y from the middle of a part."""
    from selenium.webdriver import ActionChains

    ActionChains(page).move_to_element_with_offset(part, x, y).perform()
    # Moving there may have scrolled the page, which hides what is said: a second, small move says it again.
    page.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    ActionChains(page).move_by_offset(0, 1).perform()
    return page.find_element("css selector", ".bubble").text


def test_pointing_at_a_bar_and_at_a_dot_says_its_value(page):
    tall = page.execute_script(
        "return [...document.querySelectorAll('.hero .two svg + svg [data-tip*=\"of which\"]')]"
        ".reduce((a, b) => a.getBoundingClientRect().height > b.getBoundingClientRect().height ? a : b)"
    )
    assert pointed(page, tall) == tall.get_attribute("data-tip")
    cloud = page.find_element("css selector", "svg[data-dots]")
    x, y = (int(part) for part in cloud.get_attribute("data-dots").split()[:2])
    box = "const box = arguments[0].viewBox.baseVal; return [box.width, box.height]"
    width, height = page.execute_script(box, cloud)
    scale = cloud.size["width"] / width
    said = pointed(page, cloud, round((x - width / 2) * scale), round((y - height / 2) * scale))
    assert re.match(r"index \d+: reported -?[\d.]+, calibrated -?[\d.]+, probability of bias [<>]?\d", said)


def test_rows_are_sorted_and_filtered(page):
    from selenium.webdriver.support.select import Select

    def column(place):
        cells = page.find_elements("css selector", f"#row-table tbody td:nth-child({place})")
        return [cell.text for cell in cells]

    def count():
        return page.find_element("id", "row-count").text

    assert count() == "10 of 300 rows"
    page.find_elements("css selector", "#row-table thead button")[1].click()
    reported = [float(text) for text in column(2)]
    assert reported == sorted(reported, reverse=True)
    page.find_elements("css selector", "#row-table thead button")[1].click()
    reported = [float(text) for text in column(2)]
    assert reported == sorted(reported)
    heads = page.find_elements("css selector", "#row-table thead th")
    assert [head.get_attribute("aria-sort") for head in heads] == [None, "ascending", None, None, None]
    Select(page.find_element("id", "row-least")).select_by_value("0.9")
    assert all(float(text.rstrip("%")) >= 90 for text in column(5))
    page.find_element("id", "row-words").send_keys("29")
    assert all("29" in name for name in column(1))
    assert column(1)


@pytest.mark.parametrize("width", [1280, 400])
def test_text_of_pictures_can_be_read(page, width):
    use_width(page, width)
    page.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    heights = page.execute_script(
        "return [...document.querySelectorAll('figure svg text')].filter(t => t.getClientRects().length)"
        ".map(t => parseFloat(getComputedStyle(t).fontSize) * t.getScreenCTM().a)"
    )
    assert len(heights) > 20
    assert min(size for size in heights if size) > 9.5


@pytest.mark.parametrize("width", [1280, 400])
def test_no_table_is_cut_without_a_cue(page, width):
    use_width(page, width)
    page.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    short, cues = page.execute_script(
        "return [[...document.querySelectorAll('.cards')].map(t => t.scrollWidth - t.parentNode.clientWidth),"
        "[...document.querySelectorAll('.scroll')].map(s => getComputedStyle(s).backgroundAttachment)]"
    )
    assert short
    assert max(short) <= 0
    assert all("scroll" in cue and "local" in cue for cue in cues)


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_screen(page, width):
    use_width(page, width)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("verdict", ["bias found", "not identified", "no bias found"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_violation(page, scheme, verdict, example, tmp_path):
    axe = pytest.importorskip("selenium_axe_python", reason="needs selenium-axe-python (extra dev)")
    if verdict != "bias found":
        other = tmp_path / "report.html"
        other.write_text(render(example(verdict=verdict)), encoding="utf-8")
        page.get(other.as_uri())
    assert page.find_element("class name", "verdict").text == verdict
    use_scheme(page, scheme)
    page.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    checker = axe.Axe(page)
    checker.inject()
    found = checker.run()
    assert found["passes"], "axe looked at something"
    grave = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in grave] == []


def test_the_keyboard_reaches_the_answer_first(page):
    from selenium.webdriver import ActionChains, Keys

    ActionChains(page).send_keys(Keys.TAB).perform()
    assert page.switch_to.active_element.text == "Skip to the result"


def test_the_browser_prints_it_whole(page, model, tmp_path, monkeypatch):
    monkeypatch.setattr("proxycal.report.pdf.PATIENCE", 900)  # seconds, on a busy machine
    model.report(tmp_path / "report.pdf")
    printed = (tmp_path / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF")
    assert b"Chromium" in printed or b"Skia" in printed
