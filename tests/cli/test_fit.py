"""`proxycal fit` as a shell sees it: what it refuses, what it writes, what it prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import proxycal
from cli.shell import ASKED, everything_in, make_table, refused, simulated
from proxycal.cli import main


def test_a_missing_file(capsys, here):
    assert "'nope.csv'" in refused(capsys, here, ["fit", "nope.csv", *ASKED, "--out", "run"])


def test_an_empty_file(capsys, here):
    (here / "empty.csv").write_text("")
    assert "empty" in refused(capsys, here, ["fit", "empty.csv", *ASKED, "--out", "run"])


def test_a_header_without_rows(capsys, here):
    (here / "header.csv").write_text("loss,p_1,p_2,p_3,income,hazard\n")
    assert "no rows" in refused(capsys, here, ["fit", "header.csv", *ASKED, "--out", "run"])


def test_duplicate_headers_are_not_renamed(capsys, here):
    (here / "twice.csv").write_text("loss,loss,p_1\n1,2,3\n4,5,6\n")
    assert "two columns named 'loss'" in refused(capsys, here, ["fit", "twice.csv", *ASKED, "--out", "run"])


def test_another_kind_of_file(capsys, here):
    (here / "table.sav").write_bytes(b"$FL2")
    assert ".csv" in refused(capsys, here, ["fit", "table.sav", *ASKED, "--out", "run"])


def test_a_missing_column(capsys, here):
    args = ["fit", "table.csv", "--outcome", "losses", "--proxies", "p_1", "--environment", "income"]
    message = refused(capsys, here, [*args, "--direction", "over", "--out", "run"])
    assert "'losses'" in message


def test_a_column_in_two_roles(capsys, here):
    args = ["fit", "table.csv", "--outcome", "loss", "--proxies", "p_1,loss", "--environment", "income"]
    message = refused(capsys, here, [*args, "--out", "run"])
    assert "'loss'" in message
    assert "outcome and proxies" in message


def test_no_proxies(capsys, here):
    args = ["fit", "table.csv", "--outcome", "loss", "--environment", "income", "--out", "run"]
    assert "--proxies" in refused(capsys, here, args)
    assert "proxies is empty" in refused(capsys, here, [*args, "--proxies", ","])


@pytest.mark.parametrize(
    ("column", "row", "value", "says"),
    [
        ("loss", 4, "much", "'loss'"),
        ("loss", 7, "", "missing"),
        ("p_2", 9, "", "missing"),
        ("loss", 5, "inf", "infinite"),
        ("income", 6, "-inf", "infinite"),
    ],
)
def test_values_that_cannot_be_used(column, row, value, says, capsys, here):
    table = make_table().astype({column: object})
    table.loc[row, column] = value
    table.to_csv("bad.csv", index=False)
    message = refused(capsys, here, ["fit", "bad.csv", *ASKED, "--out", "run"])
    assert says in message
    assert f"'{column}'" in message
    # The row of the file, whose header is row 1; of a column of text, the values themselves.
    assert f"row {row + 2}" in message or value in message


def test_a_constant_outcome(capsys, here):
    make_table().assign(loss=3.0).to_csv("flat.csv", index=False)
    message = refused(capsys, here, ["fit", "flat.csv", *ASKED, "--out", "run"])
    assert "'loss'" in message
    assert "constant" in message or "vary" in message or "same value" in message


def test_three_rows(capsys, here):
    make_table(240).head(3).to_csv("three.csv", index=False)
    assert "3 usable rows" in refused(capsys, here, ["fit", "three.csv", *ASKED, "--out", "run"])


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--direction", "sideways", '"over", "under"'),
        ("--method", "magic", '"paper"'),
        ("--missing", "guess", '"drop"'),
        ("--level", "95", "below 1"),
        ("--seed", "-1", "random_state"),
        ("--seed", "one", "'--seed'"),
        ("--flavour", "mild", "--flavour"),
    ],
)
def test_an_option_that_is_not_allowed(option, value, says, capsys, here):
    assert says in refused(capsys, here, ["fit", "table.csv", *ASKED, option, value, "--out", "run"])


def test_no_place_for_the_run(capsys, here):
    assert "--out is required" in refused(capsys, here, ["fit", "table.csv", *ASKED])


@pytest.mark.parametrize("place", ["table.csv", "table.csv/run", "/proc/run"])
def test_a_run_folder_that_cannot_be_written(place, capsys, here):
    assert place in refused(capsys, here, ["fit", "table.csv", *ASKED, "--out", place])


def test_a_folder_with_other_things_in_it_is_not_taken_for_a_run(capsys, here):
    (here / "thesis").mkdir()
    (here / "thesis" / "chapter.txt").write_text("years of work")
    args = ["fit", "table.csv", *ASKED, "--config", "small.toml", "--out", "thesis"]
    assert "chapter.txt" in refused(capsys, here, args)


def test_fit_writes_a_run_and_says_what_comes_next(capsys, here):
    assert main(["fit", "table.csv", *ASKED, "--config", "small.toml", "--out", "a run"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] in ("bias found", "no bias found", "not identified")
    for name in ("exact", "moments", "match"):
        assert name in out
    # Where nothing was identified, there is nothing to calibrate: what would help comes next.
    found = out.startswith("bias found") or out.startswith("no bias found")
    command = "calibrate 'a run' table.csv --out calibrated.csv" if found else "audit 'a run' table.csv"
    assert f"next:   proxycal {command}" in out
    assert "error" not in err
    run = everything_in(here / "a run")
    assert {"report.html", "manifest.json", "config.toml", "roles.json", "results.json"} <= run
    assert not [name for name in everything_in(here) if "tmp" in name]


def test_fit_as_json_equals_the_python_answer(capsys, here):
    assert main(["fit", "table.csv", *ASKED, "--config", "small.toml", "--out", "run", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    model = proxycal.load("run")
    assert result["alpha"] == model.alpha_
    assert (result["low"], result["high"]) == model.alpha_interval_
    assert result["verdict"] == model.verdict_
    assert [row["name"] for row in result["estimates"]] == list(model.summary().index)
    assert len(result["findings"]) == len(model.findings_)
    assert Path(result["report"]).is_file()


def test_same_seed_same_bytes(here, fitted):
    args = ["fit", "table.csv", *ASKED, "--id", "county", "--seed", "3", "--config", "small.toml"]
    assert main([*args, "--out", "again", "--quiet"]) == 0
    for name in ("tensors.safetensors", "results.json", "report.html"):
        assert (here / "again" / name).read_bytes() == (fitted / name).read_bytes(), name


def test_the_two_commands_of_a_user_remove_the_bias(capsys, here):
    assert main(["fit", "table.csv", *ASKED, "--out", "run"]) == 0
    assert capsys.readouterr().out.startswith("bias found\nloss is over-reported by about ")
    assert main(["calibrate", "run", "table.csv", "--out", "out.csv"]) == 0
    said = "240 rows calibrated: out.csv\n\nnext:   proxycal totals run table.csv\n"
    assert capsys.readouterr() == (said, "")
    answer, y_true = pd.read_csv("out.csv"), simulated().truth["y_true"].to_numpy()
    before = np.sqrt(np.mean((answer["loss"] - y_true) ** 2))
    after = np.sqrt(np.mean((answer["y_cal"] - y_true) ** 2))
    assert after < before / 2


def test_names_are_text_for_the_terminal(capsys, here):
    table = make_table().rename(columns={"loss": "[bold red]loss :bomb:"})
    table.to_csv("odd.csv", index=False)
    args = ["fit", "odd.csv", "--outcome", "[bold red]loss :bomb:", *ASKED[2:], "--config", "small.toml"]
    assert main([*args, "--out", "run"]) == 0
    assert "[bold red]loss :bomb:" in capsys.readouterr().out


def test_a_run_is_replaced_only_on_request(capsys, here):
    asked = ["fit", "table.csv", *ASKED, "--config", "small.toml", "--out", "run"]
    assert main([*asked, "--quiet"]) == 0
    before = (here / "run" / "manifest.json").read_bytes()
    capsys.readouterr()
    assert main([*asked, "--seed", "9"]) == 2
    said = capsys.readouterr().err
    assert "'run' already holds a run" in said
    assert "--out run-2" in said
    assert "--force" in said
    assert (here / "run" / "manifest.json").read_bytes() == before
    assert main([*asked, "--seed", "9", "--force", "--quiet"]) == 0
    assert (here / "run" / "manifest.json").read_bytes() != before


def test_the_config_of_a_run_makes_the_run_again(capsys, here):
    assert main(["fit", "table.csv", *ASKED, "--config", "small.toml", "--out", "run", "--quiet"]) == 0
    assert main(["fit", "table.csv", "--config", "run/config.toml", "--out", "again", "--quiet"]) == 0
    first, again = proxycal.load("run"), proxycal.load("again")
    assert again.roles == first.roles
    assert again.alpha_ == first.alpha_


def test_a_fit_loads_no_more_than_it_needs(here):
    # Each of these takes 0.05 to 0.9 s to load; whoever needs one imports it where it is used.
    heavy = {"joblib", "matplotlib.pyplot", "narwhals", "scipy.ndimage", "scipy.stats", "sklearn", "torch"}
    code = (
        f"import sys, proxycal.cli as cli; cli.main(['fit', 'table.csv', *{ASKED}, '--out', 'run']); "
        f"print({heavy} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=here)
    assert done.stdout.splitlines()[-1] == "set()"
    assert (here / "run" / "report.html").exists()
