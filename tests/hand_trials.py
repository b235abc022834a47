"""Trials of benchmarks without fits, for tests of what is computed from them."""

from __future__ import annotations

from benchmarks.bench import trials
from proxycal.studies.sweep import Done


def row(hat, low=0.0, high=4.0, verdict="bias found", error=None, **more):
    """A trial of a bias of 2."""
    fitted = {"alpha_true": 2.0, "alpha_hat": hat, "low": low, "high": high, "verdict": verdict}
    return {"world": "w", **fitted, "accuracy": 0.9, "oracle": 2.2, "seconds": 1.0, "error": error, **more}


def fake_block(settings):
    """Trials without fits: alpha is overestimated by 1% and covered, and a null is mostly clean."""
    alpha = settings["alpha"]
    rows = []
    for seed in settings["seeds"]:
        hat = alpha * (1.01 if seed % 2 else 0.99)
        verdict = "bias found" if alpha or seed % 40 == 0 else "no bias found"
        trial = {**row(hat, hat - alpha, hat + alpha, verdict), "alpha_true": alpha, "oracle": alpha * 1.02}
        del trial["world"]
        if settings["world"] == "alpha by level":
            levels = [("a", 1.0), ("b", 7 / 3), ("c", 11 / 3), ("d", 5.0)]
            trial["levels"] = [
                {"level": name, "alpha_true": size, "alpha_hat": 1.05 * size, "low": 0.0, "high": 9.0,
                 "oracle": 1.1 * size, "told apart": True}
                for name, size in levels
            ]  # fmt: skip
        rows.append({"seed": seed, **trial})
    return rows


def all_trials(bench):
    return trials(
        [Done(cell.key, cell.settings, fake_block(cell.settings), None, 1.0) for cell in bench.cells]
    )
