"""A headless Chromium, for the tests of pages and for the screenshots."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from selenium.webdriver import Chrome


def missing() -> str:
    """Why there is no browser here; empty where there is one."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "browser tests need selenium: make test, which installs it"
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if absent:
        return (
            f"browser tests need {' and '.join(absent)} on the path: apt-get install chromium chromium-driver"
        )
    return ""


@contextmanager
def chromium(profile: Path, width: int = 1200, height: int = 1000) -> Iterator[Chrome]:
    """A driver that logs the console and every request; `profile` is an empty folder."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in ("--headless", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--hide-scrollbars", f"--window-size={width},{height}",
                 f"--user-data-dir={profile}"):  # fmt: skip
        options.add_argument(flag)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    # As long as selenium waits for its driver: on a busy machine 30 seconds, the default, are too few.
    driver.set_script_timeout(110)
    try:
        yield driver
    finally:
        driver.quit()


def use_scheme(driver: Chrome, scheme: str) -> None:
    """Make the page believe that the reader prefers "light" or "dark"."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def use_width(driver: Chrome, width: int, height: int = 1000) -> None:
    """Lay the page out for a screen of that width, in CSS pixels."""
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
