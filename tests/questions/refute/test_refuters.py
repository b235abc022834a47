"""The table of refuters: names, types, files and what readers are told agree."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import get_args

import pytest

from proxycal.questions.refute import REFUTERS, RefuterName


def test_the_type_lists_the_refuters_of_the_table():
    assert get_args(RefuterName) == tuple(REFUTERS)


@pytest.mark.parametrize("name", REFUTERS)
def test_every_refuter_asks_a_question_and_has_a_file(name):
    refuter = REFUTERS[name]
    assert refuter.question.endswith("?")
    assert refuter.change
    module = importlib.import_module(f"proxycal.questions.refute.{name.replace('-', '_')}")
    assert callable(module.trials)
    assert callable(module.read)


def test_listing_refuters_loads_neither_numpy_nor_a_refuter():
    code = (
        "import sys; from proxycal.questions.refute import REFUTERS; "
        "print([m for m in sys.modules if m == 'numpy' or m.startswith('proxycal.questions.refute.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
