"""`proxycal bench`: run a benchmark, or resume it, and write its two files."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from benchmarks import (
    accuracy,
    after,
    counts,
    counts_paths,
    coverage,
    databases,
    drift,
    elsewhere,
    gradual,
    invariants,
    losses,
    losses_selection,
    nations,
    null,
    one_model,
    rare_levels,
    ratio_rows,
    reporters,
    sampled,
    scale,
    speed,
    surveys,
    updates,
    validated,
    validated_means,
    validated_scale,
    violations,
    workers,
    worlds,
)
from benchmarks.bench import Bench, run, so_far
from benchmarks.pages import markdown, write
from proxycal.errors import SettingsError, StoreError
from proxycal.studies.pages import code_digest

if TYPE_CHECKING:
    from pathlib import Path

    from proxycal.studies.sweep import How

BENCHES = {
    "accuracy": accuracy.bench,
    "after": after.bench,
    "counts": counts.bench,
    "counts-paths": counts_paths.bench,
    "coverage": coverage.bench,
    "drift": drift.bench,
    "elsewhere": elsewhere.bench,
    "gradual": gradual.bench,
    "invariants": invariants.bench,
    "invariants-long": invariants.long,
    "losses": losses.bench,
    "losses-selection": losses_selection.bench,
    "nations": nations.bench,
    "null": null.bench,
    "rare-levels": rare_levels.bench,
    "ratio-rows": ratio_rows.bench,
    "sampled": sampled.bench,
    "surveys": surveys.bench,
    "updates": updates.bench,
    "validated": validated.bench,
    "validated-means": validated_means.bench,
    "violations": violations.bench,
    "one-model": one_model.bench,
    "reporters": reporters.bench,
    "worlds": worlds.bench,
    "worlds-tuning": worlds.tuning,
}
TIMINGS = {
    "speed": speed.page,
    "scale": scale.page,
    "databases": databases.page,
    "validated-scale": validated_scale.page,
    "workers": workers.page,
}


def perform(kind: str, quick: bool, work: Path, out: Path, how: How) -> tuple[str, tuple[Path, Path]]:
    """Run what is left of a benchmark in work/KIND, then write out/KIND.md and .csv; returns the page too."""
    name = f"{kind}-quick" if quick else kind
    command = f"proxycal bench {kind}{' --quick' if quick else ''}"
    if kind in TIMINGS:
        # Timings hold for one moment: they are measured again, one after the other, and never resumed.
        page = TIMINGS[kind](quick)
        text = markdown(page, command, code_digest(), quick)
        return text, write(page, out, name, text)
    bench = _bench(kind, quick)
    folder = work / name
    if quick and not how.resume and (folder / "sweep.json").exists():
        # A quick run takes two minutes: an earlier one is replaced without asking.
        shutil.rmtree(folder)
    code = bench.code()
    page = bench.page(run(bench, folder, how))
    if code != bench.code():
        code += ", CHANGED DURING THE RUN: run it again from a copy that does not change"
    text = markdown(page, f"{command} --jobs {how.jobs}", code, quick)
    return text, write(page, out, name, text)


def look(kind: str, quick: bool, work: Path) -> str:
    """The page of what is finished so far; nothing is run or written."""
    bench = _bench(kind, quick)
    folder = work / (f"{kind}-quick" if quick else kind)
    trials = so_far(bench, folder)
    if trials.empty:
        raise StoreError(f"'{folder}' holds no finished cell of this benchmark yet: wait, or check --work")
    return markdown(bench.page(trials), f"proxycal bench {kind} (unfinished)", bench.code(), quick)


def _bench(kind: str, quick: bool) -> Bench:
    if kind not in BENCHES:
        if kind in TIMINGS:
            raise SettingsError(f"--so-far: bench {kind} is measured in one go and keeps no unfinished cells")
        known = ", ".join([*BENCHES, *TIMINGS])
        raise SettingsError(f"bench '{kind}' is not known: use one of {known}")
    return BENCHES[kind](quick)
