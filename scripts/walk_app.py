"""Walk the app with a stranger's workbook, from the start of the program to the calibrated table on the disk.

    python scripts/walk_app.py

The workbook has dates, FIPS codes, notes, gaps, and losses in dollars with zeros. Every click of a person is
counted, the two of the browser's own dialogue for files included. Times are those of the machine as it is, so
the processor time of the program is printed beside them. What axe finds on each state of the page is printed,
and the errors of the console; looking takes no part of the time. It needs Chromium and its driver.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from selenium.webdriver.support.select import Select  # noqa: E402
from selenium_axe_python import Axe  # noqa: E402

from app.driving import answered, choose_direction, download, open_page, read, roles_on, text, upload  # noqa: E402
from browser import chromium, missing, use_scheme  # noqa: E402

ROWS = 700


def workbook(folder: Path) -> Path:
    """Losses by county as their owner has them; a third of the reports are 30% of the loss."""
    rng = np.random.default_rng(8)
    wealth = rng.normal(size=ROWS)
    size = 11.0 + 0.4 * wealth + 1.2 * rng.normal(size=ROWS)
    low = rng.random(ROWS) < 1.0 / (1.0 + np.exp(1.0 - 1.5 * wealth))
    loss = np.exp(size + 0.2 * rng.normal(size=ROWS)) * np.where(low, 0.3, 1.0)
    loss[rng.random(ROWS) < 0.15] = 0.0
    homes = np.exp(0.8 * size + 0.3 * rng.normal(size=ROWS))
    table = pd.DataFrame(
        {
            "fips": [f"{1001 + 2 * i:05d}" for i in range(ROWS)],
            "date": pd.date_range("2023-01-01", periods=ROWS).date,
            "reported_loss": [f"${value:,.2f}" for value in loss],
            "flooded_area": np.exp(size - 5.0 + 0.3 * rng.normal(size=ROWS)).round(1),
            "homes_value": [f"${value:,.0f}" for value in homes],
            "income": (52_000.0 + 9_000.0 * wealth).round(0),
            "region": rng.choice(["coast", "plain", "hills"], ROWS),
            "notes": [f"claim {i}; adjuster {i % 9}" for i in range(ROWS)],
        }
    )
    table.loc[rng.choice(ROWS, 12, replace=False), "homes_value"] = None
    path = folder / "county losses.xlsx"
    table.to_excel(path, index=False)
    return path


class Clock:
    """Seconds since the start, without those of checks."""

    def __init__(self) -> None:
        self.start = time.monotonic()

    def __str__(self) -> str:
        return f"{time.monotonic() - self.start:.0f} s"

    def grave(self, driver) -> list[str]:
        """Names of the serious violations on the page as it is; the clock stands still meanwhile."""
        begun = time.monotonic()
        checker = Axe(driver)
        checker.inject()
        found = checker.run(options={})
        self.start += time.monotonic() - begun
        return [one["id"] for one in found["violations"] if one["impact"] in ("serious", "critical")]


def main() -> None:
    """Walk, and print what it took."""
    if missing():
        sys.exit(missing())
    clock = Clock()
    command = [sys.executable, "-u", "-m", "proxycal", "app", "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        address = program.stdout.readline().split()[-1]
        try:
            with tempfile.TemporaryDirectory() as name, chromium(Path(name, "profile")) as driver:
                walk(driver, address, Path(name), clock)
        finally:
            program.terminate()
            # Of the program and the run it started; the browser's own is not in it.
            _, status, used = os.wait4(program.pid, 0)
            program.returncode = os.waitstatus_to_exitcode(status)
    print(f"processor time of the program: {used.ru_utime + used.ru_stime:.0f} s")


def walk(driver, address: str, folder: Path, clock: Clock) -> None:
    """From the open page to the file."""
    path, violations = workbook(folder), {}
    open_page(driver, address)
    print(f"page open: {clock}")
    violations["start"] = clock.grave(driver)
    upload(driver, path)
    clicks = 2
    read(driver, ROWS)
    print(
        f"{text(driver, '#table_read').splitlines()[0]}\nroles suggested: {roles_on(driver)}\nread: {clock}"
    )
    violations["table read"] = clock.grave(driver)
    choose_direction(driver, "under")
    driver.find_element("css selector", "#scale [value=log]").click()
    Select(driver.find_element("id", "missing")).select_by_value("drop")
    driver.find_element("id", "run").click()
    clicks += 1 + 1 + 2 + 1
    answered(driver)
    print(f"{text(driver, '#answer .sentence')}\nresult: {clock}")
    (folder / "downloads").mkdir()
    calibrated = download(driver, "get_table", folder / "downloads")
    clicks += 1
    print(f"calibrated table of {calibrated.stat().st_size:,} bytes: {clock}, {clicks} clicks")
    violations["result"] = clock.grave(driver)
    driver.execute_script("document.querySelectorAll('details').forEach(part => part.open = true)")
    for scheme in ("light", "dark"):
        use_scheme(driver, scheme)
        violations[f"result, all open, {scheme}"] = clock.grave(driver)
    print(f"serious violations by axe: {violations}")
    print(f"console: {[line['message'] for line in driver.get_log('browser')]}")


if __name__ == "__main__":
    main()
