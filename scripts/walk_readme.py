"""Walk the commands of the README on tables of a stranger's making, each command as it is printed.

    python scripts/walk_readme.py [FOLDER]

Three tables are written: a European export (semicolons, decimal commas, Latin-1 letters), losses in dollars
with zeros, and a spreadsheet with dates, codes and notes. Each is walked from `proxycal check`, the first
command of the README, by the commands that the program prints next, to `proxycal totals`.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parent.parent
STEPS = ("check", "fit", "calibrate", "totals")


@dataclass(frozen=True, slots=True)
class Stranger:
    """A table as its owner has it: the file, the options of `check`, the direction, and what is true of it.

    size : of the bias, as the program reports it (an amount, or the share that biased rows report).
    """

    file: str
    options: str
    direction: str
    size: float


def european(folder: Path) -> Stranger:
    """Semicolons, decimal commas, Latin-1 letters, CRLF; half of the reports are 2 too low."""
    rng = np.random.default_rng(1)
    n = 500
    income = rng.normal(30.0, 6.0, n)
    true = 20.0 + 0.2 * (income - 30.0) + 3.0 * rng.normal(size=n)
    low = rng.random(n) < 1.0 / (1.0 + np.exp(-0.5 * (income - 30.0)))
    columns = {
        "Gemeinde": [f"Böblingen {i}" for i in range(n)],
        "Schlüssel": [f"0{8115000 + i}" for i in range(n)],
        "Schaden": true - 2.0 * low,
        "Radar": true + 0.5 * rng.normal(size=n),
        "Luftbild": 0.5 * true + 0.4 * rng.normal(size=n),
        "Einkommen": income,
    }
    lines = [";".join(columns)]
    for row in zip(*columns.values(), strict=True):
        written = (value if isinstance(value, str) else f"{value:.3f}".replace(".", ",") for value in row)
        lines.append(";".join(written))
    (folder / "schäden.csv").write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    options = "--outcome Schaden --proxies Radar,Luftbild --environment Einkommen"
    return Stranger("schäden.csv", options, "under", 2.0)


def dollars(folder: Path) -> Stranger:
    """Losses in dollars, a fifth of them 0; a third of the others report 30% of the loss."""
    rng = np.random.default_rng(2)
    n = 800
    income, region = rng.normal(size=n), rng.choice(["coast", "plain", "hills"], n)
    size = 11.0 + 0.4 * income + 1.2 * rng.normal(size=n)
    area, homes = np.exp(size - 5.0 + 0.3 * rng.normal(size=n)), np.exp(0.8 * size + 0.3 * rng.normal(size=n))
    low = rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - 1.5 * income))
    loss = np.where(
        rng.random(n) < 0.2, 0.0, np.exp(size + 0.2 * rng.normal(size=n)) * np.where(low, 0.3, 1.0)
    )
    table = pd.DataFrame(
        {
            "county": [f"{1001 + 2 * i:05d}" for i in range(n)],
            "loss": [f"${value:,.2f}" for value in loss],
            "flooded_area": [f"{value:,.1f}" for value in area],
            "homes_value": [f"${value:,.0f}" for value in homes],
            "income": income.round(3),
            "region": region,
        }
    )
    table.to_csv(folder / "losses.csv", index=False)
    options = (
        "--outcome loss --proxies flooded_area,homes_value --environment income,region --scale log "
        "--log-proxies flooded_area,homes_value"
    )
    return Stranger("losses.csv", options, "under", 0.3)


def spreadsheet(folder: Path) -> Stranger:
    """A workbook with dates, codes, notes and gaps; some clerks add 5 to what they report."""
    rng = np.random.default_rng(3)
    n = 600
    staff, office = rng.normal(12.0, 3.0, n), rng.choice(["north", "south"], n)
    true = 40.0 + 0.5 * (staff - 12.0) + 2.0 * rng.normal(size=n)
    high = rng.random(n) < 1.0 / (1.0 + np.exp(-0.8 * (staff - 12.0)))
    invoices = true + 0.6 * rng.normal(size=n)
    invoices[rng.choice(n, 17, replace=False)] = np.nan
    table = pd.DataFrame(
        {
            "case": [f"{i:06d}" for i in range(n)],
            "day": pd.date_range("2024-01-01", periods=n).date,
            "zip": [f"0{1000 + i}" for i in range(n)],
            "claimed": true + 5.0 * high,
            "invoices": invoices,
            "photos": 0.7 * true + 0.5 * rng.normal(size=n),
            "staff": staff,
            "office": office,
            "notes": [f"see file {i}, page {i % 7}; urgent" for i in range(n)],
        }
    )
    table.to_excel(folder / "claims.xlsx", index=False)
    options = "--outcome claimed --proxies invoices,photos --environment staff,office --id case"
    return Stranger("claims.xlsx", options, "over", 5.0)


STRANGERS = (european, dollars, spreadsheet)


def in_a_shell(command: str, folder: Path) -> tuple[int, str]:
    """The exit code of a command and what it prints, its errors last."""
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, env=_environment(folder), capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr


def walk(
    stranger: Stranger,
    folder: Path,
    run: Callable[[str, Path], tuple[int, str]] = in_a_shell,
    *,
    show: bool = False,
) -> list[str]:
    """Run `check` and then each command that is printed next; return what each of them printed.

    A command that fails, or prints no next command before `totals`, ends the walk with an error.
    """
    command, printed = f"proxycal check '{stranger.file}' {stranger.options}", []
    for step in STEPS:
        assert command.split()[1] == step, f"{command!r} is not `proxycal {step}`"
        code, said = run(command, folder)
        text = f"$ {command}\n{said}"
        if show:
            print(text)
        if code != 0:
            raise SystemExit(f"{text}\nexit code {code}")
        printed.append(text)
        if step != STEPS[-1]:
            command = next_command(said, stranger.direction)
    return printed


def next_command(text: str, direction: str) -> str:
    """The command that is printed below "next:", for this direction of the bias where there are two."""
    below = text[text.index("next:") :].removeprefix("next:")
    commands = [line.strip() for line in below.splitlines() if line.strip().startswith("proxycal ")]
    chosen = [line for line in commands if f"--direction {direction}" in line] or commands
    return chosen[0]


def _environment(folder: Path) -> dict[str, str]:
    """A shell that finds `proxycal`, as after an installation."""
    programs = folder / ".bin"
    programs.mkdir(exist_ok=True)
    program = programs / "proxycal"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m proxycal "$@"\n', encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    path = os.pathsep.join([str(programs), os.environ.get("PATH", "")])
    source = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PATH": path, "PYTHONPATH": source}


def main(place: str | None = None) -> None:
    """Walk all three tables and print what a person would see."""
    with tempfile.TemporaryDirectory() as temporary:
        for make in STRANGERS:
            folder = Path(place or temporary, make.__name__)
            folder.mkdir(parents=True)
            walk(make(folder), folder, show=True)
    print("All commands ran as printed.")


if __name__ == "__main__":
    main(*sys.argv[1:2])
