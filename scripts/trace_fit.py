"""The path of one table through `proxycal fit`: which files it passes, and how often it changes rooms.

    python scripts/trace_fit.py            the path of the JOBS demonstration, file by file
    python scripts/trace_fit.py --count    the two figures only

A room is a folder of the package, or a module at its top. A switch is a step of the path, in order of
first visit, from a function in one room to a function in another.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import proxycal

ROOT = Path(proxycal.__file__).parent


def room_of(file: str) -> str:
    """The folder of the package, or the module at its top, that a file belongs to."""
    parts = Path(file).relative_to(ROOT).parts
    return parts[0].removesuffix(".py") if len(parts) == 1 else parts[0]


def trace(command: list[str]) -> list[tuple[str, str]]:
    """Every function of the package that `command` enters, as (file, name), in order of first visit."""
    visited: dict[tuple[str, str], None] = {}

    def enter(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)) and not code.co_name.startswith("<"):
            visited.setdefault((code.co_filename, code.co_qualname))

    from proxycal.cli import main

    sys.setprofile(enter)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main(command)
    finally:
        sys.setprofile(None)
    return list(visited)


def main() -> None:
    """Fit a simulated table from the shell's door and print its path."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", action="store_true", help="the two figures only")
    asked = parser.parse_args()
    sim = proxycal.simulate(n=400, d_z=2, d_e=3, n_proxies=3, alpha=5.0, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        sim.table.to_csv(table, index=False)
        roles = ["--outcome", sim.roles.outcome, "--proxies", ",".join(sim.roles.proxies)]
        roles += ["--environment", ",".join(sim.roles.environment), "--direction", "over"]
        steps = trace(["fit", str(table), *roles, "--out", str(Path(folder, "run"))])
    rooms = [room_of(file) for file, _ in steps]
    switches = sum(a != b for a, b in zip(rooms, rooms[1:], strict=False))
    if not asked.count:
        for (file, name), room in zip(steps, rooms, strict=True):
            print(f"{room:12} {Path(file).relative_to(ROOT)}  {name}")
    print(
        f"{len({file for file, _ in steps})} files, {len(steps)} functions, {switches} switches between rooms"
    )


if __name__ == "__main__":
    main()
