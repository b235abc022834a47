"""Refits of changed arrays: in order, with a seed of their own, and a failure is a result."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

from proxycal.errors import SettingsError, TableError
from proxycal.questions.refits import KeptFit, Refit, require_repetitions, run_trials
from proxycal.result import Estimate, Finding, plain
from proxycal.settings import Settings


def answer(alpha: float, gain: float | None = None) -> SimpleNamespace:
    findings = () if gain is None else (Finding("q", "s", "r", "m", ok=True, topic="comparison", value=gain),)
    estimate = Estimate("exact", alpha, 0.1, alpha - 0.2, alpha + 0.2)
    return SimpleNamespace(estimate=estimate, share_biased=0.4, verdict="bias found", findings=findings)


def fit(arrays, settings):
    """A method whose answer is the mean of y, or the seed where it was told another; refuses no rows."""
    if arrays.n == 0:
        raise TableError("no rows are left")
    return answer(float(arrays.y.mean()) + 100.0 * settings.random_state)


METHOD = SimpleNamespace(fit=fit)


def arrays(*y: float) -> SimpleNamespace:
    return SimpleNamespace(y=np.array(y), n=len(y))


def kept(n_fitted: int = 2) -> KeptFit:
    return KeptFit.of(
        arrays(1.0, 3.0), Settings(direction="over", n_jobs=2), METHOD, answer(7.0, gain=12.0), n_fitted
    )


def test_the_fit_itself_is_the_base_where_all_of_its_rows_were_kept():
    base = kept().base
    assert (base.change, base.alpha, base.gain) == ("as fitted", 7.0, 12.0)
    assert math.isnan(base.share)


def test_a_part_of_the_rows_is_fitted_to_compare_with():
    base = kept(n_fitted=10).base
    assert base.alpha == 2.0
    assert math.isnan(base.gain)


def test_refits_come_in_the_order_of_the_trials_and_a_failure_is_one_of_them():
    fitted = kept()
    told = []
    trials = [
        fitted.trial("half", arrays(5.0), share=0.5),
        fitted.trial("nothing", arrays()),
        fitted.trial("other seed", arrays(5.0), random_state=2),
    ]
    half, nothing, seed = run_trials(trials, jobs=1, progress=lambda *done: told.append(done))
    assert (half.change, half.share, half.alpha, half.note) == ("half", 0.5, 5.0, "")
    assert (nothing.verdict, nothing.note) == ("not identified", "no rows are left")
    assert math.isnan(nothing.alpha)
    assert seed.alpha == 205.0
    assert told == [(1, 3), (2, 3), (3, 3)]
    # The refits are the parallel work; each is one process.
    assert {trial.settings.n_jobs for trial in trials} == {1}


def test_streams_differ_from_each_other_and_not_from_run_to_run():
    one, two = ([stream.random() for stream in kept().streams(3)] for _ in range(2))
    assert one == two
    assert len(set(one)) == 3


def test_a_refit_comes_back_through_json():
    refit = Refit("without 'p'", math.nan, 2.0, 0.1, -math.inf, math.inf, 50.0, 0.4, "bias found", "note")
    again = Refit.from_dict(json.loads(json.dumps(plain(refit), allow_nan=False)))
    assert repr(again) == repr(refit)


@pytest.mark.parametrize("repetitions", [1, 0, -3, 2.0, True, "5", None])
def test_repetitions_are_a_whole_number_of_two_or_more(repetitions):
    with pytest.raises(SettingsError, match="2 or more"):
        require_repetitions(repetitions)
    require_repetitions(2)
