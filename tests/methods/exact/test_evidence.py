"""From evidence to a verdict: each branch, each reason for doubt, and findings that survive a file."""

import json
import math
from dataclasses import fields, replace
from typing import get_args

import pytest

from proxycal.methods.crosschecks import agreement
from proxycal.methods.exact.evidence import Evidence, reasons_for_doubt, verdict
from proxycal.methods.exact.findings import findings
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
    "convergence",
    "constancy",
    "content",
)


def size(name, alpha, se=0.1):
    return Estimate(name, alpha, se, alpha - 2 * se, alpha + 2 * se)


@pytest.fixture
def found():
    """The evidence of a fit that found a bias and has nothing to hide."""
    return Evidence(
        gain=80.0,
        cost=50.0,
        separation=3.0,
        share=0.4,
        converged=True,
        decrement=1e-12,
        gate_p=1e-9,
        relevance=0.6,
        overlap=0.95,
        two_humps=False,
        first_stage_f=40.0,
        two_valued_p=0.5,
        constancy_p=math.nan,
        by_level_gain=math.nan,
        moved_p=math.nan,
        direct_p=math.nan,
        gap=math.nan,
        shape="J=1",
        null_shape="J=2, shared slopes",
        features="linear",
        effect="constant",
        n=1000,
        n_compared=1000,
        exact=size("exact", 2.0),
        moments=size("moments", 2.1, 0.3),
        match=size("match", 1.9),
    )


@pytest.fixture
def nothing(found):
    """The evidence of a fit that found no bias."""
    return replace(found, gain=-40.0, separation=0.8)


def by_topic(evidence):
    return {finding.topic: finding for finding in findings(evidence)}


# --- verdicts -----------------------------------------------------------------------------------------------


def test_a_clear_bias_is_found(found):
    assert reasons_for_doubt(found) == ()
    assert verdict(found) == "bias found"


def test_nothing_is_no_bias(nothing):
    assert verdict(nothing) == "no bias found"


def test_a_narrow_lead_is_a_claim_only_of_a_bias_far_away(found):
    assert verdict(replace(found, gain=6.1)) == "bias found"
    assert verdict(replace(found, gain=5.9)) == "not identified"
    assert verdict(replace(found, gain=1e-9, separation=4.1)) == "bias found"
    assert verdict(replace(found, gain=0.0, separation=4.1)) == "not identified"
    # Sizes that vary have no plain distance.
    assert verdict(replace(found, gain=5.9, separation=9.0, law="3 states")) == "not identified"


def test_a_spike_that_the_bias_moved_needs_no_second_voice(found):
    spiked = "J=2, one spike, weights by content"
    for change in ({"moments": size("moments", 9.0)}, {"separation": 0.5, "first_stage_f": 1.0}):
        assert verdict(replace(found, **change)) == "not identified"
        assert verdict(replace(found, shape=spiked, **change)) == "bias found"


def test_in_few_rows_a_lead_is_luck_for_longer(found):
    few = replace(found, stand_for=100.0)
    assert verdict(replace(few, gain=12.1)) == "bias found"
    assert verdict(replace(few, gain=11.9)) == "not identified"
    assert verdict(replace(few, gain=1.0, separation=4.1)) == "bias found"
    assert verdict(replace(few, gain=11.9, separation=9.0, law="3 states")) == "not identified"
    assert verdict(replace(few, gain=12.1, separation=9.0, law="3 states")) == "bias found"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"converged": False}, "convergence"),
        ({"relevance": 0.009}, "relevance"),
        ({"overlap": 0.49}, "overlap"),
        ({"separation": 0.9, "first_stage_f": 9.0}, "separation"),
        ({"separation": 0.9, "first_stage_f": math.nan}, "separation"),
        ({"separation": 0.9, "two_valued_p": 0.009, "block_z": 2.9}, "separation"),
        (
            {"separation": 0.9, "moments": Estimate.missing("moments", "contradicted"), "block_z": 2.9},
            "separation",
        ),
        ({"moments": size("moments", 4.0)}, "agreement"),
        ({"share": 0.96}, "share"),
        ({"share": 0.86, "spread": 0.6}, "share"),
        ({"share": 0.04, "separation": 2.9}, "rare"),
        ({"share": 0.04, "law": "sizes vary"}, "rare"),
        ({"share": 0.04, "gain": 5.9, "separation": 4.1}, "rare"),
        ({"gain": 6.0}, "narrow"),
        ({"exact": size("exact", 2.0, 0.51)}, "vague"),
        ({"gate_r2": 0.86}, "gate-alone"),
        ({"against": 0.031}, "sign"),
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
    assert verdict(replace(doubtful, gain=-40.0)) != "bias found"


@pytest.mark.parametrize(
    "change",
    [
        {"relevance": 0.011},
        {"overlap": 0.51},
        {"overlap": math.nan},
        {"separation": 0.9},
        {"separation": 1.1, "first_stage_f": 2.0},
        {"match": Estimate.missing("match", "one group")},
        {"moments": Estimate.missing("moments", "weak")},
        {"share": 0.86, "spread": 0.4},
        {"share": 0.94},
        {"share": 0.04},
        {"share": 0.06, "separation": 2.0, "law": "sizes vary"},
        {"exact": size("exact", 2.0, 0.49)},
        {"gate_r2": 0.84},
        {"against": 0.029},
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


def test_a_bias_to_the_other_side_is_not_one_of_the_stated_direction(found):
    turned = replace(
        found, exact=size("exact", -2.0), match=size("match", -2.0), moments=size("moments", -2.0)
    )
    assert reasons_for_doubt(turned) == ("direction",)
    assert verdict(turned) == "not identified"
    assert not by_topic(turned)["direction"].ok


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"moved_p": 0.009}, "moves a proxy"),
        ({"gap": 0.7}, "two groups"),
        ({"direct_p": 9e-4}, "an effect of its own"),
        ({"bent": True}, "bends its mean"),
        ({"columns": 15}, "1000 rows are too few to find any bias with 15"),
        ({"autocorrelation": 0.3, "gain": -45.0}, "neighbouring rows depend"),
        ({"clusters_unclear": True}, "whole clusters may be biased"),
        (
            {"detectable": 3.1, "detectable_size": 7.5},
            "only a bias of 7.5 (3.1 residual standard deviations)",
        ),
        ({"detectable": math.inf}, "more than 5 residual standard deviations"),
        ({"rounding_p": 0.9e-4}, "who reports round numbers"),
        ({"spike_p": 0.9e-3}, "who is on it"),
        ({"tail_p": 0.049}, "lie far on the biased side"),
    ],
    ids=str,
)
def test_rows_that_would_hide_a_bias_do_not_show_its_absence(nothing, change, said):
    assert verdict(replace(nothing, **change)) == "not identified"
    assert said in by_topic(replace(nothing, **change))["comparison"].reading


def test_what_hides_no_bias(nothing):
    fine = {"moved_p": 0.011, "gap": 0.5, "direct_p": 0.0011, "columns": 14, "detectable": 2.9}
    fine |= {"rounding_p": 1.1e-4, "spike_p": 1.1e-3, "tail_p": 0.051, "autocorrelation": 0.15}
    assert verdict(replace(nothing, **fine)) == "no bias found"
    # Where a bias is far behind, dependent rows hide none.
    assert verdict(replace(nothing, autocorrelation=0.3, gain=-51.0)) == "no bias found"


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
    # A size that varies is no size for moments to disagree with.
    assert reasons_for_doubt(replace(wider, moments=size("moments", 9.0))) == ()


@pytest.mark.parametrize(
    "change",
    [
        {"gain": -12.0},
        {"two_humps": True, "separation": 2.1},
        {"relevance": 0.0},
        {"converged": False},
    ],
    ids=str,
)
def test_no_bias_needs_data_that_could_have_shown_one(nothing, change):
    assert verdict(replace(nothing, **change)) == "not identified"


@pytest.mark.parametrize(
    "change",
    [
        {"gain": -13.0},
        {"two_humps": True, "separation": 1.9},
        {"overlap": 0.1},
        {"match": size("match", 9.0)},
        {"first_stage_f": 1.0},
    ],
    ids=str,
)
def test_what_does_not_stand_against_no_bias(nothing, change):
    assert verdict(replace(nothing, **change)) == "no bias found"


def test_every_verdict_is_one_of_three(found, nothing):
    verdicts = {verdict(found), verdict(nothing), verdict(replace(found, converged=False))}
    assert verdicts == set(get_args(Verdict))


# --- who may disagree ---------------------------------------------------------------------------------------


def test_a_disagreement_needs_errors_and_size(found):
    # Far in standard errors but near in size, or far in size but within the errors: no reason.
    close = replace(found, exact=size("exact", 2.0, 0.01), moments=size("moments", 2.2, 0.01))
    vague = replace(found, moments=size("moments", 4.0, 1.0))
    assert reasons_for_doubt(close) == reasons_for_doubt(vague) == ()


def test_a_small_size_that_moments_contradict_must_lead_over_blocks_of_rows(found):
    small = replace(found, separation=0.9, two_valued_p=0.009)
    assert verdict(replace(small, block_z=3.0)) == "bias found"
    assert verdict(replace(small, block_z=3.0, first_stage_f=9.0)) == "not identified"
    assert verdict(replace(small, block_z=2.9, separation=1.0)) == "bias found"


def test_matching_withdraws_nothing(found):
    """It overstates sizes near the noise in any number of rows: 29 standard errors off at 400,000."""
    far = replace(found, match=size("match", 9.0, 0.001))
    assert verdict(far) == "bias found"
    said = by_topic(far)["agreement with matching"]
    assert said.ok
    assert "differs from 'exact' (2.00 against 9.00" in said.reading


def test_moments_are_heard_only_where_they_can_speak(found):
    far = replace(found, moments=size("moments", 9.0))
    assert reasons_for_doubt(far) == ("agreement",)
    assert reasons_for_doubt(replace(far, first_stage_f=9.9)) == ()
    assert reasons_for_doubt(replace(far, two_valued_p=0.01)) == ()
    assert reasons_for_doubt(replace(far, effect="by:level")) == ()


# --- findings -----------------------------------------------------------------------------------------------


def test_findings_are_whole_sentences_about_every_topic(found, nothing):
    for evidence in (
        found,
        nothing,
        replace(nothing, two_humps=True, separation=3.0),
        replace(nothing, gain=-5.0),
    ):
        said = findings(evidence)
        assert tuple(finding.topic for finding in said) == TOPICS
        for finding in said:
            assert finding.question.endswith("?")
            assert finding.statistic
            assert finding.reading[0].isupper()
            assert finding.reading.endswith(".")
            assert finding.remedy.endswith(".")
            assert isinstance(finding.ok, bool)


def test_readings_stand_alone_with_their_numbers(found, nothing):
    for evidence in (found, nothing):
        # What decides a comparison of models, a BIC, is no number for a first sentence.
        for finding in findings(evidence)[1:]:
            numbered = finding.value is not None and not finding.reading.startswith("Not applicable")
            assert not numbered or any(letter.isdigit() for letter in finding.reading), finding.topic
    by_name = by_topic(found)
    assert by_name["gate"].reading == "The environment predicts who is biased (p < 0.001)."
    assert "2.00 against 2.10" in by_name["agreement with moments"].reading
    assert "first-stage F 40.0" in by_name["first-stage"].reading


def test_a_model_left_far_behind_is_no_fit_that_converged(nothing):
    said = by_topic(replace(nothing, decrement=3.0))["convergence"]
    assert said.ok
    assert "too poor to be refined" in said.reading


def test_the_estimate_that_is_missing_is_named(found):
    missing = Estimate.missing("moments", "E is weak.")
    for pair in ((found.exact, missing), (missing, found.exact)):
        assert agreement(*pair, "agreement").reading == "Not compared: 'moments' gave no estimate. E is weak."


def test_a_clean_fit_has_nothing_to_complain_of(found):
    assert all(finding.ok for finding in findings(found))


@pytest.mark.parametrize(
    ("change", "topic", "word"),
    [
        ({"gain": -5.0}, "comparison", "hint"),
        ({"gain": -40.0, "two_humps": True}, "comparison", "two modes"),
        ({"separation": 0.5, "first_stage_f": 1.0}, "separation", "overlap"),
        ({"gate_p": 0.2}, "gate", "hardly"),
        ({"relevance": 0.001}, "relevance", "cannot be distinguished"),
        ({"overlap": 0.2}, "overlap", "extrapolated"),
        ({"moments": size("moments", 9.0)}, "agreement with moments", "disagree"),
        ({"first_stage_f": 1.0}, "first-stage", "hardly"),
        ({"converged": False, "decrement": 3.0}, "convergence", "did not"),
        ({"gate_r2": 0.9}, "gate-alone", "90%"),
        ({"against": 0.1}, "sign", "go both ways"),
        ({"proxies_p": 1e-6}, "proxies", "1e-06"),
        ({"share": 0.01, "separation": 2.0}, "rare", "1.0%"),
        ({"gain": 3.0}, "narrow", "3.0"),
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
    assert "J=2, shared slopes" in finding.statistic


def test_a_bias_that_nobody_claims_asks_for_nothing(nothing):
    poor = {"share": 0.99, "overlap": 0.1, "gate_p": 0.5, "first_stage_f": 1.0, "match": size("match", 9.0)}
    said = findings(replace(nothing, **poor))
    assert all(finding.ok for finding in said)
    assert by_topic(replace(nothing, **poor))["share"].reading == "Not applicable: no bias is claimed."
    doubtful = by_topic(replace(nothing, **poor, direct_p=1e-9))
    assert not doubtful["comparison"].ok
    assert not doubtful["share"].ok


def test_every_reason_for_doubt_has_a_finding_that_fails(found):
    doubtful = replace(
        found,
        converged=False,
        relevance=0.0,
        overlap=0.1,
        separation=0.2,
        first_stage_f=1.0,
    )
    failed = " ".join(finding.topic for finding in findings(doubtful) if not finding.ok)
    reasons = reasons_for_doubt(doubtful)
    assert set(reasons) == {"convergence", "relevance", "overlap", "separation"}
    for reason in reasons:
        assert reason in failed


def test_findings_say_how_the_size_varies(found):
    fixed = by_topic(found)["constancy"]
    assert fixed.value is None
    tried = by_topic(replace(found, by_level_gain=-12.0))["constancy"]
    assert "-12.0" in tried.statistic
    differs = by_topic(replace(found, effect="by:level", constancy_p=1e-6))["constancy"]
    same = by_topic(replace(found, effect="by:level", constancy_p=0.6))["constancy"]
    assert "differs" in differs.reading
    assert "by:level" in differs.reading
    assert "may well be the same" in same.reading
    assert differs.value == 1e-6


def test_findings_say_on_which_rows_models_were_compared(found):
    assert "all rows" in by_topic(found)["content"].reading
    assert "1500 of 9000" in by_topic(replace(found, n=9000, n_compared=1500))["content"].reading


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
    strong = replace(found, first_stage_f=math.inf, separation=0.5)
    again = Evidence.from_dict(json.loads(json.dumps(plain(strong), allow_nan=False)))
    assert verdict(again) == verdict(strong) == "bias found"


def test_a_comparison_without_a_result_identifies_nothing(found):
    assert verdict(replace(found, gain=math.nan)) == "not identified"


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
    del kept["gain"]
    with pytest.raises(TypeError, match="gain"):
        Evidence.from_dict(kept)
