"""A fit repeated on changed arrays, in parallel: what refutations and power have in common."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal.errors import ProxycalError, SettingsError
from proxycal.methods.log_scale import LogFit, positive_logs
from proxycal.parallel import map_as_done
from proxycal.result import number

if TYPE_CHECKING:
    from proxycal.methods.registry import Method, MethodFit
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

# Told after each refit: how many are done, of how many.
Progress = Callable[[int, int], None]
# Fewer tables than this cannot tell a chance of 90% from one of 60%.
TOO_FEW = 8
_NUMBERS = ("share", "alpha", "se", "low", "high", "gain", "share_biased")


@dataclass(frozen=True, slots=True)
class Refit:
    """One fit of changed arrays: what was changed, and the result (NaN where there is none).

    Parameters
    ----------
    change : str
        What was changed.
    share : float
        Share of the bias leaked, share of the rows kept, or size injected; NaN where the question has none.
    alpha, se, low, high : float
        The estimate and its interval.
    gain : float
        BIC gain of a bias; NaN for methods that compare no models.
    share_biased : float
        Mean of P(A = 1 | data).
    verdict : str
        As `ProxyCalibrator.verdict_`.
    note : str, default ""
        Why there is no estimate.

    """

    change: str
    share: float
    alpha: float
    se: float
    low: float
    high: float
    gain: float
    share_biased: float
    verdict: str
    note: str = ""

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Refit:
        """The refit that `plain` wrote."""
        parts: dict[str, Any] = {name: str(values[name]) for name in ("change", "verdict", "note")}
        return cls(**parts | {name: number(values[name]) for name in _NUMBERS})


@dataclass(frozen=True, slots=True)
class Trial:
    """One refit to do: what was changed, the changed arrays, and how to fit them; share as in `Refit`."""

    change: str
    share: float
    arrays: Arrays
    settings: Settings
    method: Method


@dataclass(frozen=True, slots=True)
class KeptFit:
    """A fit that can be repeated: its rows, or as many as were kept, and the result on exactly these.

    n_fitted : rows of the fit, of which `arrays` holds all or a part. on_logs : whether the outcome of
    `arrays` is the logarithm of the user's.
    """

    arrays: Arrays
    settings: Settings
    method: Method
    fit: MethodFit
    n_fitted: int
    on_logs: bool = False

    @classmethod
    def of(cls, arrays: Arrays, settings: Settings, method: Method, fit: MethodFit, n: int) -> KeptFit:
        """Where only a part of the n fitted rows was kept, that part is fitted to compare with.

        On the log scale what is simulated and refitted are the logarithms of the positive rows, so that every
        question is put in the terms in which the method was fitted.
        """
        part = arrays.n < n
        if part:
            fit = method.fit(arrays, settings)
        if isinstance(fit, LogFit):
            arrays, fit, settings = positive_logs(arrays), fit.inner, replace(settings, scale="linear")
            return cls(arrays, settings, method, fit, n if part else arrays.n, on_logs=True)
        return cls(arrays, settings, method, fit, n)

    @property
    def base(self) -> Refit:
        """The fit itself, as the first of its refits."""
        return _summary("as fitted", math.nan, self.fit)

    def trial(
        self, change: str, arrays: Arrays, share: float = math.nan, random_state: int | None = None
    ) -> Trial:
        """A refit of other arrays, or with another seed."""
        seed = self.settings.random_state if random_state is None else random_state
        # The refits are the parallel work; each of them is one process.
        return Trial(change, share, arrays, replace(self.settings, n_jobs=1, random_state=seed), self.method)

    def streams(self, count: int) -> list[np.random.Generator]:
        """Independent random numbers for each of `count` trials."""
        return [np.random.default_rng([self.settings.random_state, i]) for i in range(count)]


def require_repetitions(repetitions: int) -> None:
    """Refuse what is not a whole number of 2 or more."""
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 2:
        raise SettingsError(f"repetitions={repetitions!r}: use a whole number of 2 or more")


def run_trials(trials: list[Trial], jobs: int, progress: Progress | None = None) -> list[Refit]:
    """All refits, in the order of the trials."""
    refits: dict[int, Refit] = {}
    for position, refit in map_as_done(_refit, trials, jobs=jobs):
        refits[position] = refit
        if progress is not None:
            progress(len(refits), len(trials))
    return [refits[i] for i in range(len(trials))]


def _refit(trial: Trial) -> Refit:
    try:
        return _summary(trial.change, trial.share, trial.method.fit(trial.arrays, trial.settings))
    except ProxycalError as error:
        # A part of the rows may be too poor to fit at all; that is a result, and the table shows it.
        empty = (math.nan,) * 6
        return Refit(trial.change, trial.share, *empty, "not identified", str(error))


def _summary(change: str, share: float, fit: MethodFit) -> Refit:
    gains = [finding.value for finding in fit.findings if finding.topic == "comparison"]
    gain = math.nan if not gains or gains[0] is None else gains[0]
    size = fit.estimate
    return Refit(change, share, size.alpha, size.se, size.low, size.high, gain, fit.share_biased, fit.verdict)
