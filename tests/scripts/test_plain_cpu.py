"""The plain profile: newer instructions are off, and no library complains about how."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__).parents[2] / "scripts" / "plain_cpu.py"
LOADED = """
import json, warnings
warnings.simplefilter("error")
import scipy.linalg, threadpoolctl
from numpy._core import _multiarray_umath as umath
blas = [d for d in threadpoolctl.threadpool_info() if d["internal_api"] == "openblas"]
cores = {d["architecture"].lower() for d in blas}
used = [name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]
print(json.dumps({"cores": sorted(cores), "used": used}))
"""


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_libraries_load_without_the_newer_instructions():
    settings = dict(line.split("=", 1) for line in run().splitlines())
    assert settings["ATEN_CPU_CAPABILITY"] == "default"
    loaded = json.loads(run("-W", "error", "-c", LOADED))
    assert loaded["used"] == []
    if loaded["cores"]:  # numpy and scipy come with OpenBLAS but for macOS
        assert loaded["cores"] == [settings["OPENBLAS_CORETYPE"].lower()]


def test_it_disables_exactly_what_numpy_would_use_here():
    umath = np._core._multiarray_umath  # type: ignore[attr-defined]
    used = {name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)}
    printed = dict(line.split("=", 1) for line in run().splitlines())
    off = set(printed.get("NPY_DISABLE_CPU_FEATURES", "").split())
    assert used <= off  # equal, unless these tests run on the plain profile themselves


def test_the_exit_code_is_that_of_the_program():
    done = subprocess.run([sys.executable, str(SCRIPT), "-c", "raise SystemExit(3)"], check=False)
    assert done.returncode == 3
