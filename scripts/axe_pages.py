"""Look at every state of the page with axe, in light and dark and on two screens, and write what it finds.

    python scripts/axe_pages.py

It needs Chromium, its driver and selenium-axe-python (extra dev), and writes docs/accessibility.md. All
violations count, whatever their impact; all parts that fold are open.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from selenium_axe_python import Axe  # noqa: E402

from app.driving import choose_direction, download, open_page, read, text, totals, until, upload  # noqa: E402
from browser import chromium, missing, use_scheme, use_width  # noqa: E402
from messy_files import noisy  # noqa: E402
from test_messy_files import fill  # noqa: E402

PAGE = ROOT / "docs" / "accessibility.md"
HEAD = """# Accessibility

The page of `proxycal app` and the report are checked with [axe](https://github.com/dequelabs/axe-core),
the rules of WCAG 2.2 AA and its best practices, in a real browser: `scripts/axe_pages.py` wrote this table.
All parts that fold are open. That nothing serious is found is a test; this page counts everything.

| page | screen | scheme | rules passed | violations |
|---|---:|---|---:|---|
"""


def main() -> None:
    """Walk through the states and write the page."""
    if missing():
        sys.exit(missing())
    command = [sys.executable, "-u", "-m", "proxycal", "app", "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        address = program.stdout.readline().split()[-1]
        try:
            with tempfile.TemporaryDirectory() as name, chromium(Path(name, "profile")) as driver:
                lines = walk(driver, address, Path(name))
        finally:
            program.terminate()
    PAGE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def walk(driver, address: str, folder: Path) -> list[str]:
    """From the open page over "not identified" to the answer with checked rows; a line for each look."""
    table, true = noisy()
    table.to_csv(folder / "losses.csv", index=False)
    lines: list[str] = []
    open_page(driver, address)
    lines += looked(driver, "start")
    upload(driver, folder / "losses.csv")
    read(driver, len(table))
    lines += looked(driver, "six questions and checks")
    choose_direction(driver, "under")
    driver.find_element("id", "run").click()
    until(lambda: "An assumption" in text(driver, "#what_if"), "there is an answer")
    lines += looked(driver, "not identified, what if, audit")
    sheet = download(driver, "get_audit", folder)
    fill(sheet, true)
    driver.find_element("id", "filled").send_keys(str(sheet))
    until(lambda: "rows were checked" in text(driver, "#answer"), "the sheet came back")
    until(lambda: "to" in totals(driver)["all rows"][3], "there are totals")
    lines += looked(driver, "answer with totals")
    report = download(driver, "get_report", folder)
    driver.get(report.as_uri())
    return lines + looked(driver, "report")


def looked(driver, page: str) -> list[str]:
    """What axe finds on the page as it is."""
    driver.execute_script("document.querySelectorAll('details').forEach(part => part.open = true)")
    lines = []
    for width in (400, 1280):
        use_width(driver, width)
        for scheme in ("light", "dark"):
            use_scheme(driver, scheme)
            checker = Axe(driver)
            checker.inject()
            found = checker.run(options={})
            said = ", ".join(f"{one['id']} ({len(one['nodes'])})" for one in found["violations"])
            lines.append(f"| {page} | {width} px | {scheme} | {len(found['passes'])} | {said or 'none'} |")
            for one in found["violations"]:
                print(page, one["id"], one["impact"], [node["html"][:160] for node in one["nodes"]][:2])
    use_width(driver, 1280)
    use_scheme(driver, "light")
    return lines


if __name__ == "__main__":
    main()
