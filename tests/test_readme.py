"""The README keeps its word: its example and its commands run, its picture is there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

README = Path(__file__).parent.parent / "README.md"
commands = runpy.run_path(str(README.parent / "docs" / "run_blocks.py"))["commands"]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_python_example_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks("python"))
    assert "ProxyCalibrator" in code
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["model"].verdict_ == "bias found"
    assert (tmp_path / "report.html").stat().st_size > 1000


def losses(n: int = 400) -> pd.DataFrame:
    """A table like the one that the README speaks of: losses, half of them reported 2 too low."""
    rng = np.random.default_rng(0)
    income, hazard = rng.normal(size=n), rng.choice(["flood", "wind"], n)
    true = rng.normal(size=n) + 0.5 * income
    seen = true[:, None] + 0.3 * rng.normal(size=(n, 2))
    biased = income + 0.5 * rng.normal(size=n) > 0
    built, veg = seen.T
    return pd.DataFrame(
        {
            "loss": true - 2.0 * biased,
            "built_to_water": built,
            "veg_to_water": veg,
            "income": income,
            "hazard": hazard,
        }
    )


def test_the_commands_run(tmp_path, monkeypatch):
    from proxycal.cli import main

    monkeypatch.chdir(tmp_path)
    losses().to_csv("losses.csv", index=False)
    used = [arguments for block in blocks("sh") for arguments in commands(block)]
    assert [arguments[0] for arguments in used] == ["check", "fit", "calibrate"]
    for arguments in used:
        assert main([*arguments, "--quiet"]) == 0, arguments
    calibrated = pd.read_csv("calibrated.csv")
    assert (calibrated["y_cal"] - calibrated["loss"]).max() == pytest.approx(2.0, abs=0.2)
    assert Path("run/report.html").stat().st_size > 1000


@pytest.mark.slow
def test_the_commands_that_try_to_break_a_fit_run(tmp_path, monkeypatch):
    from proxycal.cli import main

    monkeypatch.chdir(tmp_path)
    losses().to_csv("losses.csv", index=False)
    roles = [
        "--outcome",
        "loss",
        "--proxies",
        "built_to_water,veg_to_water",
        "--environment",
        "income,hazard",
        "--direction",
        "under",
    ]
    assert main(["fit", "losses.csv", *roles, "--out", "run", "--quiet"]) == 0
    asked = re.findall(
        r"^    proxycal (refute RUN --kind \S+|power TABLE) ", README.read_text(), flags=re.MULTILINE
    )
    assert len(asked) == 6
    for text in asked:
        where = {"RUN": ["run"], "TABLE": ["losses.csv", *roles, "--alphas", "1"]}
        arguments = [part for word in text.split() for part in where.get(word, [word])]
        assert main([*arguments, "--repetitions", "2", "--quiet"]) == 0, arguments


@pytest.mark.parametrize(
    ("page", "readme", "there"),
    [
        ("docs/studies/polls.md", "lean by 3.1 points", "Democratic sponsors: **+3.1**"),
        ("docs/studies/polls.md", "by 3.3 the other way", "Republican sponsors: **-3.3**"),
        ("docs/studies/polls.md", "2.7 and 2.6", "+2.7 ± 0.4 with all of them"),
        ("benchmarks/accuracy.md", "within 0.01%", "| JOBS | JOBS | 614 | 1 | 20 | 0.01% |"),
        ("benchmarks/accuracy.md", "bias found in each", "| 0.00 | 95% | 100.0% | 0.0% | 97.2% |"),
        ("docs/studies/hurricane.md", "a factor of about 78", "a factor of about 78"),
        ("docs/studies/hurricane.md", "589 by county", "| storms as clusters | 589 | not identified |"),
    ],
)
def test_what_the_readme_says_of_real_data_is_on_its_page(page, readme, there):
    assert readme in README.read_text(encoding="utf-8")
    assert there in (README.parent / page).read_text(encoding="utf-8")


def test_make_commands_of_the_readme_exist():
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    asked = re.findall(r"^make ([a-z-]+)", "\n".join(blocks("sh")), flags=re.MULTILINE)
    assert asked
    assert all(f"\n{name}:" in makefile for name in asked)


def test_the_picture_is_there_and_small():
    text = README.read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^\]]+\]\[([^\]]+)\]", text)
    assert pictures, "a picture with alternative text"
    for name in pictures:
        (address,) = re.findall(rf"^\[{name}\]: \S+/main/(\S+)$", text, flags=re.MULTILINE)
        assert (README.parent / address).stat().st_size < 150_000


def test_the_line_on_measured_weight_is_that_of_the_benchmark():
    figures = pd.read_csv(README.parent / "benchmarks" / "validated.csv")
    row = runpy.run_path(str(README.parent / "docs" / "measured.py"))["readme_row"](figures)
    assert row in README.read_text(encoding="utf-8").splitlines()


# --- what the text promises ---------------------------------------------------------------------------


def text() -> str:
    return README.read_text(encoding="utf-8")


def test_every_command_that_is_named_has_the_options_that_are_shown():
    import typer

    from proxycal.cli import app

    commands_known = typer.main.get_command(app).commands
    shown = re.findall(r"proxycal ((?:[a-z]+)(?: [^`\n]*)?)", re.sub(r"\]\[[^\]]*\]", "]", text()))
    named = [line for line in shown if line.split()[0] in commands_known]
    assert {"check", "fit", "calibrate", "refute", "power", "report", "app", "experiment", "audit"} <= {
        line.split()[0] for line in named
    }
    for line in named:
        options = {option for known in commands_known[line.split()[0]].params for option in known.opts}
        assert set(re.findall(r"(?<!\S)--[a-z-]+", line)) <= options, line


def test_every_extra_and_make_command_exists():
    import tomllib

    root = README.parent
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = set(re.findall(r"proxycal\[([a-z]+)\]", text())) | set(re.findall(r"extra `([a-z]+)`", text()))
    assert {"paper", "app", "excel"} <= extras <= set(project["optional-dependencies"])
    targets = re.findall(r"^([a-z-]+):.*##", (root / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(re.findall(r"\bmake ([a-z-]+)", text())) <= set(targets)


def test_every_method_role_and_name_of_the_model_exists():
    from dataclasses import fields

    import proxycal
    from proxycal.methods.registry import METHODS

    listed = re.findall(r'^\| `"([a-z]+)"` \|', text(), re.MULTILINE)
    assert {"exact", "validated", "gradual", "moments", "paper"} <= set(listed) <= set(METHODS)
    names = set(re.findall(r"\bmodel\.([a-z_]+)", text()))
    assert names
    assert all(hasattr(proxycal.ProxyCalibrator, name) for name in names - {"result_"})
    roles = {role.name for role in fields(proxycal.Roles)}
    assert {"outcome", "proxies", "environment", "weights", "cluster", "id", "truth", "counts"} <= roles
    for name in set(re.findall(r"\bpc\.([a-zA-Z_]+)", text())):
        assert hasattr(proxycal, name), name


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "xlsx"])
def test_every_kind_of_table_is_read_as_it_says(tmp_path, ending):
    import proxycal

    table, path = losses(60), tmp_path / f"losses.{ending}"
    if ending == "xlsx":
        table.to_excel(path, index=False)
    elif ending == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    pd.testing.assert_frame_equal(proxycal.read_table(path), table, check_dtype=False)


def test_semicolons_and_decimal_commas_are_read(tmp_path):
    import proxycal

    table, path = losses(60), tmp_path / "losses.csv"
    table.to_csv(path, index=False, sep=";", decimal=",")
    pd.testing.assert_frame_equal(proxycal.read_table(path), table)


def test_excel_without_its_extra_names_the_extra(tmp_path, monkeypatch):
    import sys

    import proxycal

    losses(60).to_excel(tmp_path / "losses.xlsx", index=False)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(proxycal.ProxycalError, match=r"proxycal\[excel\]"):
        proxycal.read_table(tmp_path / "losses.xlsx")


def test_verdicts_are_those_of_the_code():
    from typing import get_args

    from proxycal.result import Verdict

    rows = re.findall(r"^\| (bias found|no bias found|not identified) \|", text(), re.MULTILINE)
    assert sorted(rows) == sorted(get_args(Verdict))
