"""The page in a real browser, used as a person would."""

from __future__ import annotations

from pathlib import Path

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
    text,
    until,
    upload,
)
from browser import use_scheme, use_width
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


@pytest.fixture(scope="module")
def jobs(tmp_path_factory):
    """JOBS with a bias that is known, as a file, and what the API makes of it."""
    earnings = proxycal.datasets.load_jobs()
    sim = proxycal.inject_bias(earnings.table, earnings.roles, alpha=1.0, random_state=1)
    path = tmp_path_factory.mktemp("jobs") / "my jobs.csv"
    write_table(sim.table, path)
    model = proxycal.ProxyCalibrator(sim.roles, direction="over").fit(read_table(path))
    return path, sim, model


@pytest.fixture(scope="module")
def done(browser, program, jobs):
    """A page on which JOBS was uploaded, its roles chosen and the fit run: looked at by several tests."""
    path, sim, _ = jobs
    open_page(browser, program.address)
    upload(browser, path)
    read(browser, 614)
    choose_roles(browser, {name: role for role, name in sim.roles})
    choose_direction(browser, "over")
    browser.find_element("id", "run").click()
    answered(browser)
    until(
        browser, lambda: browser.switch_to.active_element.get_attribute("id") == "step5", "it has the focus"
    )
    tab = browser.current_window_handle
    browser.switch_to.new_window("tab")  # so that tests of other pages leave this one alone
    other = browser.current_window_handle
    yield tab
    browser.switch_to.window(tab)
    browser.close()
    browser.switch_to.window(other)


@pytest.fixture
def answer(browser, done):
    """The page with the answer."""
    before = browser.current_window_handle
    browser.switch_to.window(done)
    yield browser
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.switch_to.window(before)


# --- from a file to the answer ---


def test_alpha_on_the_page_is_that_of_the_api(answer, jobs):
    model = jobs[2]
    found = facts(answer)
    assert model.verdict_ == text(answer, "#answer .verdict") == "bias found"
    assert found["Estimated size"] == size_text(model.result_.estimate).size
    assert found["95% interval"] == size_text(model.result_.estimate).interval
    assert text(answer, "#answer .sentence") == sentence(model.result_)
    assert float(found["Estimated size"]) == pytest.approx(1.0, abs=0.1)  # what was put in


def test_the_downloaded_table_is_that_of_the_api_to_the_last_digit(answer, jobs, tmp_path):
    path, _, model = jobs
    table = read_table(path)
    found = read_table(download(answer, "get_table", tmp_path))
    wanted = model.calibrate(table)
    assert list(found.columns) == [*table.columns, *wanted.columns]
    assert found[table.columns].equals(table)
    assert found[wanted.columns].equals(wanted)


def test_the_report_on_the_page_is_the_file_and_says_the_same(answer, jobs, tmp_path):
    file = download(answer, "get_report", tmp_path).read_text(encoding="utf-8")
    with speaking("app"):
        jobs[2].report(tmp_path / "wanted.html")
    assert file == (tmp_path / "wanted.html").read_text(encoding="utf-8")
    answer.execute_script("document.getElementById('report-part').open = true")
    frame = answer.find_element("id", "report")
    # Its own script, which its policy names, and no way to this page.
    assert frame.get_attribute("sandbox") == "allow-scripts"
    until(answer, lambda: frame.size["height"] > 2000, "the report is shown in full length")
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
    assert (
        script.strip()
        == answer.execute_script("return document.querySelector('#script').textContent").strip()
    )


def test_the_pictures_can_be_switched(answer):
    kinds = [one.get_attribute("value") for one in answer.find_elements("css selector", "#picture input")]
    assert {"estimates", "residual", "content", "calibrated", "who", "gate"} <= set(kinds)
    for kind in ("who", "calibrated"):
        answer.find_element("css selector", f"#picture label:has([value={kind}])").click()
        ids = f"#picture_shown svg [id^={kind}-]"
        until(answer, lambda ids=ids: answer.find_elements("css selector", ids), f"{kind} is drawn")
        title = text(answer, "#picture_shown h3")
        assert title == text(answer, f"#picture label:has([value={kind}])")


def test_a_change_after_the_answer_is_pointed_out(answer):
    place = "#outcome_of_run"
    choose(answer, "missing", "drop")
    until(answer, lambda: "calibrate again" in text(answer, place), "it says that settings changed")
    choose(answer, "missing", "raise")
    until(answer, lambda: text(answer, place) == "", "and takes it back")


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
    walk_to(answer, "get_table", 6)
    press(answer)
    arrived(tmp_path / "calibrated.csv")
    answer.find_element("css selector", "#picture input:checked").send_keys("")
    before = text(answer, "#picture_shown h3")
    press(answer, "ARROW_RIGHT")
    until(answer, lambda: text(answer, "#picture_shown h3") != before, "the next picture is drawn")


def test_the_keyboard_runs_the_example_and_cancels_it(page, program):
    walk_to(page, "file")
    walk_to(page, "example")
    press(page)
    read(page, ADULTS)
    assert page.switch_to.active_element.get_attribute("id") == "example"
    walk_to(page, "run")
    press(page)
    until(page, lambda: page.switch_to.active_element.get_attribute("id") == "cancel", "Cancel has the focus")
    until(page, lambda: "Step" in text(page, "#words"), "the run says where it is")
    assert page.find_element("id", "bar").get_attribute("max") == "1"
    assert "left" in text(page, "#words") or "Nearly" in text(page, "#words")
    (worker,) = program.workers()
    press(page)
    until(page, lambda: "cancelled" in text(page, "#outcome_of_run"), "the run is cancelled")
    assert program.workers() == set()
    assert not Path(f"/proc/{worker}").exists()
    assert page.switch_to.active_element.get_attribute("id") == "run"
    assert not page.find_element("id", "step5").is_displayed()


# --- what goes wrong ---


def test_a_broken_file_gives_the_message_of_the_library(page, tmp_path):
    broken = tmp_path / "broken.csv"
    broken.write_text("y,p,y\n1,2,3\n", encoding="utf-8")
    with pytest.raises(ProxycalError) as caught:
        read_table(broken)
    drop(page, "broken.csv", broken.read_text(encoding="utf-8"))
    wanted = str(caught.value).replace(str(broken), "broken.csv")
    until(page, lambda: text(page, "#upload-message") == wanted, "the message is shown")
    assert not page.find_element("id", "step2").is_displayed()


def test_a_file_that_is_too_large_is_not_sent(page, tmp_path):
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(200_000_001)  # takes no room on the disk
    upload(page, large)
    until(page, lambda: "larger than the 200 MB" in text(page, "#upload-message"), "the message is shown")
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
    until(page, lambda: wanted in text(page, "#outcome_of_run"), "the direction is asked for, never guessed")
    choose_direction(page, "over")
    page.find_element("id", "run").click()
    wanted = "already has a column 'mu', which calibration writes: rename it first"
    until(page, lambda: wanted in text(page, "#outcome_of_run"), "what the run refuses is said on the page")


def test_roles_that_make_no_sense_are_explained(page, tmp_path):
    sim = proxycal.simulate(n=60, d_z=1, d_e=1, n_proxies=1, random_state=0)
    sim.table.to_excel(tmp_path / "t.xlsx", index=False)
    upload(page, tmp_path / "t.xlsx")
    read(page, 60)
    assert "t.xlsx: 60 rows, 3 columns." in text(page, "#table_read")
    assert roles_on(page) == {"y": "outcome", "p_1": "proxies", "e_1": "environment"}
    choose_roles(page, {"y": "outcome", "e_1": "environment"})
    until(page, lambda: "at least one column the role proxy" in text(page, "#audit"), "a proxy is asked for")
    page.find_element("id", "run").click()
    until(page, lambda: "role proxy" in text(page, "#outcome_of_run"), "and nothing runs")


# --- one page and another ---


def small(alpha: float, seed: int):
    """A table of its own, with a column whose name is markup."""
    sim = proxycal.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=alpha, random_state=seed)
    table = sim.table.rename(columns={"e_1": HOSTILE})
    return table, proxycal.Roles("y", sim.roles.proxies, [HOSTILE, "e_2"])


def test_two_pages_at_once_do_not_mix_and_a_hostile_column_stays_text(page, program, tmp_path):
    first = page.current_window_handle
    tabs = {first: (2.0, 1)}
    page.switch_to.new_window("tab")
    tabs[page.current_window_handle] = (6.0, 2)
    for tab, (alpha, seed) in tabs.items():
        table, roles = small(alpha, seed)
        write_table(table, tmp_path / f"{seed}.csv")
        page.switch_to.window(tab)
        open_page(page, program.address)
        upload(page, tmp_path / f"{seed}.csv")
        read(page, 300)
        choose_roles(page, {name: role for role, name in roles})
        choose(page, "method", "moments")
        choose_direction(page, "over")
        page.find_element("id", "run").click()
        until(page, lambda: text(page, "#words"), "the run has begun")
    for tab, (alpha, seed) in tabs.items():
        page.switch_to.window(tab)
        answered(page)
        table, roles = small(alpha, seed)
        model = proxycal.ProxyCalibrator(roles, direction="over", method="moments").fit(
            read_table(tmp_path / f"{seed}.csv")
        )
        assert facts(page)["Estimated size"] == size_text(model.result_.estimate).size
        (tmp_path / str(seed)).mkdir()
        found = read_table(download(page, "get_table", tmp_path / str(seed)))
        assert (found["y"] == table["y"]).all()
        # Markup in a name is text wherever it stands: the columns, the audit, the pictures, the report.
        assert HOSTILE in roles_on(page)
        assert page.find_elements("css selector", "img") == []
        assert "hit" not in page.title
        page.execute_script("document.getElementById('report-part').open = true")
        page.switch_to.frame(page.find_element("id", "report"))
        assert page.find_elements("css selector", "img") == []
        assert HOSTILE in [one.text for one in page.find_elements("css selector", ".roles code")]
        page.switch_to.default_content()
    assert page.get_log("browser") == [], "no error, no script refused by the policy"
    page.close()
    page.switch_to.window(first)


def test_closing_the_page_ends_its_run_and_deletes_its_files(page, program):
    first = page.current_window_handle
    before = program.folders()
    page.switch_to.new_window("tab")
    open_page(page, program.address)
    page.find_element("id", "example").click()
    read(page, ADULTS)
    page.find_element("id", "power").click()
    until(page, lambda: program.workers(), "the run has begun")
    assert len(program.folders()) == len(before) + 1
    page.close()
    page.switch_to.window(first)
    until(page, lambda: program.workers() == set(), "no job is left")
    until(page, lambda: program.folders() == before, "no file is left")
