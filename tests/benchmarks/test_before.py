"""Two versions of the package side by side: the same tables, the answers compared, the older one found."""

from pathlib import Path

import pytest

from benchmarks.before import CLONE, Table, compared, earlier, elsewhere


def test_a_package_against_itself_says_the_same():
    table = Table(200, 2, 2)
    first, last = (elsewhere(table, str(CLONE / "src"), one_thread) for one_thread in (True, False))
    assert compared(first, last) == "the same"
    assert first["verdict"] == "bias found"
    assert first["alpha"] == pytest.approx(3.0, abs=0.5)
    assert first["seconds"] > 0.0


def test_other_answers_are_named():
    found, none = (
        {"verdict": verdict, "alpha": 1.0, "se": 0.1} for verdict in ("bias found", "no bias found")
    )
    assert compared(found, none) == "bias found, 1.0000; no bias found, 1.0000"
    assert compared(found, found | {"alpha": 1.001}) == "bias found, 1.0000; bias found, 1.0010"
    assert compared(found, found | {"alpha": 1.00001}) == "the same"


def test_an_earlier_package_is_there_while_it_is_needed():
    with earlier("HEAD") as source:
        assert source is not None
        assert (Path(source) / "proxycal" / "__init__.py").exists()
    assert not Path(source).exists()


def test_a_clone_without_that_history_has_none():
    with earlier("0" * 40) as source:
        assert source is None


def test_tables_are_named_by_what_they_hold():
    assert Table(1_000, 20, 40, 0.0).label == "1,000 rows, 60 columns, no bias"
    assert Table(100_000, curved=True).label == "100,000 rows, 10 columns, curved, bias"
