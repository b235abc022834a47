"""`proxycal bench`: run a benchmark, or go on with one, and write its two files."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from proxycal.errors import SettingsError, StoreError
from proxycal.experiments import (
    bench_accuracy,
    bench_coverage,
    bench_null,
    bench_sampled,
    bench_scale,
    bench_speed,
    bench_violations,
    bench_workers,
)
from proxycal.experiments.bench import Bench, code_digest, markdown, run, so_far, write

if TYPE_CHECKING:
    from pathlib import Path

    from proxycal.experiments.sweep import How

BENCHES = {
    "accuracy": bench_accuracy.bench,
    "coverage": bench_coverage.bench,
    "null": bench_null.bench,
    "sampled": bench_sampled.bench,
    "violations": bench_violations.bench,
}
# These put questions of their own to a fit, so that another function runs their cells, of more code.
_OWN = {"violations": bench_violations, "sampled": bench_sampled}
TIMINGS = {"speed": bench_speed.page, "scale": bench_scale.page, "workers": bench_workers.page}


def perform(kind: str, quick: bool, work: Path, out: Path, how: How) -> tuple[str, tuple[Path, Path]]:
    """Run what is left of a benchmark in work/KIND, then write out/KIND.md and .csv; returns the page too."""
    name = f"{kind}-quick" if quick else kind
    if kind in TIMINGS:
        # Timings are of one moment: they are measured anew, one after the other, and never resumed.
        page = TIMINGS[kind](quick)
        text = markdown(page, f"proxycal bench {kind}{' --quick' if quick else ''}", code_digest(), quick)
        return text, write(page, out, name, text)
    bench = _bench(kind, quick)
    folder = work / name
    if quick and not how.resume and (folder / "sweep.json").exists():
        # A quick run costs two minutes, so that an earlier one is not worth a question.
        shutil.rmtree(folder)
    go, digest = (_OWN[kind].run, _OWN[kind].code) if kind in _OWN else (run, code_digest)
    code = digest()
    page = bench.page(go(bench, folder, how))
    if code != digest():
        code += ", CHANGED DURING THE RUN: run it again from a copy that stays as it is"
    command = f"proxycal bench {kind}{' --quick' if quick else ''} --jobs {how.jobs}"
    text = markdown(page, command, code, quick)
    return text, write(page, out, name, text)


def look(kind: str, quick: bool, work: Path) -> str:
    """The page of what is finished so far; nothing is run or written."""
    bench = _bench(kind, quick)
    folder = work / (f"{kind}-quick" if quick else kind)
    trials = so_far(bench, folder)
    if trials.empty:
        raise StoreError(f"'{folder}' holds no finished cell of this benchmark yet: wait, or check --work")
    code = _OWN[kind].code() if kind in _OWN else code_digest()
    return markdown(bench.page(trials), f"proxycal bench {kind} (unfinished)", code, quick)


def _bench(kind: str, quick: bool) -> Bench:
    if kind not in BENCHES:
        known = ", ".join([*BENCHES, *TIMINGS])
        raise SettingsError(f"bench '{kind}' is not known, or leaves nothing to look at: use {known}")
    return BENCHES[kind](quick)
