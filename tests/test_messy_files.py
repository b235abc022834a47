"""From a file as people keep it to totals by state that cover the truth: two commands, no editing."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import messy_files
from messy_files import ALL, KEPT, Messy, losses, noisy, truths, write_all
from proxycal.cli import main
from proxycal.reading.table import read_table
from proxycal.table.guess import guess_roles

READABLE = [messy for messy in ALL if not messy.refused]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("messy")
    write_all(made)
    return made


def fit_command(messy: Messy, path, run) -> list[str]:
    """The fit that `proxycal look` leads to, its guesses corrected."""
    proxies, environment = ",".join(messy.proxies), ",".join(messy.environment)
    roles = ["--outcome", messy.outcome, "--proxies", proxies, "--environment", environment]
    bias = ["--direction", "under", "--scale", "log", "--log-proxies", proxies]
    return ["fit", str(path), *roles, *bias, *messy.options, "--out", str(run), "-q"]


@pytest.mark.parametrize("messy", READABLE, ids=lambda messy: messy.name)
def test_what_is_read_is_what_was_kept(messy, folder):
    table, _ = losses()
    found = read_table(folder / messy.name, total_rows="drop")
    assert len(found) == len(table)
    known = found[messy.outcome].to_numpy(dtype=float)
    # To the cent, as dollars are written.
    np.testing.assert_allclose(known, table["reported_loss"], atol=0.005)
    assert found[messy.by].tolist() == table["state"].tolist()
    for name, column in zip(messy.proxies, ("flooded_area", "homes_flooded"), strict=True):
        values = found[name].to_numpy(dtype=float, na_value=np.nan)
        np.testing.assert_allclose(values[~np.isnan(values)], table[column].to_numpy()[~np.isnan(values)])


@pytest.mark.parametrize("messy", READABLE, ids=lambda messy: messy.name)
def test_the_guessed_roles_are_right_without_help(messy, folder):
    guesses = {
        one.column: one.role for one in guess_roles(read_table(folder / messy.name, total_rows="drop"))
    }
    assert guesses[messy.outcome] == "outcome"
    assert {name for name, role in guesses.items() if role == "proxies"} == set(messy.proxies)
    assert set(messy.environment) <= {name for name, role in guesses.items() if role == "environment"}


def test_what_cannot_be_understood_is_one_sentence_that_says_what_to_change(folder, capsys):
    (messy,) = (one for one in ALL if one.refused)
    assert main(fit_command(messy, folder / messy.name, folder / "refused")) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert messy.refused in said
    assert "rename or remove one of them" in said


def covered(totals: pd.DataFrame, by: str, true: pd.Series) -> pd.Series:
    """Whether each interval holds the truth."""
    rows = totals.set_index(by)
    return (rows["low"] <= true[rows.index]) & (true[rows.index] <= rows["high"])


def through_the_shell(messy: Messy, folder, true: pd.Series) -> None:
    path, run = folder / messy.name, folder / f"run of {messy.name}"
    assert main(fit_command(messy, path, run)) == 0
    out = folder / f"totals of {messy.name}.csv"
    reading = [part for part in messy.options if "missing" not in part]
    reading = reading if "--total-rows" in messy.options else []
    assert main(["totals", str(run), str(path), "--by", messy.by, *reading, "--out", str(out), "-q"]) == 0
    totals = pd.read_csv(out)
    assert totals["rows"].iloc[-1] == messy_files.ROWS
    inside = covered(totals, messy.by, true)
    assert inside["overall"]
    # Six states at 95%: all of them in 74 tables of 100, five in 97. This truth is one table.
    assert inside.drop("overall").sum() >= 5, totals
    whole = totals.iloc[-1]
    assert whole["high"] - whole["low"] < 0.1 * whole["calibrated"]


def test_from_a_file_to_a_total_by_state(folder):
    through_the_shell(READABLE[3], folder, truths(*losses()))


@pytest.mark.slow
@pytest.mark.parametrize("messy", READABLE, ids=lambda messy: messy.name)
def test_every_file_comes_to_its_totals(messy, folder):
    through_the_shell(messy, folder, truths(*losses()))


# --- ordinary noise: not identified, an audit, a total ---


def test_ordinary_noise_comes_to_a_total_by_an_audit(tmp_path, capsys):
    table, true = noisy()
    table.to_csv(tmp_path / "losses.csv", index=False)
    messy = Messy("losses.csv")
    run, sheet = tmp_path / "run", tmp_path / "sheet.xlsx"
    path = tmp_path / "losses.csv"
    assert main([part for part in fit_command(messy, path, run) if part != "-q"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("not identified")
    assert "proxycal audit" in said
    assert "proxycal band" in said
    assert main(["audit", str(run), str(path), "--n", "50", "--out", str(sheet), "-q"]) == 0
    fill(sheet, true)
    audited = tmp_path / "audited.csv"
    assert main(["audit", str(run), str(path), "--filled", str(sheet), "--out", str(audited), "-q"]) == 0
    again = [*fit_command(messy, audited, tmp_path / "run2"), "--truth", "truth"]
    assert main([*again, "--inclusion", "inclusion_probability"]) == 0
    capsys.readouterr()
    assert main(["totals", str(tmp_path / "run2"), str(audited), "--by", "state", "--json"]) == 0
    totals = pd.DataFrame(json.loads(capsys.readouterr().out)["totals"])
    inside = covered(totals, "state", truths(table, true))
    assert inside["overall"]
    assert inside.drop("overall").sum() >= 5, totals
    whole = totals.iloc[-1]
    # A total that was 10% too low is known to within 10%.
    assert whole["high"] - whole["low"] < 0.2 * whole["calibrated"]


def fill(sheet, true) -> None:
    """Type the truth of each row into the sheet, as an auditor does."""
    import openpyxl

    book = openpyxl.load_workbook(sheet)
    page = book.worksheets[0]
    heads = [cell.value for cell in page[1]]
    for line in range(2, page.max_row + 1):
        row = int(page.cell(line, heads.index("row") + 1).value)
        page.cell(line, heads.index("truth") + 1).value = float(true[row - 2])
    book.save(sheet)


def test_the_files_are_written_by_a_script(tmp_path):
    done = subprocess.run(
        [sys.executable, messy_files.__file__, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "overall" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"truth.csv", *(messy.name for messy in ALL)}
    assert KEPT == 0.4
