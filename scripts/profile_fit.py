"""Where the CPU time of a fit goes: one line per number of rows, a share per part.

    python scripts/profile_fit.py exact 1000 10000 100000
    python scripts/profile_fit.py paper 1000 10000

Every size has a process of its own, so that its peak memory is its own too. Tables have 20 columns.
"""

from __future__ import annotations

import cProfile
import pstats
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.measure import peak_memory
from benchmarks.scale import ROLES, write_table
from proxycal import ProxyCalibrator

# Parts that do not contain each other: (file, function) of this package.
PARTS = {
    "exact": {
        "encode": [("table/encode.py", "fit"), ("table/encode.py", "transform")],
        "sample": [("scale/sample.py", "summarise")],
        "features": [("mixture/designs.py", "ways_of_content")],
        "selection": [("mixture/select.py", "select_models"), ("mixture/select.py", "one_component")],
        "maximum": [
            ("mixture/compare.py", "_undecided"),
            ("mixture/compare.py", "_best"),
            ("mixture/settle.py", "settle"),
        ],
        "all rows": [("mixture/full_data.py", "fit_full_data")],
        "interval": [("mixture/inference.py", "conclude")],
        "wider comparison": [("mixture/wide/widen.py", "widen")],
        "gradual row": [("methods/beside.py", "beside")],
        "matching": [("effect/likely.py", "match_likely")],
        "moments": [("methods/moments/estimate.py", "fit_moments")],
        "evidence": [("methods/exact/evidence.py", "collect")],
        "audit": [("answers.py", "table_findings")],
        "rows shown": [("answers.py", "rows_shown")],
    },
    "paper": {
        "encode": [("table/encode.py", "fit"), ("table/encode.py", "transform")],
        "stage 1": [("content/train.py", "fit_content")],
        "stage 2": [("bias/vae.py", "fit_bias_vae")],
        "encoder": [("content/train.py", "encode")],
        "matching": [("effect/match.py", "match_effect"), ("effect/match.py", "match_new")],
        "moments": [("methods/moments/estimate.py", "fit_moments")],
        "audit": [("answers.py", "table_findings")],
        "rows shown": [("answers.py", "rows_shown")],
    },
}


def main(method: str, sizes: list[str]) -> None:
    """Print a Markdown table."""
    print("| rows | CPU s | peak GiB | " + " | ".join(PARTS[method]) + " |")
    print("|---" * (3 + len(PARTS[method])) + "|")
    for n in sizes:
        command = [sys.executable, __file__, method, "--alone", n]
        print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip(), flush=True)


def alone(method: str, n: int) -> str:
    """The line of one size."""
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(1):
        path = Path(folder, "table.parquet")
        write_table(path, n)
        model, profile = (
            ProxyCalibrator(ROLES, direction="over", method=method),
            cProfile.Profile(time.process_time),
        )
        # Once before, so that imports are not counted.
        model.fit(pd.read_parquet(path).iloc[:300])
        profile.runcall(model.fit_files, [path])
    stats = pstats.Stats(profile)
    whole = stats.total_tt  # type: ignore[attr-defined]
    shares = [_seconds(stats, where) / whole for where in PARTS[method].values()]
    peak = peak_memory() / 2**30
    return f"| {n:,} | {whole:.1f} | {peak:.2f} | " + " | ".join(f"{100 * one:.0f}%" for one in shares) + " |"


def _seconds(stats: pstats.Stats, where: list[tuple[str, str]]) -> float:
    """Seconds in some functions and all that they call."""
    found = 0.0
    for (file, _, name), (_, _, _, cumulative, _) in stats.stats.items():  # type: ignore[attr-defined]
        if any(file.endswith("proxycal/" + at) and name == function for at, function in where):
            found += cumulative
    return found


if __name__ == "__main__":
    if sys.argv[2] == "--alone":
        print(alone(sys.argv[1], int(sys.argv[3])))
    else:
        main(sys.argv[1], sys.argv[2:])
