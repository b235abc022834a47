"""From evidence to a verdict: each branch, each reason for doubt, and findings that survive a file."""

import json
import math
from dataclasses import fields, replace
from typing import get_args

import pytest

from proxycal.methods.crosschecks import agreement
from proxycal.methods.one_model.evidence import Evidence, reasons_for_doubt, verdict
from proxycal.methods.one_model.findings import findings
from proxycal.result import Estimate, Finding, Verdict, plain

TOPICS = (
    "comparison",
    "separation",
    "gate",
    "relevance",
    "overlap",
    "share",
    "gate-alone",
    "dependence",
    "agreement with moments",
    "agreement with matching",
    "first-stage",
    "constancy",
    "content",
)


def size(name, alpha, se=0.1):
    return Estimate(name, alpha, se, alpha - 2 * se, alpha + 2 * se)


@pytest.fixture
def found():
    """The evidence of a fit that found a bias and has nothing to hide."""
    return Evidence(
        lead=80.0,
        price=50.0,
        separation=3.0,
        share=0.4,
        alone=0.4,
        gate_p=1e-9,
        relevance=0.6,
        overlap=0.95,
        first_stage_f=40.0,
        two_valued_p=0.5,
        with_bias="normal noise, one size",
        without="noise of 2 components",
        n=1000,
        chosen_on=1000,
        exact=size("exact", 2.0),
        moments=size("moments", 2.1, 0.3),
        match=size("match", 1.9),
    )


@pytest.fixture
def nothing(found):
    """The evidence of a fit that found no bias."""
    return replace(found, lead=-40.0, separation=0.8)


def by_topic(evidence):
    return {finding.topic: finding for finding in findings(evidence)}


# --- verdicts -----------------------------------------------------------------------------------------------


def test_a_clear_bias_is_found(found):
    assert reasons_for_doubt(found) == ()
    assert verdict(found) == "bias found"


def test_nothing_is_no_bias(nothing):
    assert verdict(nothing) == "no bias found"


def test_a_bias_must_lead_by_eight(found):
    assert verdict(replace(found, lead=8.1)) == "bias found"
    assert verdict(replace(found, lead=7.9)) == "not identified"
    assert verdict(replace(found, lead=3.1)) == "not identified"
    assert verdict(replace(found, lead=2.9)) == "no bias found"


def test_two_humps_that_the_environment_does_not_drive_leave_it_open(nothing):
    humps = replace(nothing, alike=20.0, separation=3.0)
    assert verdict(humps) == "not identified"
    assert "two modes" in by_topic(humps)["comparison"].reading
    assert verdict(replace(humps, separation=1.0)) == "no bias found"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"relevance": 0.009}, "relevance"),
        ({"overlap": 0.49}, "overlap"),
        ({"separation": 1.14}, "separation"),
        ({"share": 0.94}, "share"),
        ({"share": 0.02}, "rare"),
        ({"exact": size("exact", 2.0, 0.51)}, "vague"),
        ({"exact": Estimate("exact", 2.0, math.nan, math.nan, math.nan)}, "vague"),
        ({"alone": 0.86}, "gate-alone"),
        ({"proxies_p": 0.9e-4}, "proxies"),
        ({"autocorrelation": 0.16, "block_z": 2.9}, "dependence"),
        ({"autocorrelation": -0.16, "block_z": 2.9}, "dependence"),
        ({"rounding_p": 0.9e-4}, "rounding"),
    ],
    ids=str,
)
def test_each_reason_for_doubt_turns_a_finding_into_not_identified(found, change, reason):
    doubtful = replace(found, **change)
    assert reasons_for_doubt(doubtful) == (reason,)
    assert verdict(doubtful) == "not identified"
    # Where no model with a bias leads, what the bias model says of itself matters less.
    assert verdict(replace(doubtful, lead=-40.0)) != "bias found"


@pytest.mark.parametrize(
    "change",
    [
        {"relevance": 0.011},
        {"overlap": 0.51},
        {"overlap": math.nan},
        {"separation": 1.16},
        {"match": Estimate.missing("match", "one group")},
        {"moments": size("moments", 9.0)},
        {"share": 0.92},
        {"share": 0.04},
        {"exact": size("exact", 2.0, 0.49)},
        {"alone": 0.84},
        {"proxies_p": 1.1e-4},
        # Five standard errors of 1000 rows are 0.158.
        {"autocorrelation": 0.15, "block_z": 0.0},
        {"autocorrelation": 0.5, "block_z": 3.1},
        {"rounding_p": 1.1e-4},
        {"spike_p": 1e-9},
    ],
    ids=str,
)
def test_what_is_no_reason_for_doubt(found, change):
    assert reasons_for_doubt(replace(found, **change)) == ()
    assert verdict(replace(found, **change)) == "bias found"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"moved_p": 0.009}, "moves a proxy"),
        ({"gap": 0.7}, "two groups"),
        ({"autocorrelation": 0.3, "lead": -5.0}, "neighbouring rows depend"),
        ({"clusters_unclear": True}, "whole clusters may be biased"),
        (
            {"detectable": 3.1, "detectable_size": 7.5},
            "only a bias of 7.5 (3.1 residual standard deviations)",
        ),
        ({"detectable": math.inf}, "more than 5 residual standard deviations"),
        ({"rounding_p": 0.9e-4}, "who reports round numbers"),
        ({"spike_p": 0.9e-3}, "who is on it"),
    ],
    ids=str,
)
def test_rows_that_would_hide_a_bias_do_not_show_its_absence(nothing, change, said):
    assert verdict(replace(nothing, **change)) == "not identified"
    assert said in by_topic(replace(nothing, **change))["comparison"].reading


def test_what_hides_no_bias(nothing):
    fine = {"moved_p": 0.011, "gap": 0.5, "detectable": 2.9}
    fine |= {"rounding_p": 1.1e-4, "spike_p": 1.1e-3, "autocorrelation": 0.15}
    assert verdict(replace(nothing, **fine)) == "no bias found"
    # Where a bias is far behind, dependent rows hide none.
    assert verdict(replace(nothing, autocorrelation=0.3, lead=-9.0)) == "no bias found"


def test_no_bias_comes_with_the_size_that_would_have_been_found(nothing):
    said = by_topic(replace(nothing, detectable=1.5, detectable_size=0.75))["comparison"]
    assert "A bias of 0.75 (1.5 residual standard deviations)" in said.reading
    assert said.ok


def test_a_wider_law_is_said_in_words_with_how_sizes_vary(found):
    wider = replace(found, law="sizes vary from row to row; who is biased depends on content too", cv=0.62)
    said = by_topic(wider)["constancy"].reading
    assert "In the best model sizes vary from row to row; who is biased depends on content too." in said
    assert "coefficient of variation of the sizes: 0.62" in said
    one_size = replace(found, law="who is biased depends on content too", cv=0.0)
    assert "All biased rows have a bias of the same size." in by_topic(one_size)["constancy"].reading


@pytest.mark.parametrize("change", [{"lead": 3.1}, {"relevance": 0.0}], ids=str)
def test_no_bias_needs_data_that_could_have_shown_one(nothing, change):
    assert verdict(replace(nothing, **change)) == "not identified"


@pytest.mark.parametrize(
    "change",
    [{"lead": 2.9}, {"overlap": 0.1}, {"match": size("match", 9.0)}, {"first_stage_f": 1.0}],
    ids=str,
)
def test_what_does_not_stand_against_no_bias(nothing, change):
    assert verdict(replace(nothing, **change)) == "no bias found"


def test_every_verdict_is_one_of_three(found, nothing):
    verdicts = {verdict(found), verdict(nothing), verdict(replace(found, relevance=0.0))}
    assert verdicts == set(get_args(Verdict))


def test_matching_withdraws_nothing(found):
    """It overstates sizes near the noise in any number of rows: 29 standard errors off at 400,000."""
    far = replace(found, match=size("match", 9.0, 0.001))
    assert verdict(far) == "bias found"
    said = by_topic(far)["agreement with matching"]
    assert said.ok
    assert "differs from 'exact' (2.00 against 9.00" in said.reading


# --- findings -----------------------------------------------------------------------------------------------


def test_findings_are_whole_sentences_about_every_topic(found, nothing):
    for evidence in (
        found,
        nothing,
        replace(nothing, alike=20.0, separation=3.0),
        replace(nothing, lead=5.0),
    ):
        said = findings(evidence)
        assert tuple(finding.topic for finding in said if finding.topic != "otherwise") == TOPICS
        for finding in said:
            assert finding.question.endswith("?")
            assert finding.statistic
            assert finding.reading[0].isupper()
            assert finding.reading.endswith(".")
            assert finding.remedy.endswith(".")
            assert isinstance(finding.ok, bool)


def test_readings_stand_alone_with_their_numbers(found, nothing):
    for evidence in (found, nothing):
        for finding in findings(evidence)[1:]:
            numbered = finding.value is not None and not finding.reading.startswith("Not applicable")
            assert not numbered or any(letter.isdigit() for letter in finding.reading), finding.topic
    by_name = by_topic(found)
    assert by_name["gate"].reading == "The environment predicts who is biased (p < 0.001)."
    assert "2.00 against 2.10" in by_name["agreement with moments"].reading
    assert "first-stage F 40.0" in by_name["first-stage"].reading


def test_the_estimate_that_is_missing_is_named(found):
    missing = Estimate.missing("moments", "E is weak.")
    for pair in ((found.exact, missing), (missing, found.exact)):
        assert agreement(*pair, "agreement").reading == "Not compared: 'moments' gave no estimate. E is weak."


def test_a_clean_fit_has_nothing_to_complain_of(found):
    assert all(finding.ok for finding in findings(found))


@pytest.mark.parametrize(
    ("change", "topic", "word"),
    [
        ({"lead": 5.0}, "comparison", "hint"),
        ({"lead": -40.0, "alike": 20.0}, "comparison", "two modes"),
        ({"separation": 0.5}, "separation", "overlap"),
        ({"gate_p": 0.2}, "gate", "hardly"),
        ({"relevance": 0.001}, "relevance", "cannot be distinguished"),
        ({"overlap": 0.2}, "overlap", "extrapolated"),
        ({"moments": size("moments", 9.0)}, "agreement with moments", "disagree"),
        ({"first_stage_f": 1.0}, "first-stage", "hardly"),
        ({"alone": 0.9}, "gate-alone", "90%"),
        ({"proxies_p": 1e-6}, "proxies", "1e-06"),
        ({"share": 0.01}, "rare", "1.0%"),
        ({"share": 0.99}, "share", "99%"),
        ({"exact": size("exact", 2.0, 0.9)}, "vague", "0.2 to 3.8"),
        ({"rounding_p": 1e-6}, "rounding", "1e-06"),
        ({"autocorrelation": 0.4, "block_z": 1.0}, "dependence", "z = 1.0"),
        ({"autocorrelation": 0.4, "block_z": 5.0}, "dependence", "fits better over blocks"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_is_wrong_is_said_under_its_topic_with_a_remedy(found, change, topic, word):
    finding = by_topic(replace(found, **change))[topic]
    assert not finding.ok
    assert word in finding.reading
    assert not finding.remedy.startswith("Nothing")


def test_a_bias_of_whole_clusters_is_said(found):
    assert "of whole clusters" not in by_topic(found)["comparison"].reading
    assert "of whole clusters" in by_topic(replace(found, whole_clusters=True))["comparison"].reading


def test_no_bias_is_said_of_the_comparison(nothing):
    finding = by_topic(nothing)["comparison"]
    assert finding.reading == "A model without a bias explains the outcome as well."
    assert finding.value == -40.0
    assert "noise of 2 components" in finding.statistic


def test_a_bias_that_nobody_claims_asks_for_nothing(nothing):
    poor = {"share": 0.99, "overlap": 0.1, "gate_p": 0.5, "first_stage_f": 1.0, "match": size("match", 9.0)}
    said = findings(replace(nothing, **poor))
    assert all(finding.ok for finding in said)
    assert by_topic(replace(nothing, **poor))["share"].reading == "Not applicable: no bias is claimed."
    doubtful = by_topic(replace(nothing, **poor, moved_p=1e-9))
    assert not doubtful["comparison"].ok
    assert not doubtful["share"].ok


def test_every_reason_for_doubt_has_a_finding_that_fails(found):
    doubtful = replace(found, relevance=0.0, overlap=0.1, separation=0.2, share=0.01, alone=0.9)
    failed = " ".join(finding.topic for finding in findings(doubtful) if not finding.ok)
    reasons = reasons_for_doubt(doubtful)
    assert set(reasons) == {"relevance", "overlap", "separation", "rare", "gate-alone"}
    for reason in reasons:
        assert reason in failed


def test_every_claim_says_what_else_would_do_the_same(found, nothing):
    said = by_topic(found)["otherwise"]
    assert "present in 40% of the rows" in said.reading
    assert "moved the outcome by 2" in said.reading
    assert "otherwise" not in by_topic(nothing)


def test_findings_say_how_the_size_varies(found):
    fixed = by_topic(found)["constancy"]
    assert fixed.value is None
    differs = by_topic(replace(found, effect="by:level", constancy_p=1e-6))["constancy"]
    same = by_topic(replace(found, effect="by:level", constancy_p=0.6))["constancy"]
    assert "differs" in differs.reading
    assert "by:level" in differs.reading
    assert "may well be the same" in same.reading
    assert differs.value == 1e-6


def test_findings_say_on_which_rows_models_were_compared(found):
    assert "all rows" in by_topic(found)["content"].reading
    assert "1,500 of 9,000" in by_topic(replace(found, n=9000, chosen_on=1500))["content"].reading


# --- files --------------------------------------------------------------------------------------------------


def test_evidence_comes_back_through_json(found):
    again = Evidence.from_dict(json.loads(json.dumps(plain(found), allow_nan=False)))
    for field in fields(Evidence):
        before, after = getattr(found, field.name), getattr(again, field.name)
        assert before == after or (math.isnan(before) and math.isnan(after)), field.name
    assert verdict(again) == verdict(found)
    assert findings(again) == findings(found)


def test_evidence_without_answers_comes_back_too(found):
    silent = replace(
        found,
        overlap=math.nan,
        first_stage_f=math.nan,
        moments=Estimate.missing("moments", "weak"),
        match=Estimate.missing("match", "one group"),
    )
    again = Evidence.from_dict(json.loads(json.dumps(plain(silent), allow_nan=False)))
    assert verdict(again) == verdict(silent)
    assert again.moments.note == "weak"
    assert math.isnan(again.match.alpha)


def test_an_infinite_f_comes_back_as_strong(found):
    strong = replace(found, first_stage_f=math.inf)
    again = Evidence.from_dict(json.loads(json.dumps(plain(strong), allow_nan=False)))
    assert verdict(again) == verdict(strong) == "bias found"


def test_a_comparison_without_a_result_identifies_nothing(found):
    assert verdict(replace(found, lead=math.nan)) == "not identified"


def test_findings_are_plain_json(found):
    silent = replace(found, overlap=math.nan, first_stage_f=math.nan)
    for evidence in (found, silent):
        values = json.loads(
            json.dumps([finding.to_dict() for finding in findings(evidence)], allow_nan=False)
        )
        assert tuple(Finding(**kept) for kept in values) == findings(evidence)


def test_a_run_that_is_older_than_a_field_still_loads(found):
    kept = plain(found)
    del kept["stand_for"]
    assert verdict(Evidence.from_dict(kept)) == verdict(found)
    del kept["lead"]
    with pytest.raises(TypeError, match="lead"):
        Evidence.from_dict(kept)
