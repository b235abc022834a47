"""The options of reading hold wherever a table is read, and stand in the commands that are printed."""

from __future__ import annotations

import shlex

import pandas as pd
import pytest

import proxycal
from cli.shell import ASKED, ROLES, make_table, refused
from proxycal.cli import main

FIT = ["--config", "small.toml", "--quiet"]


@pytest.fixture
def messy(here):
    """The table of the other tests with a title, a total at its end, and a second word for a gap."""
    table = make_table()
    total = table.select_dtypes("number").sum().round(6)
    lines = table.round(6).to_csv(index=False).splitlines()
    cells = {"county": "Total", **total.to_dict()}
    lines += [",".join(str(cells.get(name, "")) for name in table.columns)]
    (here / "messy.csv").write_text("Losses of last year\n\n" + "\n".join(lines) + "\n")
    return here


def test_a_total_is_refused_by_every_command_that_reads(messy, capsys, fitted):
    commands = (
        ["check", "messy.csv", *ROLES],
        ["fit", "messy.csv", *ASKED, *FIT, "--out", "run"],
        ["calibrate", str(fitted), "messy.csv", "--out", "out.csv"],
        ["totals", str(fitted), "messy.csv"],
        ["audit", str(fitted), "messy.csv", "--out", "sheet.csv"],
    )
    for command in commands:
        said = refused(capsys, messy, command)
        assert "messy.csv': 1 row is a total of other rows: row 244 ('Total')" in said
        assert "Pass --total-rows drop to leave them out, or pass --total-rows keep" in said


def test_dropped_or_kept_it_is_read_by_every_command(messy, capsys):
    drop = ["--total-rows", "drop"]
    assert main(["check", "messy.csv", *ASKED, *drop]) == 0
    out = capsys.readouterr().out
    assert "column names in row 3, 1 row with totals left out" in out
    command = shlex.split(out[out.index("proxycal fit") :])[1:]
    assert command[command.index("--total-rows") + 1] == "drop"
    assert main([*command, *FIT]) == 0
    assert proxycal.load("run").result_.n == 240
    assert main(["calibrate", "run", "messy.csv", "--out", "out.csv", *drop]) == 0
    assert "--total-rows drop" in capsys.readouterr().out
    assert len(pd.read_csv("out.csv")) == 240
    assert main(["totals", "run", "messy.csv", *drop]) == 0
    capsys.readouterr()
    # Kept, it is a row like any other, and this one has a gap.
    assert main(["calibrate", "run", "messy.csv", "--out", "kept.csv", "--total-rows", "keep"]) == 2
    assert "column 'hazard' holds 1 missing value, at row 244 of the file" in capsys.readouterr().err


def test_the_audited_table_is_that_without_its_totals(messy, capsys):
    drop = ["--total-rows", "drop"]
    assert main(["fit", "messy.csv", *ASKED, *FIT, *drop, "--out", "run"]) == 0
    assert main(["audit", "run", "messy.csv", "--n", "35", *drop, "--out", "sheet.csv", "--quiet"]) == 0
    sheet = pd.read_csv("sheet.csv")
    assert sheet["row"].between(4, 243).all()  # the header is row 3
    lines = (messy / "messy.csv").read_text().splitlines()
    position = list(make_table().columns).index("loss")
    for row, loss in zip(sheet["row"], sheet["loss"], strict=True):
        assert float(lines[row - 1].split(",")[position]) == pytest.approx(loss)
    sheet.assign(truth=sheet["loss"]).to_csv("sheet.csv", index=False)
    capsys.readouterr()
    asked = ["--filled", "sheet.csv", "--out", "audited.csv", *drop]
    assert main(["audit", "run", "messy.csv", *asked]) == 0
    assert "35 of 240 rows are validated" in capsys.readouterr().out


def test_what_cannot_be_said_is_one_line(here, capsys):
    assert "use 'keep' or 'drop'" in refused(
        capsys, here, ["check", "table.csv", *ROLES, "--total-rows", "x"]
    )
    assert "row 9999" in refused(capsys, here, ["check", "table.csv", *ROLES, "--header-row", "9999"])


def test_signs_and_words_are_taken(here, capsys):
    table = make_table().assign(loss=lambda t: t["loss"].map("{:.3f}".format).str.replace(".", ","))
    table.loc[3, "p_1"] = -999.0
    table.to_csv("t.csv", index=False)
    said = ["--decimal", ",", "--missing-values", "-999.0,x"]
    assert main(["check", "t.csv", *ASKED, *said]) == 0
    out = capsys.readouterr().out
    assert "1 of 240 missing" in out
    command = shlex.split(next(line for line in out.splitlines() if "proxycal fit" in line))
    assert command[command.index("--missing-values") + 1] == "-999.0,x"
