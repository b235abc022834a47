"""Steps of a person on the page, for the browser tests."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

from selenium.webdriver.support.ui import Select

if TYPE_CHECKING:
    from pathlib import Path

# Seconds: a busy machine is slow, a wrong page is wrong for ever.
PATIENCE = 240
# Seconds between two looks: at first, since most comes at once, and at most, since a look costs too.
SOON, LATER = 0.02, 0.3


def until(condition, why: str):
    """Wait for something to become true; the truth is returned."""
    end, pause = time.monotonic() + PATIENCE, SOON
    while time.monotonic() < end:
        with suppress(Exception):  # a part of the page that is not there, or no longer
            if truth := condition():
                return truth
        time.sleep(pause)
        pause = min(1.5 * pause, LATER)
    raise AssertionError(f"it never came true: {why}")


def show(driver, tab: str) -> None:
    """Turn to a tab and bring it to the front: a browser does not lay out what nobody sees."""
    driver.switch_to.window(tab)
    driver.execute_cdp_cmd("Page.bringToFront", {})


def text(driver, place: str) -> str:
    return driver.find_element("css selector", place).text


def open_page(driver, address: str) -> None:
    driver.get(address)
    until(lambda: driver.execute_script("return door !== null"), "the page is connected")


def upload(driver, path: Path) -> None:
    """Choose a file; what comes of it is for the caller to wait for."""
    driver.find_element("id", "file").send_keys(str(path))


def drop(driver, name: str, content: str) -> None:
    """Drop a file on the page, as from a folder beside it."""
    driver.execute_script(
        "const moved = new DataTransfer();"
        "moved.items.add(new File([arguments[1]], arguments[0]));"
        "const event = new DragEvent('drop', {dataTransfer: moved, bubbles: true, cancelable: true});"
        "document.getElementById('drop').dispatchEvent(event);",
        name,
        content,
    )


def roles_on(driver) -> dict[str, str]:
    """Column -> role, as chosen on the page."""
    driver.execute_script("document.querySelector('.all-columns').open = true")
    rows = driver.find_elements("css selector", ".cols li")
    return {
        row.find_element("tag name", "code").text: row.find_element("tag name", "select").get_attribute(
            "value"
        )
        for row in rows
    }


def choose_roles(driver, roles: dict[str, str]) -> None:
    """Give every column the role it has in `roles`, none to the others."""
    driver.execute_script("document.querySelector('.all-columns').open = true")
    for row in driver.find_elements("css selector", ".cols li"):
        wanted = roles.get(row.find_element("tag name", "code").text, "")
        Select(row.find_element("tag name", "select")).select_by_value(wanted)


def choose(driver, field: str, value: str) -> None:
    """Choose one of the further settings."""
    driver.execute_script("document.querySelector('.settings').open = true")
    Select(driver.find_element("id", field)).select_by_value(value)


def choose_direction(driver, direction: str) -> None:
    """Say which way biased reports go."""
    driver.find_element("css selector", f"#direction [value={direction}]").click()


def read(driver, rows: int) -> None:
    until(lambda: f"{rows:,} rows" in text(driver, "#table_read"), "the table is read")
    until(lambda: text(driver, "#audit"), "the table is looked over")


def answered(driver) -> None:
    until(lambda: driver.find_elements("css selector", "#picture_shown svg"), "there is an answer")


def facts(driver) -> dict[str, str]:
    driver.execute_script("document.querySelector('.numbers').open = true")
    found = driver.find_elements("css selector", "#answer .facts div")
    return {one.find_element("tag name", "dt").text: one.find_element("tag name", "dd").text for one in found}


def totals(driver) -> dict[str, list[str]]:
    """Group -> rows, reported, calibrated, interval and change, as the page shows them."""
    rows = driver.find_elements("css selector", "#totals tbody tr")
    return {
        row.find_element("tag name", "th").text: [cell.text for cell in row.find_elements("tag name", "td")]
        for row in rows
    }


def download(driver, link: str, folder: Path) -> Path:
    """Follow a link of the answer and wait for the whole file."""
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    element = driver.find_element("id", link)
    path = folder / element.get_attribute("download")
    path.unlink(missing_ok=True)
    driver.execute_script("arguments[0].click()", element)
    return arrived(path)


def arrived(path: Path) -> Path:
    until(path.exists, f"{path} arrives")
    return path
