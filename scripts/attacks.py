"""Attacks on the package, each in a process of its own with limits on time and memory, and what came of them.

    python scripts/attacks.py                         runs all, prints what did not hold
    python scripts/attacks.py --out after.csv         and writes a row for each
    python scripts/attacks.py --page before.csv after.csv benchmarks/attacks.md    the two side by side

Expected of every attack: exit 0 or 2, one accurate message, no data changed, bounded memory and time. The
same script runs against another version: put its `src` first on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import attack_input
import attack_places
from attack_cases import Case, prepare

SECONDS, BYTES = 20, 6 * 2**30
# One list, to which the modules add.
CASES = attack_input.CASES and attack_places.CASES


def attempt(case: Case, model: Path) -> tuple[bool, str, float]:
    """Whether the package held, what was seen, and the seconds that it took."""
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        here = Path(name) / "here"
        shutil.copytree(model, here)
        start = time.monotonic()
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(reading)
            _in_child(case, here, writing)
        os.close(writing)
        ended = _wait(pid, case.seconds or SECONDS)
        seconds = time.monotonic() - start
        with os.fdopen(reading, "rb") as told:
            content = told.read()
    if not ended:
        return False, f"no answer in {case.seconds or SECONDS} s", seconds
    if not content:
        return False, "the process died", seconds
    held, seen = json.loads(content)
    return held, seen.replace(f"{here}/", "").replace(f" on {socket.gethostname()} ", " on HOST "), seconds


def _in_child(case: Case, here: Path, writing: int) -> None:
    """Never returns: the case is all that this process does."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(here)
    try:
        found = case.run(here)
    except MemoryError:
        found = (False, f"more than {BYTES / 2**30:g} GiB of memory")
    except BaseException as error:
        if os.environ.get("PROXYCAL_DEBUG") == "1":
            traceback.print_exc()
        found = (False, f"{type(error).__name__}: {error}")
    with os.fdopen(writing, "wb") as told:
        told.write(json.dumps((bool(found[0]), " ".join(str(found[1]).split())[:300])).encode())
    os._exit(0)


def _wait(pid: int, seconds: float) -> bool:
    """Whether the process ended by itself; if not it is killed, with all that it started."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return True
        time.sleep(0.01)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return False


def run(cases: list[Case]) -> list[dict[str, str]]:
    """A row for each case."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        model = prepare(Path(name))
        for case in cases:
            held, seen, seconds = attempt(case, model)
            print(f"{'held' if held else 'NOT '}  {seconds:6.1f} s  {case.name}: {seen[:150]}", flush=True)
            rows.append({"item": str(case.item), "attack": case.name, "held": "yes" if held else "no",
                         "seen": seen, "seconds": f"{seconds:.1f}"})  # fmt: skip
    return rows


def page(before: Path, after: Path) -> str:
    """The two runs side by side, as Markdown."""
    old, new = (
        {row["attack"]: row for row in csv.DictReader(path.open(encoding="utf-8"))}
        for path in (before, after)
    )
    held = [sum(row["held"] == "yes" for row in rows.values()) for rows in (old, new)]
    lines = [
        "# Attacks, before and after",
        "",
        f"{len(new)} attacks; {held[0]} of the {len(old)} that were tried held before, {held[1]} hold now. "
        "Made by `scripts/attacks.py`: each attack runs in a process of its own with limits on time and "
        "memory.",
        "",
        "| attack | before | now | what is seen now |",
        "|---|---|---|---|",
    ]
    for name, row in new.items():
        was = old.get(name, {"held": "not tried", "seen": ""})
        shown = "held" if was["held"] == "yes" else was["seen"] or was["held"]
        cells = (name, shown, "held" if row["held"] == "yes" else "NOT HELD", row["seen"])
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")[:200]


def main() -> int:
    """Exit 1 if something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="only those that the tests run")
    parser.add_argument("--only", default="", help="only those whose name holds this text")
    parser.add_argument("--out", type=Path, help="CSV file to write")
    parser.add_argument("--page", nargs=3, type=Path, metavar=("BEFORE", "AFTER", "PAGE"))
    given = parser.parse_args()
    if given.page:
        given.page[2].write_text(page(given.page[0], given.page[1]), encoding="utf-8")
        return 0
    chosen = [case for case in CASES if given.only in case.name and (case.quick or not given.quick)]
    rows = run(chosen)
    if given.out:
        with given.out.open("w", newline="", encoding="utf-8") as lines:
            writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    lost = [row for row in rows if row["held"] == "no"]
    print(f"{len(rows) - len(lost)} of {len(rows)} held")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
