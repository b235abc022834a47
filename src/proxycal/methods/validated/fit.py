"""The validated method on the arrays of a table.

exact, gradual (without any truth) --> candidates --out of fold--> stack --> y_cal, interval
errors of the validated rows --> what they look like --> alpha, verdict
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError
from proxycal.methods.auto import teaching
from proxycal.methods.parts import outcome_of
from proxycal.methods.registry import METHODS
from proxycal.methods.repeated import written_out
from proxycal.methods.validated.conformal import spread_power
from proxycal.methods.validated.gaps import read_gaps
from proxycal.methods.validated.learn import learn
from proxycal.methods.validated.record import Reader, ValidatedFit, key_of, sources_of
from proxycal.methods.validated.rows import heap_unit
from proxycal.methods.validated.thresholds import LEAST_ROWS, MOST_GRADED, MOST_OTHERS, WRITTEN_OUT
from proxycal.methods.validated.totals import design_of
from proxycal.methods.validated.verdict import judge
from proxycal.methods.validated.wording import findings, note
from proxycal.result import Estimate, Gaps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.methods.registry import MethodFit
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

    Array = NDArray[np.float64]


def fit_validated_method(arrays: Arrays, settings: Settings) -> ValidatedFit:
    """Fit the other methods without any truth, then learn from the validated rows."""
    require_rows(arrays)
    exact = METHODS["exact"].fit(replace(arrays, truth=None), settings)
    written, _ = written_out(arrays, WRITTEN_OUT)
    return conclude(written, exact, settings, written.n)


def require_rows(arrays: Arrays) -> None:
    """Refuse too few validated rows."""
    n = teaching(arrays)
    if n < LEAST_ROWS:
        raise TableError(
            f"method='validated' needs at least {LEAST_ROWS} validated rows (role truth) that are not all "
            f"copies of a few, and there are {n}: "
            "validate more rows (plan_audit says which), or use method='exact'"
        )


def conclude(arrays: Arrays, exact: MethodFit, settings: Settings, n: int) -> ValidatedFit:
    """Learn from the validated rows among `arrays`, which hold them all and a sample of the others.

    exact : fit of the same table without any truth. n : rows of the table.
    """
    assert arrays.truth is not None
    y, known = outcome_of(arrays), np.isfinite(arrays.truth)
    gradual = _gradual(arrays, settings)
    columns = np.hstack([arrays.P, arrays.E])
    sd = columns.std(axis=0)
    scales = np.stack([columns.mean(axis=0), np.where(sd > 0.0, sd, 1.0)])
    reader = Reader(scales, heap_unit(y), exact, gradual)
    training = arrays.take(_training_rows(known, settings.random_state))
    learned = learn(
        reader.rows(training),
        reader.given(training),
        reader.names,
        key_of(training),
        design_weights(training),
        settings.level,
        settings.random_state,
    )
    shown = training.take(np.flatnonzero(np.isfinite(training.truth)))  # type: ignore[arg-type]
    sign, truth = settings.sign, shown.truth
    assert truth is not None
    seen = sign * (outcome_of(shown) - truth)
    share = len(truth) / n
    w = design_weights(shown)
    reading = read_gaps(seen, truth, w, settings.random_state)
    low, high = reading.interval(settings.level)
    own = Estimate("validated", reading.alpha, reading.alpha_se, low, high, note(reading))
    fit = ValidatedFit(
        sign=sign,
        level=settings.level,
        verdict="not identified",
        findings=(),
        estimates=(own, *exact.estimates),
        share_biased=reading.share,
        reader=reader,
        full=learned.full,
        folds=learned.folds,
        cuts=learned.cuts,
        weights=learned.stack.weights,
        quantile=learned.quantile,
        floor=learned.floor,
        reading=reading,
        gaps=Gaps(truth, seen, sign * (outcome_of(shown) - learned.stack.chosen)),
        spread_power=spread_power(learned.stack.chosen - truth, learned.sd + learned.floor, w),
        design=design_of(truth, learned.stack.chosen, shown.weights, probabilities(shown, share), share),
    )
    verdict = judge(reading, exact, shown)
    others = n - int(known.sum())
    untaught = learned.full.taught.gaps(
        reader.rows(arrays).x, arrays.proxy_names + arrays.environment_names, sources_of(arrays)
    )
    return replace(
        fit,
        verdict=verdict,
        findings=findings(verdict, reading, exact, learned.stack, learned.full.names, others, untaught),
    )


def probabilities(shown: Arrays, share: float) -> Array:
    """Probability (n,) with which each validated row was chosen; the same for all where none is given."""
    return np.full(shown.n, share) if shown.inclusion is None else shown.inclusion


def design_weights(arrays: Arrays) -> Array:
    """How many rows each stands for, (n,): its weight over the probability that the audit chose it."""
    if arrays.inclusion is None:
        return arrays.weights
    return np.asarray(arrays.weights / np.where(np.isfinite(arrays.inclusion), arrays.inclusion, 1.0))


def _training_rows(known: NDArray[np.bool_], seed: int) -> NDArray[np.intp]:
    """All validated rows and at most MOST_OTHERS of the others, in their order."""
    others = np.flatnonzero(~known)
    if len(others) > MOST_OTHERS:
        others = np.random.default_rng(seed).choice(others, MOST_OTHERS, replace=False)
    return np.sort(np.concatenate([np.flatnonzero(known), others]))


def _gradual(arrays: Arrays, settings: Settings) -> MethodFit | None:
    """The fit of a graded bias without any truth; None where it has no answer, as with too few proxies."""
    blind = replace(arrays, truth=None)
    if arrays.n > MOST_GRADED:
        chosen = np.random.default_rng(settings.random_state).choice(arrays.n, MOST_GRADED, replace=False)
        blind = blind.take(np.sort(chosen))
    try:
        fit = METHODS["gradual"].fit(blind, replace(settings, effect="constant"))
    except TableError:
        return None
    return fit if np.isfinite(fit.estimate.alpha) else None
