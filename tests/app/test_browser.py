"""The page in a real browser, used as a person would."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

import proxycal
from app.driving import (
    answered,
    arrived,
    choose,
    choose_direction,
    choose_roles,
    download,
    drop,
    facts,
    open_page,
    read,
    roles_on,
    show,
    text,
    until,
    upload,
)
from browser import use_scheme, use_width
from proxycal import ProxyCalibrator, Roles
from proxycal.errors import ProxycalError
from proxycal.files import write_table
from proxycal.reading.table import read_table
from proxycal.report.numbers import size_text
from proxycal.report.summary import sentence
from proxycal.table.surface import speaking
from proxycal.testing.example import ADULTS

HOSTILE = "<img src=x onerror=\"document.title='hit'\">"


@pytest.fixture
def page(browser, program):
    """A new page; closed after, and the browser left as it was found."""
    browser.get_log("browser")
    open_page(browser, program.address)
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.get("about:blank")


@dataclass(frozen=True)
class Given:
    """A file that a page is given, what is chosen there, and what the API makes of it."""

    path: Path
    roles: Roles
    method: Literal["auto", "moments"]
    model: ProxyCalibrator

    @classmethod
    def of(cls, table, roles, method, path):
        write_table(table, path)
        model = ProxyCalibrator(roles, direction="over", method=method).fit(read_table(path))
        return cls(path, roles, method, model)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """JOBS with a bias that is known."""
    earnings = proxycal.datasets.load_jobs()
    sim = proxycal.inject_bias(earnings.table, earnings.roles, alpha=1.0, random_state=1)
    return Given.of(sim.table, sim.roles, "auto", tmp_path_factory.mktemp("jobs") / "my jobs.csv")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table with a column whose name is markup."""
    sim = proxycal.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=6.0, random_state=2)
    roles = Roles("y", sim.roles.proxies, [HOSTILE, "e_2"])
    table = sim.table.rename(columns={"e_1": HOSTILE})
    return Given.of(table, roles, "moments", tmp_path_factory.mktemp("hostile") / "mine.csv")


@dataclass(frozen=True)
class Answered:
    """Tabs with an answer, and what the browser said on the way there."""

    jobs: str
    hostile: str
    said: list[dict[str, str]]


@pytest.fixture(scope="module")
def done(browser, program, jobs, hostile):
    """Two pages on which a file was uploaded, roles were chosen and the fit run, both at once."""
    browser.get_log("browser")
    tabs = []
    for given in (jobs, hostile):
        open_page(browser, program.address)
        upload(browser, given.path)
        read(browser, given.model.result_.n)
        choose_roles(browser, {name: role for role, name in given.roles})
        choose(browser, "method", given.method)
        choose_direction(browser, "over")
        browser.find_element("id", "run").click()
        until(lambda: text(browser, "#words"), "the run has begun")
        tabs.append(browser.current_window_handle)
        browser.switch_to.new_window("tab")
    other = browser.current_window_handle  # tests of other pages leave these alone
    for tab in tabs:
        show(browser, tab)
        answered(browser)
        until(lambda: browser.switch_to.active_element.get_attribute("id") == "step5", "it has the focus")
    said = browser.get_log("browser")
    show(browser, other)
    yield Answered(*tabs, said)
    for tab in tabs:
        browser.switch_to.window(tab)
        browser.close()
    browser.switch_to.window(other)


@contextmanager
def looking_at(browser, tab):
    before = browser.current_window_handle
    show(browser, tab)
    try:
        yield browser
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
        show(browser, before)


@pytest.fixture
def answer(browser, done):
    """The page with the answer for JOBS."""
    with looking_at(browser, done.jobs):
        yield browser


# --- from a file to the answer ---


def test_alpha_on_the_page_is_that_of_the_api(answer, jobs):
    model, found = jobs.model, facts(answer)
    assert model.verdict_ == text(answer, "#answer .verdict") == "bias found"
    assert found["Estimated size"] == size_text(model.result_.estimate).size
    assert found["95% interval"] == size_text(model.result_.estimate).interval
    assert text(answer, "#answer .sentence") == sentence(model.result_)
    assert float(found["Estimated size"]) == pytest.approx(1.0, abs=0.1)  # what was put in


def test_the_downloaded_table_is_that_of_the_api_to_the_last_digit(answer, jobs, tmp_path):
    table = read_table(jobs.path)
    found = read_table(download(answer, "get_table", tmp_path))
    wanted = jobs.model.calibrate(table)
    assert list(found.columns) == [*table.columns, *wanted.columns]
    assert found[table.columns].equals(table)
    assert found[wanted.columns].equals(wanted)


def test_the_report_on_the_page_is_the_file_and_says_the_same(answer, jobs, tmp_path):
    file = download(answer, "get_report", tmp_path).read_text(encoding="utf-8")
    with speaking("app"):
        jobs.model.report(tmp_path / "wanted.html")
    assert file == (tmp_path / "wanted.html").read_text(encoding="utf-8")
    answer.execute_script("document.getElementById('report-part').open = true")
    frame = answer.find_element("id", "report")
    answer.execute_script("arguments[0].scrollIntoView()", frame)  # a browser lays out what is looked at
    # Its own script, which its policy names, and no way to this page.
    assert frame.get_attribute("sandbox") == "allow-scripts"
    until(lambda: frame.size["height"] > 2000, "the report is shown in full length")
    answer.switch_to.frame(frame)
    try:
        heading = answer.find_element("tag name", "h1").text
    finally:
        answer.switch_to.default_content()
    assert heading == text(answer, "#answer .sentence")


def test_the_commands_can_be_taken_along(answer, tmp_path):
    script = download(answer, "get_python", tmp_path).read_text(encoding="utf-8")
    commands = download(answer, "get_shell", tmp_path).read_text(encoding="utf-8")
    assert "read_table('my jobs.csv')" in script
    assert "proxycal fit 'my jobs.csv'" in commands
    shown = answer.execute_script("return document.querySelector('#script').textContent")
    assert script.strip() == shown.strip()


def test_the_pictures_can_be_switched(answer):
    kinds = [one.get_attribute("value") for one in answer.find_elements("css selector", "#picture input")]
    assert {"estimates", "residual", "content", "calibrated", "who", "gate"} <= set(kinds)
    for kind in ("who", "calibrated"):
        answer.find_element("css selector", f"#picture label:has([value={kind}])").click()
        ids = f"#picture_shown svg [id^={kind}-]"
        until(lambda ids=ids: answer.find_elements("css selector", ids), f"{kind} is drawn")
        title = text(answer, "#picture_shown h3")
        assert title == text(answer, f"#picture label:has([value={kind}])")


def test_a_change_after_the_answer_is_pointed_out(answer):
    place = "#outcome_of_run"
    choose(answer, "missing", "drop")
    until(lambda: "calibrate again" in text(answer, place), "it says that settings changed")
    choose(answer, "missing", "raise")
    until(lambda: text(answer, place) == "", "and takes it back")


# --- for everybody ---


def grave_violations(driver, only=None):
    axe = pytest.importorskip("selenium_axe_python", reason="needs selenium-axe-python (extra dev)")
    driver.execute_script("document.querySelectorAll('details').forEach(one => one.open = true)")
    checker = axe.Axe(driver)
    checker.inject()
    found = checker.run(options={"runOnly": only} if only else {})
    assert found["passes"], "axe looked at something"
    grave = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    return [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in grave]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_violation(answer, scheme):
    use_scheme(answer, scheme)
    # A scheme changes colours and nothing else.
    assert grave_violations(answer, ["color-contrast"] if scheme == "dark" else None) == []


def test_no_violation_before_anything_was_done(page):
    assert grave_violations(page) == []


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_screen(answer, width):
    use_width(answer, width)
    assert answer.execute_script("return document.documentElement.scrollWidth") <= width
    boxes = answer.execute_script(
        "return [...document.querySelectorAll('button, select, a.button, input, iframe')]"
        ".filter(one => one.checkVisibility()).map(one => one.getBoundingClientRect().right)"
    )
    assert boxes
    assert max(boxes) <= width


def test_light_and_dark_follow_the_reader(answer):
    papers = set()
    for scheme in ("light", "dark"):
        use_scheme(answer, scheme)
        papers.add(answer.find_element("tag name", "body").value_of_css_property("background-color"))
    assert len(papers) == 2


def walk_to(driver, wanted: str, steps: int = 80) -> None:
    """Press Tab until that element has the focus."""
    from selenium.webdriver import ActionChains, Keys

    for _ in range(steps):
        if driver.switch_to.active_element.get_attribute("id") == wanted:
            return
        ActionChains(driver).send_keys(Keys.TAB).perform()
    raise AssertionError(f"{wanted} is not reached by the keyboard")


def press(driver, key: str = "ENTER") -> None:
    from selenium.webdriver import ActionChains, Keys

    ActionChains(driver).send_keys(getattr(Keys, key)).perform()


def test_the_keyboard_takes_the_files_and_switches_pictures(answer, tmp_path):
    answer.execute_cdp_cmd(
        "Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)}
    )
    answer.execute_script("document.getElementById('step5').focus()")  # where a finished run puts it
    walk_to(answer, "get_table", 14)
    press(answer)
    arrived(tmp_path / "calibrated.csv")
    answer.find_element("css selector", "#picture input:checked").send_keys("")
    before = text(answer, "#picture_shown h3")
    press(answer, "ARROW_RIGHT")
    until(lambda: text(answer, "#picture_shown h3") != before, "the next picture is drawn")


def test_the_keyboard_runs_the_example_and_cancels_it(page, program):
    walk_to(page, "file")
    walk_to(page, "example")
    press(page)
    read(page, ADULTS)
    assert page.switch_to.active_element.get_attribute("id") == "example"
    walk_to(page, "run")
    press(page)
    until(lambda: page.switch_to.active_element.get_attribute("id") == "cancel", "Cancel has the focus")
    until(lambda: "Step" in text(page, "#words"), "the run says where it is")
    assert page.find_element("id", "bar").get_attribute("max") == "1"
    assert "left" in text(page, "#words") or "Nearly" in text(page, "#words")
    (worker,) = program.workers()
    press(page)
    until(lambda: "cancelled" in text(page, "#outcome_of_run"), "the run is cancelled")
    assert program.workers() == set()
    assert not Path(f"/proc/{worker}").exists()
    assert page.switch_to.active_element.get_attribute("id") == "run"
    assert not page.find_element("id", "step5").is_displayed()


# --- what goes wrong ---


def test_a_broken_file_gives_the_message_of_the_library_and_one_that_is_too_large_is_not_sent(page, tmp_path):
    broken = tmp_path / "broken.csv"
    broken.write_text("y,p,y\n1,2,3\n", encoding="utf-8")
    with pytest.raises(ProxycalError) as caught:
        read_table(broken)
    drop(page, "broken.csv", broken.read_text(encoding="utf-8"))
    wanted = str(caught.value).replace(str(broken), "broken.csv")
    until(lambda: text(page, "#upload-message") == wanted, "the message is shown")
    assert not page.find_element("id", "step2").is_displayed()
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(200_000_001)  # takes no room on the disk
    upload(page, large)
    until(lambda: "larger than the 200 MB" in text(page, "#upload-message"), "the message is shown")
    assert "proxycal fit" in text(page, "#upload-message")


def test_gaps_are_found_before_the_run_and_its_own_message_is_shown(page, tmp_path):
    sim = proxycal.simulate(n=120, d_z=1, d_e=2, n_proxies=2, random_state=0)
    sim.table.loc[[3, 7], "e_1"] = None
    sim.table["mu"] = 1.0
    write_table(sim.table, tmp_path / "gaps.parquet")
    upload(page, tmp_path / "gaps.parquet")
    read(page, 120)
    with speaking("app"):
        findings = proxycal.audit(sim.table, sim.roles)
    missing = next(finding for finding in findings if finding.topic == "missing")
    for part in (missing.question, missing.statistic, missing.reading, missing.remedy):
        assert part in text(page, "#audit")
    page.find_element("id", "run").click()
    wanted = "data cannot tell over-reporting from under-reporting"
    until(lambda: wanted in text(page, "#outcome_of_run"), "the direction is asked for, never guessed")
    choose_direction(page, "over")
    page.find_element("id", "run").click()
    wanted = "already has a column 'mu', which calibration writes: rename it first"
    until(lambda: wanted in text(page, "#outcome_of_run"), "what the run refuses is said on the page")


def test_roles_that_make_no_sense_are_explained(page, tmp_path):
    sim = proxycal.simulate(n=60, d_z=1, d_e=1, n_proxies=1, random_state=0)
    sim.table.to_excel(tmp_path / "t.xlsx", index=False)
    upload(page, tmp_path / "t.xlsx")
    read(page, 60)
    assert "t.xlsx: 60 rows, 3 columns." in text(page, "#table_read")
    assert roles_on(page) == {"y": "outcome", "p_1": "proxies", "e_1": "environment"}
    choose_roles(page, {"y": "outcome", "e_1": "environment"})
    until(lambda: "at least one column the role proxy" in text(page, "#audit"), "a proxy is asked for")
    page.find_element("id", "run").click()
    until(lambda: "role proxy" in text(page, "#outcome_of_run"), "and nothing runs")


# --- one page and another ---


def test_two_pages_at_once_do_not_mix_and_a_hostile_column_stays_text(browser, done, hostile, tmp_path):
    assert done.said == [], "no error, no script refused by the policy"
    browser.get_log("browser")
    with looking_at(browser, done.hostile) as page:
        assert facts(page)["Estimated size"] == size_text(hostile.model.result_.estimate).size
        found = read_table(download(page, "get_table", tmp_path))
        assert (found["y"] == read_table(hostile.path)["y"]).all()
        # Markup in a name is text wherever it stands: the columns, the audit, the pictures, the report.
        assert HOSTILE in roles_on(page)
        assert page.find_elements("css selector", "img") == []
        assert "hit" not in page.title
        page.execute_script("document.getElementById('report-part').open = true")
        page.switch_to.frame(page.find_element("id", "report"))
        assert page.find_elements("css selector", "img") == []
        assert HOSTILE in [one.text for one in page.find_elements("css selector", ".roles code")]
        page.switch_to.default_content()
        assert page.get_log("browser") == []


def test_closing_the_page_ends_its_run_and_deletes_its_files(page, program):
    first = page.current_window_handle
    before = program.folders()
    page.switch_to.new_window("tab")
    open_page(page, program.address)
    page.find_element("id", "example").click()
    read(page, ADULTS)
    page.find_element("id", "power").click()
    until(lambda: program.workers(), "the run has begun")
    assert len(program.folders()) == len(before) + 1
    page.close()
    page.switch_to.window(first)
    until(lambda: program.workers() == set(), "no job is left")
    until(lambda: program.folders() == before, "no file is left")
