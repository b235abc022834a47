"""Worlds that violate an assumption: the right finding fires, and shares are counted correctly."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks import violations
from benchmarks.bench import trials
from benchmarks.violations import alarms, right, run_block
from proxycal.result import Finding
from proxycal.studies.sweep import Done


def test_the_right_finding_fires_and_a_clean_world_is_quiet():
    rows = [run_block({"world": name, "n": 600, "seeds": [1]})[0] for name in ("clean", "leak 0.5")]
    assert rows[0]["fired"] == []
    assert rows[0]["right"]
    assert "exclusion" in rows[1]["fired"]
    assert run_block({"world": "bad luck", "n": 600, "seeds": [1]})[0]["error"].startswith("SettingsError")


def test_what_counts_as_an_alarm():
    def finding(topic: str, ok: bool, value: float | None = None) -> Finding:
        return Finding("q", "s", "r", "m", ok, topic, value)

    coped = finding("shape", True, 1e-9)
    findings = [finding("comparison", False), coped, finding("direct", True, 0.5), finding("gap", True, 0.0)]
    assert alarms(findings) == ["comparison", "shape"]


@pytest.mark.parametrize(
    ("verdict", "alpha", "true", "violated", "answer"),
    [
        ("bias found", 2.1, 2.0, False, True),
        ("bias found", 2.3, 2.0, True, False),
        ("bias found", 0.5, 0.0, True, False),
        ("no bias found", 0.5, 2.0, True, False),
        ("no bias found", 0.5, 0.0, False, True),
        ("not identified", 0.5, 2.0, True, True),
        ("not identified", 0.5, 2.0, False, False),
    ],
)
def test_when_a_verdict_is_right(verdict, alpha, true, violated, answer):
    assert right(verdict, alpha, true, violated) is answer


def test_the_page_counts_and_judges():
    def block(world: str, fired: list[list[str]], error: str | None = None) -> Done:
        rows = [
            {"seed": i, "alpha_true": 2.0, "alpha_hat": 1.0 + i, "verdict": "bias found", "right": i == 1,
             "fired": topics, "error": error}
            for i, topics in enumerate(fired)
        ]  # fmt: skip
        return Done("k", {"world": world, "n": 1000, "seeds": list(range(len(fired)))}, rows, None, 1.0)

    frame = trials([
        block("clean", [[]] * 10 + [["gate"]]),
        block("leak 0.2", [["exclusion", "comparison"]] * 8 + [["comparison"]] * 3),
        block("no overlap", [["gap"], ["overlap"]]),
        block("leak into all", [["comparison"]]),
    ])  # fmt: skip
    page = violations.page(frame)
    rows = {row["world"]: row for row in page.parts[0].rows}
    assert (rows["clean"]["fires"], rows["clean"]["reached"]) == ("9%", "yes")
    assert (rows["leak 0.2"]["fires"], rows["leak 0.2"]["reached"]) == ("73%", "**no**")
    assert rows["leak 0.2"]["others that fire"] == "comparison 100%"
    assert rows["leak 0.2"]["estimated"] == "6.00 (2.00 to 10.00)"
    assert rows["leak 0.2"]["verdict right"] == "9%"
    assert (rows["no overlap"]["fires"], rows["no overlap"]["reached"]) == ("100%", "yes")
    assert "reached" not in page.parts[1].rows[0]
    assert len(page.figures) == 4
    failed = pd.concat([frame.iloc[:10], frame.iloc[[0]].assign(error="ValueError: no")])
    assert violations.page(failed).parts[0].rows[0]["reached"] == "**no**"


@pytest.mark.parametrize("quick", [True, False])
def test_cells_are_distinct_and_seeds_are_their_own(quick):
    cells = violations.bench(quick).cells
    assert len({cell.key for cell in cells}) == len(cells)
    seeds = {seed for cell in cells for seed in cell.settings["seeds"]}
    assert min(seeds) == violations.FIRST_SEED
    assert len(seeds) == (2 if quick else 50)
