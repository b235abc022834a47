"""The command line as a shell sees it: exit codes, streams, and what is left on the disk."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal.cli import main

if TYPE_CHECKING:
    from proxycal.testing.simulation import Simulation

ROLES = ["--outcome", "loss", "--proxies", "p_1,p_2,p_3", "--environment", "income,hazard"]
# Networks just large enough to run: these tests are about the command line, not about the estimate.
SMALL = 'method = "paper"\n[paper]\nd_z = 2\nwidth = 16\nepochs = 4\nmin_steps = 0\n'
CALIBRATION = ["y_cal", "y_cal_low", "y_cal_high", "p_biased", "shift", "mu"]


def simulated(n: int = 240) -> Simulation:
    return proxycal.simulate(n=n, d_z=2, d_e=2, n_proxies=3, alpha=6.0, random_state=1)


def make_table(n: int = 240) -> pd.DataFrame:
    table = simulated(n).table.rename(columns={"y": "loss", "e_1": "income"})
    table["hazard"] = np.where(table.pop("e_2") > 0, "flood", "fire")
    table.insert(0, "county", [f"0{1000 + i}" for i in range(n)])
    return table


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """A folder of its own with table.csv and small.toml, entered."""
    monkeypatch.chdir(tmp_path)
    make_table().to_csv("table.csv", index=False)
    Path("small.toml").write_text(SMALL)
    return tmp_path


@pytest.fixture(scope="module")
def fitted(tmp_path_factory) -> Path:
    """A run folder, made once by the command line."""
    folder = tmp_path_factory.mktemp("fitted")
    make_table().to_csv(folder / "table.csv", index=False)
    (folder / "small.toml").write_text(SMALL)
    run = folder / "run"
    code = main([
        "fit", str(folder / "table.csv"), *ROLES, "--id", "county", "--seed", "3",
        "--config", str(folder / "small.toml"), "--out", str(run), "--quiet",
    ])  # fmt: skip
    assert code == 0
    return run


def everything_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def refused(capsys, here: Path, args: list[str]) -> str:
    """The one line with which `args` are refused; nothing may be printed or left behind."""
    before = everything_in(here)
    capsys.readouterr()
    code = main(args)
    out, err = capsys.readouterr()
    assert code == 2, err
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    assert "Traceback" not in err
    assert everything_in(here) == before
    return err


# --- what is refused ---


def test_a_missing_file(capsys, here):
    assert "'nope.csv'" in refused(capsys, here, ["fit", "nope.csv", *ROLES, "--out", "run"])


def test_an_empty_file(capsys, here):
    (here / "empty.csv").write_text("")
    assert "empty" in refused(capsys, here, ["fit", "empty.csv", *ROLES, "--out", "run"])


def test_a_header_without_rows(capsys, here):
    (here / "header.csv").write_text("loss,p_1,p_2,p_3,income,hazard\n")
    assert "no rows" in refused(capsys, here, ["fit", "header.csv", *ROLES, "--out", "run"])


def test_duplicate_headers_are_not_renamed(capsys, here):
    (here / "twice.csv").write_text("loss,loss,p_1\n1,2,3\n4,5,6\n")
    assert "two columns named 'loss'" in refused(capsys, here, ["fit", "twice.csv", *ROLES, "--out", "run"])


def test_another_kind_of_file(capsys, here):
    (here / "table.xlsx").write_bytes(b"PK")
    assert ".csv" in refused(capsys, here, ["fit", "table.xlsx", *ROLES, "--out", "run"])


def test_a_missing_column(capsys, here):
    args = ["fit", "table.csv", "--outcome", "losses", "--proxies", "p_1", "--environment", "income"]
    message = refused(capsys, here, [*args, "--out", "run"])
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
    message = refused(capsys, here, ["fit", "bad.csv", *ROLES, "--out", "run"])
    assert says in message
    assert f"'{column}'" in message
    assert str(row) in message, "the row is named"


def test_a_constant_outcome(capsys, here):
    make_table().assign(loss=3.0).to_csv("flat.csv", index=False)
    message = refused(capsys, here, ["fit", "flat.csv", *ROLES, "--out", "run"])
    assert "'loss'" in message
    assert "constant" in message or "vary" in message or "same value" in message


def test_three_rows(capsys, here):
    make_table(240).head(3).to_csv("three.csv", index=False)
    assert "3 usable rows" in refused(capsys, here, ["fit", "three.csv", *ROLES, "--out", "run"])


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
    assert says in refused(capsys, here, ["fit", "table.csv", *ROLES, option, value, "--out", "run"])


def test_no_place_for_the_run(capsys, here):
    assert "--out" in refused(capsys, here, ["fit", "table.csv", *ROLES])


@pytest.mark.parametrize("place", ["table.csv", "table.csv/run", "/proc/run"])
def test_a_run_folder_that_cannot_be_written(place, capsys, here):
    assert place in refused(capsys, here, ["fit", "table.csv", *ROLES, "--out", place])


def test_a_folder_with_other_things_in_it_is_not_taken_for_a_run(capsys, here):
    (here / "thesis").mkdir()
    (here / "thesis" / "chapter.txt").write_text("years of work")
    args = ["fit", "table.csv", *ROLES, "--config", "small.toml", "--out", "thesis"]
    assert "chapter.txt" in refused(capsys, here, args)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("outcome = ", "not valid TOML"),
        ("tomato = 1\n", "tomato"),
        ("[paper]\nepocs = 3\n", "paper.epocs"),
        ("level = 'high'\n", "level"),
        ("proxies = 3\n", "proxies"),
    ],
)
def test_a_settings_file_that_cannot_be_used(text, says, capsys, here):
    (here / "run.toml").write_text(text)
    args = ["fit", "table.csv", "--outcome", "loss", "--environment", "income", "--config", "run.toml"]
    args += [] if "proxies" in text else ["--proxies", "p_1"]
    assert says in refused(capsys, here, [*args, "--out", "run"])


def test_a_missing_settings_file(capsys, here):
    args = ["fit", "table.csv", *ROLES, "--config", "none.toml", "--out", "run"]
    assert "'none.toml'" in refused(capsys, here, args)


# --- what calibrate refuses ---


def test_an_unseen_category(capsys, here, fitted):
    make_table().assign(hazard="meteor").to_csv("new.csv", index=False)
    message = refused(capsys, here, ["calibrate", str(fitted), "new.csv", "--out", "calibrated.csv"])
    assert "meteor" in message
    assert "'hazard'" in message


def test_a_missing_column_in_a_new_table(capsys, here, fitted):
    make_table().drop(columns="p_2").to_csv("new.csv", index=False)
    assert "'p_2'" in refused(capsys, here, ["calibrate", str(fitted), "new.csv", "--out", "calibrated.csv"])


@pytest.mark.parametrize("name", ["no/such/folder.csv", "table.xlsx", "table.csv/x.csv"])
def test_a_file_that_cannot_be_written(name, capsys, here, fitted):
    refused(capsys, here, ["calibrate", str(fitted), "table.csv", "--out", name])


def test_a_table_that_was_calibrated_before(capsys, here, fitted):
    make_table().assign(y_cal=0.0).to_csv("again.csv", index=False)
    assert "'y_cal'" in refused(capsys, here, ["calibrate", str(fitted), "again.csv", "--out", "out.csv"])


def test_a_folder_that_is_no_run(capsys, here):
    (here / "other").mkdir()
    assert "other" in refused(capsys, here, ["calibrate", "other", "table.csv", "--out", "out.csv"])
    assert "absent" in refused(capsys, here, ["report", "absent"])


@pytest.mark.parametrize("name", ["tensors.safetensors", "results.json", "config.toml", "manifest.json"])
def test_a_damaged_run_folder(name, capsys, here, fitted):
    shutil.copytree(fitted, here / "run")
    whole = (here / "run" / name).read_bytes()
    (here / "run" / name).write_bytes(whole[: len(whole) // 2])
    message = refused(capsys, here, ["calibrate", "run", "table.csv", "--out", "out.csv"])
    assert "damaged" in message
    assert name in message


# --- what works ---


@pytest.mark.parametrize(
    "command",
    [
        "demo",
        "check",
        "fit",
        "calibrate",
        "report",
        "refute",
        "power",
        "simulate",
        "experiment",
        "bench",
        "app",
    ],
)
def test_every_command_has_help(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"proxycal {command}" in capsys.readouterr().out


def test_fit_writes_a_run_and_says_what_comes_next(capsys, here):
    assert main(["fit", "table.csv", *ROLES, "--config", "small.toml", "--out", "a run"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] in ("bias found", "no bias found", "not identified")
    for name in ("exact", "moments", "match"):
        assert name in out
    assert "proxycal calibrate 'a run' table.csv --out calibrated.csv" in out
    assert "error" not in err
    run = everything_in(here / "a run")
    assert {"report.html", "manifest.json", "config.toml", "roles.json", "results.json"} <= run
    assert not [name for name in everything_in(here) if "tmp" in name]


def test_fit_as_json_equals_the_python_answer(capsys, here):
    assert main(["fit", "table.csv", *ROLES, "--config", "small.toml", "--out", "run", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    model = proxycal.load("run")
    assert result["alpha"] == model.alpha_
    assert (result["low"], result["high"]) == model.alpha_interval_
    assert result["verdict"] == model.verdict_
    assert [row["name"] for row in result["estimates"]] == list(model.summary().index)
    assert len(result["findings"]) == len(model.findings_)
    assert Path(result["report"]).is_file()


def test_same_seed_same_bytes(here, fitted):
    args = ["fit", "table.csv", *ROLES, "--id", "county", "--seed", "3", "--config", "small.toml"]
    assert main([*args, "--out", "again", "--quiet"]) == 0
    for name in ("tensors.safetensors", "results.json", "report.html"):
        assert (here / "again" / name).read_bytes() == (fitted / name).read_bytes(), name


def test_quiet_says_nothing(capsys, here, fitted):
    capsys.readouterr()
    assert main(["report", str(fitted), "--out", "page.html", "--quiet"]) == 0
    assert main(["simulate", "--n", "50", "--out", "sim.csv", "--quiet"]) == 0
    assert main(["check", "table.csv", *ROLES, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_options_win_over_the_settings_file(here):
    Path("run.toml").write_text(
        'outcome = "loss"\nproxies = ["p_1", "p_2"]\nenvironment = ["income"]\n'
        f'direction = "under"\nseed = 5\n{SMALL}'
    )
    assert main(["fit", "table.csv", "--config", "run.toml", "--seed", "9", "--out", "run", "--quiet"]) == 0
    model = proxycal.load("run")
    assert model.roles.proxies == ("p_1", "p_2")
    assert (model.direction, model.random_state, model.paper.epochs) == ("under", 9, 4)


def test_the_settings_of_a_run_can_be_used_again(here, fitted):
    args = ["fit", "table.csv", *ROLES, "--id", "county", "--config", str(fitted / "config.toml")]
    assert main([*args, "--out", "again", "--quiet"]) == 0
    assert (here / "again" / "results.json").read_bytes() == (fitted / "results.json").read_bytes()


@pytest.mark.parametrize("name", ["calibrated.csv", "calibrated.parquet"])
def test_calibrate_appends_its_columns(name, capsys, here, fitted):
    capsys.readouterr()
    assert main(["calibrate", str(fitted), "table.csv", "--out", name]) == 0
    table = make_table()
    text = {"county": str}
    answer = pd.read_csv(name, dtype=text) if name.endswith("csv") else pd.read_parquet(name)
    assert list(answer.columns) == [*table.columns, *CALIBRATION]
    assert answer["county"].tolist() == table["county"].tolist(), "an id keeps its leading zero"
    assert answer["loss"].to_numpy() == pytest.approx(table["loss"].to_numpy(), rel=1e-12)
    assert (answer["loss"] - answer["shift"]).to_numpy() == pytest.approx(answer["y_cal"].to_numpy())


def test_an_outcome_left_alone_is_one_warning_line(capsys, here, fitted):
    assert proxycal.load(fitted).verdict_ == "not identified", "four epochs teach nothing"
    capsys.readouterr()
    assert main(["calibrate", str(fitted), "table.csv", "--out", "out.csv"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("warning: the verdict is 'not identified'")
    assert err.count("\n") == 1
    assert "left as reported" in out
    answer = pd.read_csv("out.csv")
    assert (answer["y_cal"] == answer["loss"]).all()


def test_the_two_commands_of_a_user_remove_the_bias(capsys, here):
    assert main(["fit", "table.csv", *ROLES, "--out", "run"]) == 0
    assert capsys.readouterr().out.startswith("bias found\nloss is over-reported by about ")
    assert main(["calibrate", "run", "table.csv", "--out", "out.csv"]) == 0
    assert capsys.readouterr() == ("240 rows calibrated: out.csv\n", "")
    answer, y_true = pd.read_csv("out.csv"), simulated().truth["y_true"].to_numpy()
    before = np.sqrt(np.mean((answer["loss"] - y_true) ** 2))
    after = np.sqrt(np.mean((answer["y_cal"] - y_true) ** 2))
    assert after < before / 2


def test_report_is_written_again_from_the_saved_run(here, fitted):
    assert main(["report", str(fitted), "--out", "page.html", "--quiet"]) == 0
    assert (here / "page.html").read_bytes() == (fitted / "report.html").read_bytes()


def test_report_as_pdf_beside_the_page(capsys, here, fitted, monkeypatch):
    monkeypatch.setattr("proxycal.report.pdf.BROWSERS", ())
    assert main(["report", str(fitted), "--out", "page.html", "--pdf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"report": "page.html", "pdf": "page.pdf"}
    assert (here / "page.html").is_file()
    assert (here / "page.pdf").read_bytes().startswith(b"%PDF")
    assert main(["report", str(fitted), "--out", "only.pdf", "--pdf", "--quiet"]) == 0
    assert (here / "only.pdf").is_file()


def test_check_names_what_to_look_at(capsys, here):
    make_table().assign(p_3=1.0).to_csv("flat.csv", index=False)
    assert main(["check", "flat.csv", *ROLES]) == 0
    out = capsys.readouterr().out
    assert "p_3" in out
    assert "->" in out
    assert main(["check", "flat.csv", *ROLES, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert found["rows"] == 240


def test_simulate_keeps_the_truth_in_a_file_of_its_own(capsys, here):
    assert (
        main(["simulate", "--n", "60", "--alpha", "3", "--seed", "4", "--out", "sim.parquet", "--json"]) == 0
    )
    said = json.loads(capsys.readouterr().out)
    sim = proxycal.simulate(n=60, alpha=3.0, random_state=4)
    pd.testing.assert_frame_equal(pd.read_parquet(said["table"]), sim.table)
    pd.testing.assert_frame_equal(pd.read_parquet(said["truth"]), sim.truth)
    assert said["roles"]["outcome"] == sim.roles.outcome


def test_a_defect_is_one_line_and_exit_1(capsys, here, monkeypatch):
    def broken(*_args, **_kwargs):
        raise RuntimeError("the\nsky fell")

    monkeypatch.setattr("proxycal.model.read_table", broken)
    assert main(["fit", "table.csv", *ROLES, "--out", "run"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "unexpected RuntimeError: the sky fell" in err
    assert "PROXYCAL_DEBUG=1" in err

    monkeypatch.setenv("PROXYCAL_DEBUG", "1")
    assert main(["fit", "table.csv", *ROLES, "--out", "run"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_is_exit_1_without_a_traceback(capsys, here, monkeypatch):
    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("proxycal.model.read_table", interrupted)
    assert main(["fit", "table.csv", *ROLES, "--out", "run"]) == 1
    err = capsys.readouterr().err
    assert err == "error: interrupted; nothing half-written was left behind\n"


def test_names_are_text_for_the_terminal(capsys, here):
    table = make_table().rename(columns={"loss": "[bold red]loss :bomb:"})
    table.to_csv("odd.csv", index=False)
    args = ["fit", "odd.csv", "--outcome", "[bold red]loss :bomb:", *ROLES[2:], "--config", "small.toml"]
    assert main([*args, "--out", "run"]) == 0
    assert "[bold red]loss :bomb:" in capsys.readouterr().out


def test_python_dash_m_is_the_same_program(here):
    def run(*args):
        return subprocess.run(
            [sys.executable, "-m", "proxycal", *args], capture_output=True, text=True, cwd=here
        )

    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"proxycal {proxycal.__version__}\n", "")
    done = run("fit", "nope.csv", *ROLES, "--out", "run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: 'nope.csv'")


def test_help_loads_neither_torch_nor_pandas():
    code = (
        "import sys, proxycal.cli as cli; cli.main(['fit', '--help']); "
        "print({'torch', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"
