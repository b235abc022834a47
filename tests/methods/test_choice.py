import numpy as np
import pytest

import proxycal as pc
from proxycal.errors import SettingsError, TableError
from proxycal.methods.choice import choose_method
from proxycal.settings import Settings
from proxycal.table.encode import Encoder
from proxycal.testing import ReportedWorld


@pytest.fixture(scope="module")
def tables():
    counts, answers = (
        ReportedWorld(kind, level=level).draw(0, 200) for kind, level in (("counts", 3.0), ("yes/no", 0.4))
    )
    numbers = counts.table.assign(y=np.random.default_rng(0).normal(size=200))
    return {"counts": counts.table, "binary": answers.table, "normal": numbers}, counts.roles


def chosen(tables, outcome, validated=0, **asked):
    frames, roles = tables
    arrays = Encoder.fit_transform(frames[outcome], roles)[1]
    return choose_method(Settings(direction="under", **asked), arrays, roles.outcome, validated)


@pytest.mark.parametrize(
    ("outcome", "asked", "method"),
    [
        ("counts", {}, "counts"),
        ("binary", {}, "binary"),
        ("normal", {}, "exact"),
        ("counts", {"family": "normal"}, "exact"),
        ("counts", {"method": "exact"}, "exact"),
        ("counts", {"method": "exact", "family": "counts"}, "counts"),
        ("counts", {"method": "gradual"}, "gradual"),
        ("counts", {"scale": "log"}, "exact"),
        ("counts", {"effect": "linear"}, "exact"),
        ("binary", {"family": "counts"}, "counts"),
        ("counts", {"validated": 30}, "validated"),
        ("counts", {"method": "counts"}, "counts"),
    ],
)
def test_the_kind_of_outcome_names_the_method_unless_something_else_was_asked(tables, outcome, asked, method):
    assert chosen(tables, outcome, **asked).method == method


def test_what_was_taken_is_said_with_its_reason(tables):
    taken = chosen(tables, "counts").findings[0]
    assert "whole numbers" in taken.reading
    assert "family='normal'" in taken.remedy
    left = chosen(tables, "counts", method="exact").findings[0]
    assert "family='counts'" in left.remedy
    assert chosen(tables, "normal").findings == ()
    assert chosen(tables, "counts", family="normal").findings == ()


@pytest.mark.parametrize(
    ("outcome", "asked", "error", "words"),
    [
        ("normal", {"family": "counts"}, TableError, "whole numbers"),
        ("counts", {"family": "binary"}, TableError, "0 and 1"),
        ("counts", {"family": "counts", "scale": "log"}, SettingsError, "scale='log'"),
        ("counts", {"family": "counts", "effect": "linear"}, SettingsError, "effect='linear'"),
        ("counts", {"family": "counts", "method": "gradual"}, SettingsError, "family='normal'"),
    ],
)
def test_what_does_not_go_together_is_refused(tables, outcome, asked, error, words):
    with pytest.raises(error, match=words):
        chosen(tables, outcome, **asked)


def test_the_model_says_what_it_took():
    drawn = ReportedWorld(level=3.0).draw(1, 300)
    model = pc.ProxyCalibrator(drawn.roles, direction="under").fit(drawn.table)
    assert any(f.statistic.startswith("counts") for f in model.findings_ if f.topic == "family")
