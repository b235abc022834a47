"""Kill commands at random moments with SIGKILL: what they write is the old or the new, and nobody is left.

    python scripts/kill_runs.py --kills 50 --seed 0

Of `fit`, `calibrate`, `totals`, `refute` and `experiment`, in turn. After each kill the run must load, the
outputs must be whole or as before, and after a few seconds no process of the killed command may live. A last
command then removes what the killed ones left.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import proxycal

ROLES = ["--outcome", "y", "--proxies", "p_1,p_2,p_3", "--environment", "e_1,e_2", "--direction", "over"]


def commands(rows: int) -> dict[str, list[str]]:
    """What is killed; each finishes in a few seconds."""
    fit = ["fit", "table.csv", *ROLES, "--method", "moments", "--out", "run", "--force", "--quiet"]
    return {
        "fit": fit,
        "calibrate": ["calibrate", "run", "table.csv", "--out", "out.csv", "--quiet"],
        "totals": ["totals", "run", "table.csv", "--out", "totals.csv", "--quiet"],
        "refute": ["refute", "run", "--jobs", "2", "--repetitions", "40", "--quiet"],
        "experiment": ["experiment", "synthetic", "--quick", "--resume", "--methods", "exact", "--jobs", "2",
                       "--out", "study", "--quiet"],
    }  # fmt: skip


def alive(marker: str) -> set[int]:
    """Living processes that were started with this marker in their environment."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (place / "environ").read_bytes():
                state = (place / "stat").read_text().rpartition(")")[2].split()[0]
                found |= {int(place.name)} if state != "Z" else set()
        except OSError:
            continue  # it ended while we looked, or belongs to somebody else
    return found


def whole_csv(path: Path, rows: int) -> bool:
    """Whether a CSV is absent, or has all of its lines."""
    return not path.exists() or len(path.read_text().splitlines()) == rows + 1


def main() -> int:
    """Exit 1 if something was lost or left."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=6.0, help="seconds before the latest kill")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    counts = {"killed": 0, "ended before": 0, "lost": 0, "orphans": 0}
    with tempfile.TemporaryDirectory(prefix="kill-") as name:
        here = Path(name)
        sim = proxycal.simulate(n=400, d_z=2, d_e=2, n_proxies=3, alpha=6.0, random_state=1)
        sim.table.to_csv(here / "table.csv", index=False)
        proxycal.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table).save(
            here / "run"
        )
        wanted = proxycal.load(here / "run").alpha_
        names = list(commands(400))
        for number in range(given.kills):
            kind = names[number % len(names)]
            marker = f"PROXYCAL_KILLED={os.getpid()}-{number}"
            running = subprocess.Popen(
                [sys.executable, "-m", "proxycal", *commands(400)[kind]],
                cwd=here, env={**os.environ, "OMP_NUM_THREADS": "1", **dict([marker.split("=")])},
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
            time.sleep(rng.uniform(0.2, given.longest))
            counts["killed" if running.poll() is None else "ended before"] += 1
            running.send_signal(signal.SIGKILL)
            running.wait()
            lost = check(here, wanted)
            left = orphans(marker)
            counts["lost"] += bool(lost)
            counts["orphans"] += len(left)
            print(
                f"{number:3d} {kind:10s} {lost or 'whole'} {f'{len(left)} left' if left else ''}", flush=True
            )
        subprocess.run([sys.executable, "-m", "proxycal", *commands(400)["fit"]], cwd=here, check=True)
        hidden = sorted(path.name for path in here.iterdir() if path.name.startswith(".proxycal"))
    print(json.dumps({"seed": given.seed, **counts, "temporary names left": hidden}))
    return int(bool(counts["lost"] or counts["orphans"]))


def check(here: Path, wanted: float) -> str:
    """What is wrong with the files, "" if nothing is."""
    try:
        if abs(proxycal.load(here / "run").alpha_ - wanted) > 1e-9:
            return "another run"
    except proxycal.ProxycalError as error:
        return str(error)
    for name, rows in (("out.csv", 400), ("totals.csv", 1)):
        if not whole_csv(here / name, rows):
            return f"{name} is cut"
    for cell in here.glob("study/**/*.json"):
        try:
            json.loads(cell.read_text())
        except ValueError:
            return f"{cell} is cut"
    return ""


def orphans(marker: str) -> set[int]:
    """Processes that outlive their program by ten seconds; they are ended here."""
    for _ in range(100):
        left = alive(marker)
        if not left:
            return left
        time.sleep(0.1)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return left


if __name__ == "__main__":
    sys.exit(main())
