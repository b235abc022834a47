"""Take the pictures of the local page for the documentation: the columns and the answer of the example.

Run it with `python scripts/app_screenshots.py`; it needs Chromium and its driver. It uses the page as a
person would, three clicks from start to answer.
"""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from screenshots import ROOT, TARGET, shrunk

sys.path.insert(0, str(ROOT / "tests"))

from app.driving import answered, open_page, read, totals, until
from browser import chromium, missing, use_scheme, use_width
from proxycal.testing.example import ADULTS

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

# Name, element at whose top the picture begins (the page itself if none), height by width of the screen.
VIEWS = (("app", "", {1280: 1700, 400: 2600}), ("app-answer", "step5", {1280: 1290, 400: 1790}))


def main() -> None:
    """Run the example once and photograph it in every scheme and width."""
    if missing():
        sys.exit(missing())
    command = [sys.executable, "-u", "-m", "proxycal", "app", "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        address = program.stdout.readline().split()[-1]
        try:
            with tempfile.TemporaryDirectory() as name, chromium(Path(name)) as driver:
                photograph(driver, address)
        finally:
            program.terminate()


def photograph(driver: Chrome, address: str) -> None:
    """From the open page to the pictures."""
    open_page(driver, address)
    driver.find_element("id", "example").click()
    read(driver, ADULTS)
    driver.find_element("id", "run").click()
    answered(driver)
    driver.find_element("css selector", "#by option[value=race]").click()
    until(lambda: len(totals(driver)) > 2, "there are totals by group")
    for width in (1280, 400):
        for scheme in ("light", "dark"):
            use_scheme(driver, scheme)
            use_width(driver, width)
            for view, place, heights in VIEWS:
                target = TARGET / f"{view}-{scheme}-{width}.png"
                shrunk(part(driver, place, width, heights[width])).save(target, optimize=True)
                print(f"{target}: {target.stat().st_size / 1024:.0f} KB")


def part(driver: Chrome, place: str, width: int, height: int) -> bytes:
    """A picture of `height` that begins a little above an element."""
    top = f"document.getElementById('{place}').getBoundingClientRect().top + scrollY - 40" if place else "0"
    clip = {"x": 0, "y": driver.execute_script(f"return {top}"), "width": width, "height": height, "scale": 1}
    taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
    return base64.b64decode(taken["data"])


if __name__ == "__main__":
    main()
