"""The report in a real browser: its numbers, its silence on the network, two schemes, accessibility."""

from __future__ import annotations

import json
import re

import pytest

import proxycal
from browser import use_scheme, use_width
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
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_alpha_on_the_page_is_that_of_the_api(page, model):
    facts = {
        one.find_element("tag name", "dt").text: one.find_element("tag name", "dd").text
        for one in page.find_elements("css selector", ".facts div")
    }
    assert model.verdict_ == "bias found"
    assert float(facts["Estimated size"]) == pytest.approx(model.alpha_, rel=1e-3)
    low, high = facts["95% interval"].split(" to ")
    assert (float(low), float(high)) == pytest.approx(model.alpha_interval_, rel=1e-3)
    assert f"{model.alpha_:.4g}" in page.find_element("tag name", "h1").text


def test_no_request_leaves_the_page(page, uri):
    sent = [json.loads(line["message"])["message"] for line in page.get_log("performance")]
    asked = [one["params"]["request"]["url"] for one in sent if one["method"] == "Network.requestWillBeSent"]
    assert uri in asked, "the log sees the page itself"
    assert [url for url in asked if url != uri and not url.startswith("data:")] == []
    assert [line for line in page.get_log("browser") if line["level"] == "SEVERE"] == []


def test_a_hostile_column_stays_text(page):
    assert page.find_elements("css selector", "img, script, main b b") == []
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


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_screen(page, width):
    use_width(page, width)
    assert page.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_violation(page, scheme):
    axe = pytest.importorskip("selenium_axe_python", reason="needs selenium-axe-python (extra dev)")
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
