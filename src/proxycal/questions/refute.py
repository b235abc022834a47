"""Refits of changed arrays, in parallel, and their reading: what `ProxyCalibrator.refute` does."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.engine import map_as_done
from proxycal.errors import ProxycalError, SettingsError, TableError
from proxycal.methods.parts import outcome_of
from proxycal.questions.answers import Refutation
from proxycal.questions.null import fit_null
from proxycal.questions.refute_reading import (
    KINDS,
    LEAKS,
    PART,
    Reading,
    Refit,
    leaked,
    part_of,
    read_drop,
    read_leak,
    read_null,
    read_placebo,
    read_seed,
    shuffled,
)
from proxycal.table.training import take

if TYPE_CHECKING:
    from proxycal.methods.registry import Method, MethodFit
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

# Told after each refit: how many are done, of how many.
Progress = Callable[[int, int], None]
# Proxies that are made to leak, one at a time.
LEAKING = 3
SEEDS = 3


@dataclass(frozen=True, slots=True)
class Trial:
    """One refit to do: what was changed, the changed arrays, and how to fit them."""

    change: str
    share: float
    arrays: Arrays
    settings: Settings
    method: Method


@dataclass(frozen=True, slots=True)
class Fitted:
    """The fit in question: the rows kept of it, how it was made, and what it found on exactly these rows."""

    arrays: Arrays
    settings: Settings
    method: Method
    fit: MethodFit

    @classmethod
    def of(cls, arrays: Arrays, settings: Settings, method: Method, fit: MethodFit, n: int) -> Fitted:
        """Where only a part of the n fitted rows was kept, the comparison is with a fit of that part."""
        return cls(arrays, settings, method, fit if arrays.n == n else method.fit(arrays, settings))

    @property
    def base(self) -> Refit:
        """The fit itself, as one of its refits."""
        return _summary("as fitted", math.nan, self.fit)

    def trial(self, change: str, share: float = math.nan, arrays: Arrays | None = None) -> Trial:
        """A refit with other arrays."""
        used = self.arrays if arrays is None else arrays
        # The refits are the parallel work; each of them is one process.
        return Trial(change, share, used, replace(self.settings, n_jobs=1), self.method)


def refute(
    kind: str, asked: Fitted, repetitions: int, n: int, progress: Progress | None = None
) -> Refutation:
    """Refit changed arrays and read the answers; n: rows of the fit, of which `asked` holds all or a part."""
    if kind not in KINDS:
        raise SettingsError(f"refute({kind!r}) is not known: use one of {', '.join(KINDS)}")
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 2:
        raise SettingsError(f"repetitions={repetitions!r}: use a whole number of 2 or more")
    make, read = _KINDS[kind]
    base = asked.base
    trials = make(asked, repetitions)
    refits = run(trials, asked.settings.n_jobs, progress)
    found = read(base, refits) if refits else _nothing_to_leak(base)
    table = pd.DataFrame([asdict(one) for one in (base, *refits)]).set_index("change")
    note = f" (on {asked.arrays.n:,} of {n:,} rows)" if asked.arrays.n < n else ""
    return Refutation(kind, table, found.statistic + note, found.value, found.reading, found.ok)


def run(trials: list[Trial], jobs: int, progress: Progress | None = None) -> list[Refit]:
    """All refits, in the order of the trials."""
    out: dict[int, Refit] = {}
    for position, refit in map_as_done(_refit, trials, jobs=jobs):
        out[position] = refit
        if progress is not None:
            progress(len(out), len(trials))
    return [out[i] for i in range(len(trials))]


def _refit(trial: Trial) -> Refit:
    try:
        return _summary(trial.change, trial.share, trial.method.fit(trial.arrays, trial.settings))
    except ProxycalError as error:
        # A part of the rows may be too poor to fit at all; that is an answer, and the table shows it.
        empty = (math.nan,) * 6
        return Refit(trial.change, trial.share, *empty, "not identified", str(error))


def _summary(change: str, share: float, fit: MethodFit) -> Refit:
    races = [one.value for one in fit.findings if one.topic == "race" and one.value is not None]
    gain = races[0] if races else math.nan
    one = fit.estimate
    return Refit(change, share, one.alpha, one.se, one.low, one.high, gain, fit.share_biased, fit.verdict)


def _streams(asked: Fitted, count: int) -> list[np.random.Generator]:
    return [np.random.default_rng([asked.settings.random_state, i]) for i in range(count)]


def _null(asked: Fitted, repetitions: int) -> list[Trial]:
    null = fit_null(asked.arrays, asked.settings, asked.fit.verdict == "bias found")
    plain = replace(asked.arrays, truth=None)
    return [
        asked.trial(f"drawn without bias, {i + 1}", arrays=replace(plain, y=null.draw(rng)))
        for i, rng in enumerate(_streams(asked, repetitions))
    ]


def _placebo(asked: Fitted, repetitions: int) -> list[Trial]:
    return [
        asked.trial(
            f"proxies shuffled, {i + 1}", arrays=replace(asked.arrays, P=shuffled(asked.arrays.P, rng))
        )
        for i, rng in enumerate(_streams(asked, repetitions))
    ]


def _drop(asked: Fitted, repetitions: int) -> list[Trial]:
    sources = list(dict.fromkeys(asked.arrays.proxy_source))
    if len(sources) < 2:
        raise TableError("refute('drop-proxy') needs two proxies or more: this fit has one, so none can go")
    return [asked.trial(f"without '{name}'", arrays=_without(asked.arrays, name)) for name in sources]


def _without(arrays: Arrays, proxy: str) -> Arrays:
    stays = [k for k, source in enumerate(arrays.proxy_source) if source != proxy]
    return replace(
        arrays,
        P=arrays.P[:, stays],
        proxy_names=tuple(arrays.proxy_names[k] for k in stays),
        proxy_source=tuple(arrays.proxy_source[k] for k in stays),
        proxy_categorical=tuple(arrays.proxy_categorical[k] for k in stays),
    )


def _leak(asked: Fitted, repetitions: int) -> list[Trial]:
    """Each of the proxies that go with the outcome most, at each share; no bias, nothing to leak."""
    arrays, alpha = asked.arrays, asked.fit.estimate.alpha
    if asked.fit.verdict != "bias found":
        return []
    p_biased = asked.fit.predict(arrays).p_biased
    rng = _streams(asked, 1)[0]
    a = (rng.random(arrays.n) < p_biased).astype(float)
    sign = asked.settings.sign
    y = outcome_of(arrays) - sign * alpha * a
    size = alpha / float(y.std())
    strength = np.abs([np.corrcoef(column, y)[0, 1] if column.std() > 0 else 0.0 for column in arrays.P.T])
    ranked = [arrays.proxy_source[k] for k in np.argsort(-strength)]
    chosen = list(dict.fromkeys(ranked))[:LEAKING]
    trials = []
    for name in chosen:
        columns = np.flatnonzero([source == name for source in arrays.proxy_source])
        for share in LEAKS:
            P = leaked(arrays.P, columns, y, share, sign * size, a)
            trials.append(
                asked.trial(f"with {share:.0%} of it in '{name}'", share, arrays=replace(arrays, P=P))
            )
    return trials


def _nothing_to_leak(base: Refit) -> Reading:
    return Reading(f"verdict: {base.verdict}", math.nan, "No bias was found, so there is none to leak.", True)


def _seed(asked: Fitted, repetitions: int) -> list[Trial]:
    seeds = min(SEEDS, repetitions - 1)
    trials = []
    for i in range(1, seeds + 1):
        made = asked.trial(f"seed {asked.settings.random_state + i}")
        other = replace(made.settings, random_state=asked.settings.random_state + i)
        trials.append(replace(made, settings=other))
    for i, rng in enumerate(_streams(asked, repetitions - seeds)):
        rows = part_of(asked.arrays.n, PART, asked.arrays.cluster, rng)
        trials.append(asked.trial(f"part {i + 1} of the rows", PART, take(asked.arrays, rows)))
    return trials


_KINDS: dict[str, tuple[Callable[[Fitted, int], list[Trial]], Callable[[Refit, list[Refit]], Reading]]] = {
    "null": (_null, read_null),
    "placebo": (_placebo, read_placebo),
    "drop-proxy": (_drop, read_drop),
    "leak": (_leak, read_leak),
    "seed": (_seed, read_seed),
}
