"""Run Python as on an old processor, to see that no result depends on the newer instructions of this one.

python scripts/plain_cpu.py -m pytest tests/mixture      the arguments are those of python
python scripts/plain_cpu.py                           print the settings, one NAME=VALUE per line

Which instructions a library uses is decided when it is loaded, so the settings are environment variables of a
new process. Only what this machine has is switched off: numpy warns about the rest.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

_NAMES = ("ATEN_CPU_CAPABILITY", "NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE")
# The oldest first. A build of OpenBLAS without kernels for a core silently takes another one.
_CORES = ("Sandybridge", "Haswell", "ARMV8")
_ASK_CORES = """
import json, scipy.linalg, threadpoolctl
print(json.dumps([library.get("architecture") for library in threadpoolctl.threadpool_info()
                  if library["internal_api"] == "openblas"]))
"""
_ASK_FEATURES = """
import json
from numpy._core import _multiarray_umath as umath
print(json.dumps([name for name in umath.__cpu_dispatch__ if umath.__cpu_features__.get(name)]))
"""


def settings() -> dict[str, str]:
    """Environment variables of the plain profile on this machine."""
    plain = {"ATEN_CPU_CAPABILITY": "default"}
    features = _asked(_ASK_FEATURES, {})
    if features:
        plain["NPY_DISABLE_CPU_FEATURES"] = " ".join(features)
    core = next((core for core in _CORES if _accepted(core)), None)
    if core:
        plain["OPENBLAS_CORETYPE"] = core
    return plain


def _accepted(core: str) -> bool:
    loaded = _asked(_ASK_CORES, {"OPENBLAS_CORETYPE": core})
    return bool(loaded) and all(str(name).lower() == core.lower() for name in loaded)


def _asked(program: str, variables: dict[str, str]) -> list[str]:
    """What `program` prints in a process of its own, which starts from none of the settings."""
    kept = {name: value for name, value in os.environ.items() if name not in _NAMES}
    done = subprocess.run(
        [sys.executable, "-c", program], env=kept | variables, capture_output=True, text=True, check=False
    )
    return json.loads(done.stdout) if done.returncode == 0 else []


def main() -> None:
    """Run Python with the settings, or print them."""
    plain = settings()
    if len(sys.argv) == 1:
        print("\n".join(f"{name}={value}" for name, value in plain.items()))
        return
    # In place of this process, so that stopping it stops the program.
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], os.environ | plain)


if __name__ == "__main__":
    main()
