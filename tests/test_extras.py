from __future__ import annotations

import subprocess
import sys

import pytest

from proxycal import extras
from proxycal.errors import UnavailableError


def test_a_package_is_found_without_loading_it():
    code = "import sys; from proxycal.extras import is_installed as is_there; "
    code += "print(is_there('pandas'), 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]
    assert not extras.is_installed("a_package_that_nobody_has")


def test_what_needs_torch_says_what_to_install_or_to_do_instead(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda package: package != "torch")
    with pytest.raises(UnavailableError, match=r"^--sanity needs torch: pip install .*, or leave it out$"):
        extras.require_torch("--sanity", "leave it out")
    monkeypatch.setattr(extras, "is_installed", lambda package: True)
    extras.require_torch("--sanity", "leave it out")
