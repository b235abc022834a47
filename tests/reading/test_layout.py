"""Letters and separators, whatever program wrote the file."""

from __future__ import annotations

import gzip

import pytest

from proxycal.errors import StoreError
from proxycal.reading.layout import layout_of


@pytest.mark.parametrize(
    ("content", "encoding", "separator"),
    [
        (b"a,b\n1,2\n", "utf-8-sig", ","),
        (b"a;b\n1,5;2\n", "utf-8-sig", ";"),
        (b"loss, total;b\n1,5;2,5\n2,5;3,5\n", "utf-8-sig", ";"),
        (b"a\tb\n1,5\t2\n", "utf-8-sig", "\t"),
        (b"a|b\n1|2\n", "utf-8-sig", "|"),
        ("\ufeffa;b\r\n1;2\r\n".encode(), "utf-8-sig", ";"),
        ("a;b\n1;ä\n".encode("cp1252"), "cp1252", ";"),
        (b"a;b\n1;" + b"\x81\xe4\n", "latin-1", ";"),
        ("a;b\n1;ä\n".encode("utf-16"), "utf-16", ";"),
        (b'a,b\n"x;y;z",2\n', "utf-8-sig", ","),
        (b"only\n1\n", "utf-8-sig", ","),
    ],
)
def test_what_a_file_says_of_itself(content, encoding, separator, tmp_path):
    for name, written in (("t.csv", content), ("t.csv.gz", gzip.compress(content))):
        (tmp_path / name).write_bytes(written)
        found = layout_of(tmp_path / name)
        assert (found.encoding, found.separator) == (encoding, separator)


def test_the_line_that_excel_writes_for_itself(tmp_path):
    (tmp_path / "t.csv").write_text("sep=;\na;b\n1;2\n")
    assert (layout_of(tmp_path / "t.csv").separator, layout_of(tmp_path / "t.csv").skipped) == (";", 1)


def test_two_separators_that_would_do_are_an_error_with_the_fix(tmp_path):
    (tmp_path / "t.csv").write_text("a,b;c\n1,2;3\n")
    with pytest.raises(StoreError, match=r"commas or by semicolons: put a line 'sep=,' or 'sep=;'"):
        layout_of(tmp_path / "t.csv")


def test_a_file_that_is_no_text(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\x00\x01\x02")
    with pytest.raises(StoreError, match="not a text table"):
        layout_of(tmp_path / "t.csv")
