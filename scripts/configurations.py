"""Run the tests of answers again in other configurations: what must not matter does not.

python scripts/configurations.py                 all of them, one after the other
python scripts/configurations.py polars saved    these
python scripts/configurations.py --turn 17       one, another for every number: what CI runs

Rows in pieces of seven, two threads, a plain processor, tables as polars, Parquet and Arrow, fits that are
saved and loaded, a language that writes commas, a far time zone. `tests/configured.py` makes them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from plain_cpu import settings

ROOT = Path(__file__).resolve().parents[1]
# Tests of what is read, answered, written and loaded, which take seconds.
FILES = (
    "tests/test_formula.py", "tests/test_manners.py", "tests/reading", "tests/table/test_encode.py",
    "tests/scale/test_streams.py", "tests/scale/test_totals.py", "tests/cli/test_totals.py",
    "tests/cli/test_calibrate.py", "tests/analysis/test_impute.py", "tests/store/test_fit.py",
)  # fmt: skip
CONFIGURATIONS = {
    "pieces": {"PROXYCAL_TEST_PIECES": "7"},
    "two-threads": {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"},
    "plain-processor": {},
    "polars": {"PROXYCAL_TEST_TABLES": "polars"},
    "parquet": {"PROXYCAL_TEST_TABLES": "parquet"},
    "arrow": {"PROXYCAL_TEST_TABLES": "arrow"},
    "saved": {"PROXYCAL_TEST_SAVED": "1"},
    "commas": {"PROXYCAL_TEST_LOCALE": "de_DE", "LC_ALL": "de_DE", "LANG": "de_DE"},
    "time-zone": {"TZ": "Pacific/Kiritimati"},
}


def main(asked: list[str]) -> int:
    """Run the configurations that are named, and say how each went."""
    names = list(CONFIGURATIONS)
    if asked[:1] == ["--turn"]:
        asked = [names[int(asked[1]) % len(names)]]
    unknown = sorted(set(asked) - set(names))
    if unknown:
        print(f"no configuration {', '.join(unknown)}: use {', '.join(names)}", file=sys.stderr)
        return 2
    failed = []
    for name in asked or names:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            code = _run(name, folder)
        print(f"{name}: {'ok' if code == 0 else 'FAILED'} ({time.monotonic() - start:.0f} s)", flush=True)
        failed += [name] * (code != 0)
    return 1 if failed else 0


def _run(name: str, folder: str) -> int:
    variables = {"OMP_NUM_THREADS": "1", **CONFIGURATIONS[name]}
    if name == "plain-processor":
        variables |= settings()
    if name == "commas" and not _make_locale(folder):
        print("commas: no localedef on this computer, so it is not run", file=sys.stderr)
        return 0
    command = [sys.executable, "-m", "pytest", "-p", "no:shiny-test", "-m", "not slow", *FILES]
    known = os.environ | {"LOCPATH": folder} if name == "commas" else os.environ
    return subprocess.run(command, cwd=ROOT, env={**known, **variables}, check=False).returncode


def _make_locale(folder: str) -> bool:
    """German in a folder of its own: most computers have the parts of a language, few have it ready."""
    command = ["localedef", "-i", "de_DE", "-f", "UTF-8", f"{folder}/de_DE"]
    try:
        subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return Path(folder, "de_DE").is_dir()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
