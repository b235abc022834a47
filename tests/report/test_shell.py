from __future__ import annotations

import json
import shlex

import pytest

from proxycal.cli.request import column_names
from proxycal.report.shell import listed, role_options, shell, unseen_as_json, visible
from proxycal.table.roles import Roles

HOSTILE = ["a b", "it's", 'say "so"', "$HOME", "`ls`", "x;y", "a,b", "é"]


def test_a_shell_reads_a_command_back_as_it_was():
    parts = ["proxycal", "fit", *HOSTILE, 3]
    assert shlex.split(shell(*parts)) == [str(part) for part in parts]


@pytest.mark.parametrize("names", [["a"], HOSTILE, ["a,b", 'c"d', "plain"]])
def test_the_command_line_reads_names_back_as_they_were(names):
    assert list(column_names(listed(names))) == names


def test_roles_that_were_not_given_are_no_options():
    made = role_options(Roles("y", ["p", "q,r"], ["e"], cluster="state"))
    assert made == {"--outcome": "y", "--proxies": 'p,"q,r"', "--environment": "e", "--cluster": "state"}


OBEYED = "\x1b[31m\x07\r\x00\x7f\x9b\u202e\u2066\u2028"


def test_what_a_terminal_would_obey_is_written_out():
    assert visible(f"a{OBEYED}b").isprintable()
    assert visible("\x1b[2J") == "\\x1b[2J"
    assert visible("é 日本 🙂\tb\n") == "é 日本 🙂\tb\n"


def test_json_says_the_same_to_a_program():
    text = unseen_as_json(json.dumps({"a": OBEYED}, ensure_ascii=False))
    assert text.isprintable()
    assert json.loads(text) == {"a": OBEYED}
