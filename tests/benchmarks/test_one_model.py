"""Both engines on one table, and what each answer counts for."""

import pytest

from benchmarks import one_model
from benchmarks.bench import trials
from proxycal.studies.sweep import Done


@pytest.fixture(scope="module")
def rows():
    settings = {"world": "500 rows", "n": 500, "seeds": [2]}
    return settings, one_model.run_block(settings)


def test_a_trial_has_both_answers_beside_the_truth(rows):
    row = rows[1][0]
    assert row["error"] is None
    assert row["verdict"] == "bias found"
    assert row["new_verdict"] == "bias found"
    for name in ("alpha_hat", "new_alpha_hat"):
        assert row[name] == pytest.approx(row["alpha_true"], rel=0.15)
    assert row["new_low"] < row["new_alpha_hat"] < row["new_high"]


def test_a_claim_counts_for_what_it_is(rows):
    settings, found = rows
    doubled = {name: 2.0 * found[0][name] for name in ("new_alpha_hat", "new_low", "new_high")}
    wrong = found[0] | doubled
    null = {"world": "500 rows, no bias", "n": 500, "seeds": [2]}
    false = found[0] | {"alpha_true": 0.0}
    pairs = [(settings, found[0]), (settings, wrong), (null, false)]
    done = [Done(str(at), where, [row], None, 0.0) for at, (where, row) in enumerate(pairs)]
    frame = one_model.judged(trials(done))
    assert frame["coming wrong"].tolist()[:2] == [0.0, 1.0]
    assert frame["coming coverage"].tolist()[:2] == [1.0, 0.0]
    assert frame["coming false"].tolist()[2] == 1.0
    assert frame["coming found"].isna().tolist() == [False, False, True]
    page = one_model.page(trials(done))
    assert [part.title for part in page.parts] == ["Both engines", "By family", "Every world"]
