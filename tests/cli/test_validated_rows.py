"""Validated rows in the shell, from too few to all of them, and truths that cannot be: one line each."""

from __future__ import annotations

import numpy as np
import pytest

from cli.shell import ASKED, make_table, refused, simulated
from proxycal.cli import main

TRUTH = [*ASKED, "--truth", "truth"]


def write(folder, known, change=lambda truth: truth):
    """A table of 240 rows, the first `known` of them with their truth."""
    table, truth = make_table().drop(columns="county"), simulated().truth["y_true"]
    table["truth"] = change(truth.where(np.arange(len(table)) < known))
    table.to_csv(folder / "t.csv", index=False)
    return str(folder / "t.csv")


@pytest.mark.parametrize(("known", "counted"), [(29, "29 rows"), (1, "1 row"), (0, "0 rows")])
def test_too_few_to_learn_from(known, counted, tmp_path, capsys):
    table, run = write(tmp_path, known), str(tmp_path / "run")
    assert main(["check", table, *TRUTH]) == 0
    out, err = capsys.readouterr()
    assert f"Column 'truth' has the true value of {known} of 240 rows" in out
    assert main(["fit", table, *TRUTH, "--out", run]) == 0
    out, err = capsys.readouterr()
    assert "exact *" in out
    assert err == (
        f"warning: column 'truth' validates {counted}, and calibration is learned from 30 on: "
        "fewer only check the answer\n"
    )
    for command in (["calibrate", run, table, "--out", str(tmp_path / "c.csv")], ["totals", run, table]):
        assert main(command) == 0
        assert capsys.readouterr().err == ""
    assert main(["audit", run, table, "--n", "20", "--out", str(tmp_path / "sheet.csv")]) == 0
    out, err = capsys.readouterr()
    assert f"of {240 - known} rows" in out
    assert err == ""


def test_thirty_are_learned_from(tmp_path, capsys):
    table, run = write(tmp_path, 30), str(tmp_path / "run")
    assert main(["fit", table, *TRUTH, "--out", run]) == 0
    out, err = capsys.readouterr()
    assert "validated *" in out
    assert err == ""


def test_all_rows_validated_leave_nothing_to_audit(tmp_path, capsys):
    table, run = write(tmp_path, 240), str(tmp_path / "run")
    assert main(["fit", table, *TRUTH, "--out", run, "--quiet"]) == 0
    assert main(["totals", run, table]) == 0
    assert capsys.readouterr().err == ""
    said = refused(capsys, tmp_path, ["audit", run, table, "--n", "20", "--out", str(tmp_path / "sheet.csv")])
    assert said == "error: all 240 rows are validated already: there is nothing left to audit\n"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda truth: 1000.0 * truth, "times column 'loss' in validated rows, as if it were in other units"),
        (
            lambda truth: truth.map("high".format, na_action="ignore"),
            "must be numeric but holds text ('high')",
        ),
        (lambda truth: truth.astype(object).where(truth.index != 3, "about 5"), "beside 'about 5'"),
    ],
)
def test_what_cannot_be_a_truth_is_one_line(change, said, tmp_path, capsys):
    table, run = write(tmp_path, 60, change), str(tmp_path / "run")
    assert main(["check", table, *TRUTH]) == 2
    assert "1 to fix before a fit" in capsys.readouterr().out
    assert said in refused(capsys, tmp_path, ["fit", table, *TRUTH, "--out", run])
