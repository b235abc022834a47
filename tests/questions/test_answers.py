from __future__ import annotations

import json
import math

import pytest

from proxycal.questions.answers import answers_from_dict, answers_to_dict
from proxycal.questions.power import Power, PowerPoint
from proxycal.questions.refits import Refit
from proxycal.questions.refute.refutation import Refutation

REFITS = (
    Refit("as fitted", math.nan, 2.0, 0.1, 1.8, 2.2, 50.0, 0.4, "bias found"),
    Refit("without 'p'", 0.25, *(math.nan,) * 6, "not identified", "no rows are left"),
)
ANSWERS = {
    "leak": Refutation("leak", REFITS, "alpha halves", 0.5, "It breaks.", False),
    "drop-proxy": Refutation("drop-proxy", REFITS[:1], "alpha stays", math.nan, "It holds.", True),
    "power": Power((PowerPoint(0.5, 0.4, 0.2, 0.6, 0.5, 0.1, 0.95, 20),), math.nan, 2.5, "Not shown."),
}


def test_answers_come_back_through_json_as_they_were():
    again = answers_from_dict(json.loads(json.dumps(answers_to_dict(ANSWERS), allow_nan=False)))
    assert list(again) == sorted(ANSWERS)
    for name, answer in ANSWERS.items():
        # NaN is not equal to itself; its text is.
        assert repr(again[name]) == repr(answer)


@pytest.mark.parametrize("name", ["leak", "power"])
def test_an_answer_without_its_parts_is_no_answer(name):
    values = answers_to_dict(ANSWERS)[name]
    values.pop("reading")
    with pytest.raises(LookupError):
        answers_from_dict({name: values})
