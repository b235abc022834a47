"""What the benchmarks of time and memory share: measuring, and the ratios that are reported."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.pages import Page, Part, number

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
# The folder from which `python -m benchmarks.NAME` works, wherever the benchmark was started.
_CLONE = Path(__file__).parent.parent


def ratios(title: str, rows: list[dict[str, Any]]) -> Page:
    """The page of rows made by `row`."""
    shown = [
        {
            "what": line["what"],
            "ours": f"{number(line['ours'], 3)} s"
            if line["unit"] == "s"
            else f"{line['ours']:.3g} {line['unit']}",
            "other": line["other_text"],
            "ratio": number(line["ratio"], 3),
            "to reach": line["to_reach"],
            "note": line["note"],
        }
        for line in rows
    ]
    return Page(title, (Part("Ratios within one run", shown),), pd.DataFrame(rows))


def row(
    what: str, ours: float, other: float, to_reach: str, note: str = "", unit: str = "s"
) -> dict[str, Any]:
    """One ratio, ours over other."""
    return {
        "what": what,
        "ours": ours,
        "other": other,
        "ratio": ours / other if other else np.nan,
        "to_reach": to_reach,
        "unit": unit,
        "other_text": f"{number(other, 3)} {unit}" if np.isfinite(other) else "not measured",
        "note": note,
    }


def cpu(call: Callable[[], T]) -> tuple[float, T]:
    """CPU seconds of a call on one thread, and its answer."""
    with threadpool_limits(1):
        start = time.process_time()
        answer = call()
        return time.process_time() - start, answer


def alone(module: str, *arguments: object) -> dict[str, Any]:
    """The JSON that `python -m module` prints: a process of its own has a peak memory of its own."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=_CLONE)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def peak_memory() -> float:
    """Bytes that this process has held at most.

    Linux keeps that of the program itself; the portable figure takes over the peak of whoever started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return 1024.0 * float(line.split()[1])
    return 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
