"""One line says what was understood, with the value that could be misread."""

from __future__ import annotations

import pytest

from proxycal.reading.plan import plan_of


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("a,b\n1,2.5\n", ""),
        (
            "a;b\n1;50,015\n2;3,5\n",
            "semicolons, decimal commas, 2 values like 50,015 read as numbers (50.015)",
        ),
        ("a;b\n1;50,015\n", "semicolons, decimal commas, 1 value like 50,015 read as numbers (50.015)"),
        ('a,b\n1.5,"50,015"\n', "1 value like 50,015 read as numbers (50015)"),
        ('a,b\n1,"$1,234,567.25"\n', "1 value like $1,234,567.25 read as numbers (1234567.25)"),
        ("a\tb\n1\t2\n", "tabs"),
        ("fips,b\n01003,2\n", "codes with leading zeros kept as text ('fips')"),
        ("day,b\n31/12/2024,2\n", "'day' read as dates (day/month/year)"),
        ('a,b\n1,"50,015"\n', "'b' kept as text, since 50,015 may mean two numbers"),
        ("a,b\n1,3/4/2024\n", "'b' kept as text, since 3/4/2024 may mean two dates"),
    ],
)
def test_the_line(content, said, tmp_path):
    (tmp_path / "t.csv").write_text(content)
    assert plan_of(tmp_path / "t.csv").said == said


def test_letters_that_are_no_utf_8(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n1,ä\n".encode("latin-1"))
    assert plan_of(tmp_path / "t.csv").said == "Latin-1 letters"
