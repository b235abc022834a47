"""The path of one table through `proxycal fit`: which files it passes, and how often it changes rooms.

    python scripts/trace_fit.py            every step from one room to another
    python scripts/trace_fit.py --count    the figures only

A room is a folder of the package, or a module at its top. A switch is a call from a function of one room to a
function of another; the same two functions count once. What runs while a module is imported does not count.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import proxycal

if TYPE_CHECKING:
    from types import CodeType, FrameType

ROOT = Path(proxycal.__file__).parent


def is_ours(code: CodeType) -> bool:
    """Whether a piece of code belongs to the package."""
    return code.co_filename.startswith(str(ROOT))


def room_of(file: str) -> str:
    """The folder of the package, or the module at its top, that a file belongs to."""
    return Path(file).relative_to(ROOT).parts[0].removesuffix(".py")


def trace(command: list[str]) -> tuple[set[str], list[tuple[str, str]]]:
    """The files that `command` passes, and its switches as (caller, called), in the order of the path."""
    files: set[str] = set()
    switches: dict[tuple[str, str], None] = {}

    def enter(frame: FrameType, event: str, _: Any) -> None:
        code, caller = frame.f_code, frame.f_back
        if event != "call" or not is_ours(code) or code.co_name.startswith("<"):
            return
        files.add(code.co_filename)
        while caller is not None and not is_ours(caller.f_code):
            caller = caller.f_back
        if caller is None or not caller.f_code.co_flags & inspect.CO_OPTIMIZED:
            return  # the body of a module or of a class
        if room_of(caller.f_code.co_filename) != room_of(code.co_filename):
            switches.setdefault((_name(caller.f_code), _name(code)))

    from proxycal.cli import main

    sys.setprofile(enter)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main(command)
    finally:
        sys.setprofile(None)
    return files, list(switches)


def _name(code: CodeType) -> str:
    return f"{Path(code.co_filename).relative_to(ROOT)}:{code.co_qualname}"


def main() -> None:
    """Fit a simulated table from the shell's door and print its path."""
    parser = argparse.ArgumentParser(description="The path of one table through `proxycal fit`.")
    parser.add_argument("--count", action="store_true", help="the figures only")
    asked = parser.parse_args()
    sim = proxycal.simulate(n=400, d_z=2, d_e=3, n_proxies=3, alpha=5.0, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "table.csv")
        sim.table.to_csv(table, index=False)
        roles = ["--outcome", sim.roles.outcome, "--proxies", ",".join(sim.roles.proxies)]
        roles += ["--environment", ",".join(sim.roles.environment), "--direction", "over"]
        files, switches = trace(["fit", str(table), *roles, "--out", str(Path(folder, "run"))])
    if not asked.count:
        print(*(f"{caller} -> {called}" for caller, called in switches), sep="\n")
    print(f"{len(files)} files, {len(switches)} switches between rooms")


if __name__ == "__main__":
    main()
