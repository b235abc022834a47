"""What pages share: the figures of the paper, and the digest of the code."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.studies.pages import code_digest, machine, paper_table


def test_the_figures_of_the_paper():
    table = paper_table("table2_alpha")
    error = np.hypot(table["mean"] - table["alpha"], table["sd"]) / table["alpha"]
    assert len(error) == 150
    assert error.mean() == pytest.approx(0.20, abs=0.005)
    assert error.max() == pytest.approx(0.43, abs=0.005)


def test_the_digest_changes_with_the_code_that_is_named(tmp_path):
    source = tmp_path / "trial.py"
    source.write_text("x = 1")
    before = code_digest(source)
    assert before == code_digest(source) != code_digest()
    source.write_text("x = 2")
    assert code_digest(source) != before


def test_rooms_of_the_digest_exist(monkeypatch):
    from proxycal.studies import pages

    whole = code_digest()
    for room in pages.ROOMS:
        monkeypatch.setattr(pages, "ROOMS", tuple(name for name in pages.ROOMS if name != room))
        assert code_digest() != whole, room
        monkeypatch.undo()


def test_the_machine_names_the_code():
    assert "code abc" in machine("abc")
