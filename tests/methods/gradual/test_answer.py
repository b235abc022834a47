"""The answer on tables with a known bias: sizes, anchors, verdicts, and what must not change it."""

import numpy as np
import pytest

from proxycal.errors import TableError
from proxycal.methods.gradual.answer import answer_gradual
from proxycal.methods.gradual.basis import TRUSTED

KINDS = {"e": "spline", "f": "linear", "g": "category"}


def table(seed=0, n=1200, size=1.5, n_proxies=4, reach=0.0, contents=2, direct=0.0):
    rng = np.random.default_rng(seed)
    e, f, g = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 4, size=n)
    level = np.array([0.0, 0.6, -0.5, 0.3])[g]
    z = np.column_stack([0.5 * e + level, 0.5 * f - 0.4 * level]) + 0.8 * rng.normal(size=(n, 2))
    z = z[:, :contents]
    load = np.array([[1.0, 0.4, 0.9, 0.6], [0.3, 1.0, -0.5, 0.8]])[:contents, :n_proxies]
    proxies = z @ load + 0.6 * rng.normal(size=(n, n_proxies))
    proxies[:, -1] += reach * proxies[:, -1].std() * e
    bias = size * np.maximum(e, 0.0) + 0.5 * size * (g == 2)
    y_true = z @ [1.5, 1.0][:contents] + 0.6 * rng.normal(size=n) + direct * f
    return {
        "outcome": y_true + bias,
        "proxies": proxies,
        "columns": {"e": e, "f": f, "g": g},
        "bias": bias,
        "truth": y_true,
    }


def answered(rows, **options):
    return answer_gradual(rows["outcome"], rows["proxies"], rows["columns"], KINDS, **options)


@pytest.fixture(scope="module")
def rows():
    return table()


@pytest.fixture(scope="module")
def plain(rows):
    return answered(rows)


def some(values, share=0.05, seed=1):
    keep = np.random.default_rng(seed).random(len(values)) < share
    return np.where(keep, values, np.nan)


def test_a_graded_bias_is_found_and_removed_with_validated_rows(rows):
    answer = answered(rows, truth=some(rows["truth"]))
    own = answer.bias_of(rows["columns"])
    assert answer.verdict == "bias found"
    assert answer.estimate.dimension == 2
    assert answer.anchor.kind == "validated rows"
    assert np.sqrt(np.mean((own.bias - rows["bias"]) ** 2)) < 0.15 * np.sqrt(np.mean(rows["bias"] ** 2))
    assert np.mean((own.low <= rows["bias"]) & (rows["bias"] <= own.high)) > 0.8
    assert answer.alpha == pytest.approx(rows["bias"].mean(), abs=0.1)
    assert answer.alpha_interval[0] < rows["bias"].mean() < answer.alpha_interval[1]
    assert "only through content" in answer.sentence


def test_trusted_rows_are_where_the_bias_is_zero(rows):
    trusted = (rows["columns"]["e"] < 0) & (rows["columns"]["g"] != 2)
    answer = answered(rows, trusted=trusted)
    own = answer.bias_of({**rows["columns"], TRUSTED: trusted.astype(float)})
    assert answer.anchor.kind == "trusted rows"
    assert answer.anchor.count == trusted.sum()
    np.testing.assert_array_equal(own.bias[trusted], 0.0)
    assert np.abs((own.bias - rows["bias"]).mean()) < 0.1
    assert answer.alpha == pytest.approx(np.abs(own.bias[~trusted]).mean())


def test_trusted_rows_among_the_others_give_the_level_of_a_bias_that_all_others_share(rows):
    """The trusted have the same environment, so that nothing but their level tells the constant of 2."""
    trusted = np.random.default_rng(5).random(len(rows["outcome"])) < 0.2
    bias = np.where(trusted, 0.0, rows["bias"] + 2.0)
    answer = answered(rows | {"outcome": rows["truth"] + bias}, trusted=trusted)
    own = answer.bias_of({**rows["columns"], TRUSTED: trusted.astype(float)})
    assert answer.verdict == "bias found"
    assert np.sqrt(np.mean((own.bias - bias) ** 2)) < 0.2
    assert np.mean((own.low <= bias) & (bias <= own.high)) > 0.85
    assert answer.alpha_interval[0] < bias[~trusted].mean() < answer.alpha_interval[1]
    assert {shape.relative_to for shape in answer.shapes} == {TRUSTED}


def test_few_trusted_rows_set_no_level_and_all_of_them_leave_nothing(rows):
    few = np.arange(len(rows["outcome"])) < 9
    assert answered(rows, trusted=few).anchor.kind == "the least biased tenth"
    with pytest.raises(TableError, match="every row is trusted"):
        answered(rows, trusted=np.ones(len(few), dtype=bool))


def test_without_an_anchor_the_answer_is_relative_to_the_least_biased_tenth(rows, plain):
    own = plain.bias_of(rows["columns"]).bias
    assert plain.anchor.kind == "the least biased tenth"
    assert plain.anchor.count == pytest.approx(0.1 * len(own), abs=0.01 * len(own))
    assert np.quantile(own, 0.05) > -0.3


def test_shapes_give_levels_and_curves(plain):
    curve, line, levels = plain.shapes
    assert [shape.column for shape in plain.shapes] == ["e", "f", "g"]
    expected = 1.5 * np.maximum(curve.at, 0.0)
    assert np.mean((curve.low <= expected + 0.05) & (expected - 0.05 <= curve.high)) > 0.85
    assert np.abs(line.bias).max() < 0.3
    at = levels.at.astype(int)
    truth = 0.75 * (at == 2) - 0.75 * (at[0] == 2)
    assert (np.abs(levels.bias - truth) <= 3.5 * levels.se + 1e-12).all()


def test_no_bias_is_not_found():
    verdicts = [answered(table(seed, n=500, size=0.0)).verdict for seed in range(12)]
    assert verdicts.count("bias found") <= 1
    assert verdicts.count("no bias found") >= 10


@pytest.mark.parametrize("change", ["order", "weights", "units", "proxies", "environment"])
def test_what_must_not_change_the_answer(rows, plain, change):
    scale = 1.0
    if change == "order":
        order = np.random.default_rng(0).permutation(len(rows["outcome"]))
        other = {
            "outcome": rows["outcome"][order],
            "proxies": rows["proxies"][order],
            "columns": {name: values[order] for name, values in rows["columns"].items()},
        }
        answer = answered(other)
    elif change == "weights":
        answer = answered(rows, weights=np.full(len(rows["outcome"]), 1e-3))
    elif change == "units":
        scale = 1000.0
        answer = answered(rows | {"outcome": 1000.0 * rows["outcome"] + 7.0})
    elif change == "proxies":
        answer = answered(
            rows | {"proxies": rows["proxies"] * [1e4, -3.0, 0.01, 1.0] + [5.0, 1e5, 0.0, -2.0]}
        )
    else:
        answer = answered(rows | {"columns": rows["columns"] | {"e": 100.0 + 5.0 * rows["columns"]["e"]}})
    assert answer.verdict == plain.verdict
    assert answer.estimate.dimension == plain.estimate.dimension
    assert answer.alpha == pytest.approx(scale * plain.alpha, rel=2e-3)
    assert answer.alpha_se == pytest.approx(scale * plain.alpha_se, rel=2e-2)
    assert answer.estimate.fit.over_p == pytest.approx(plain.estimate.fit.over_p, abs=1e-3)


def test_integer_weights_are_repeated_rows_for_the_point_estimate(rows):
    counts = np.random.default_rng(0).integers(1, 4, size=len(rows["outcome"]))
    repeated = {
        "outcome": np.repeat(rows["outcome"], counts),
        "proxies": np.repeat(rows["proxies"], counts, axis=0),
        "columns": {name: np.repeat(values, counts) for name, values in rows["columns"].items()},
    }
    straight = {"e": "linear", "f": "linear", "g": "category"}
    fits = [
        answer_gradual(data["outcome"], data["proxies"], data["columns"], straight, **options).estimate
        for data, options in (
            (rows, {"weights": counts.astype(float)}),
            (repeated, {"cluster": np.repeat(np.arange(len(counts)), counts)}),
        )
    ]
    # Levels may be ordered differently by their counts, so biases of rows are compared, up to the constant.
    values = [fit.basis.transform(rows["columns"]) @ fit.coefficients for fit in fits]
    np.testing.assert_allclose(values[0] - values[0].mean(), values[1] - values[1].mean(), atol=2e-3)


def test_copies_within_clusters_add_nothing(rows, plain):
    twice = {
        "outcome": np.tile(rows["outcome"], 2),
        "proxies": np.tile(rows["proxies"], (2, 1)),
        "columns": {name: np.tile(values, 2) for name, values in rows["columns"].items()},
    }
    n = len(rows["outcome"])
    honest = answered(twice, cluster=np.tile(np.arange(n), 2))
    assert honest.alpha_se == pytest.approx(plain.alpha_se, rel=0.05)
    assert answered(twice).alpha_se < 0.8 * plain.alpha_se


@pytest.mark.parametrize(
    ("options", "topics"),
    [
        ({"n_proxies": 1}, {"too-few-proxies"}),
        ({"n_proxies": 2}, {"too-few-proxies"}),
        ({"reach": 0.3, "n": 2000}, {"over-identification", "too-few-proxies", "weak-instruments"}),
    ],
)
def test_refusals_say_what_would_help(options, topics):
    answer = answered(table(**options))
    refusal = next(finding for finding in answer.findings if not finding.ok)
    assert answer.verdict == "not identified"
    assert refusal.topic in topics
    assert refusal.remedy
    assert answer.sentence == refusal.reading


def test_useless_proxies_are_refused(rows):
    noise = np.random.default_rng(0).normal(size=rows["proxies"].shape)
    answer = answered(rows | {"proxies": noise})
    assert answer.verdict == "not identified"
    assert answer.findings[0].topic == "weak-instruments"


def test_validated_rows_expose_a_direct_effect_on_the_truth():
    rows = table(n=2000, size=0.0, direct=1.0)
    answer = answered(rows, truth=some(rows["truth"]))
    check = next(finding for finding in answer.findings if finding.topic == "validated-rows")
    assert answer.verdict == "not identified"
    assert not check.ok
    honest = table(n=2000)
    agree = answered(honest, truth=some(honest["truth"]))
    assert next(finding for finding in agree.findings if finding.topic == "validated-rows").ok


def test_no_estimate_no_bias(rows):
    answer = answered(rows | {"proxies": rows["proxies"][:, :1]})
    with pytest.raises(TableError, match="no bias was estimated"):
        answer.bias_of(rows["columns"])


def test_more_coefficients_than_clusters_is_an_error(rows):
    with pytest.raises(TableError, match="cannot determine"):
        answered(rows, cluster=np.arange(len(rows["outcome"])) % 8)
