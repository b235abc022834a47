"""The quick attacks of scripts/attacks.py, of which none may do any harm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "attacks.py"


@pytest.mark.skipif(sys.platform != "linux", reason="each attack is a forked process with limits of Linux")
def test_no_quick_attack_does_harm():
    done = subprocess.run([sys.executable, str(SCRIPT), "--quick"], capture_output=True, text=True)
    lost = [line for line in done.stdout.splitlines() if line.startswith("NOT")]
    assert lost == []
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="each attack is a forked process with limits of Linux")
def test_no_attack_does_harm():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True)
    assert [line for line in done.stdout.splitlines() if line.startswith("NOT")] == []
