"""The measures of the maps: their numbers, their steps and their words."""

from __future__ import annotations

import numpy as np
import pandas as pd

from proxycal.studies.case_study_maps import COLOURS
from proxycal.studies.case_study_measures import MEASURES, PER_HEAD, RATIO, TAU

TABLE = pd.DataFrame(
    {
        "reported": [100.0, 0.0, 50.0],
        "calibrated": [300.0, 0.0, 50.0],
        "population": [20.0, 10.0, np.nan],
        "tau_abs": [np.log(3.0), np.nan, 0.0],
    }
)


def test_each_measure_is_what_it_says():
    np.testing.assert_allclose(RATIO.of(TABLE), [3.0, 1.0, 1.0])
    np.testing.assert_allclose(PER_HEAD.of(TABLE), [10.0, 0.0, np.nan])
    np.testing.assert_allclose(TAU.of(TABLE), [3.0, np.nan, 1.0])


def test_steps_and_words_belong_together():
    assert RATIO.steps(RATIO.of(TABLE)) == [3, 0, 0]
    assert PER_HEAD.steps(PER_HEAD.of(TABLE)) == [3, 0, None]
    for measure in MEASURES:
        assert len(measure.words) == len(COLOURS) == len(measure.cuts) + 1
