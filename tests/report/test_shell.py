from __future__ import annotations

import shlex

import pytest

from proxycal.cli.request import column_names
from proxycal.report.shell import listed, role_options, shell
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
