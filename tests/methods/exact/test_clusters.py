"""A bias of whole clusters: means of clusters, what they leave out, and the claim in words."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal import ProxyCalibrator, Roles
from proxycal.methods.exact.clusters import Means, cluster_means, means_of
from proxycal.table.encode import Encoder
from proxycal.testing import wider_world


def arrays_of(clusters=200, rows=5, sd=0.7, seed=0):
    rng = np.random.default_rng(seed)
    n = clusters * rows
    cluster = np.repeat(np.arange(clusters), rows)
    p, e = rng.normal(size=n), rng.normal(size=clusters)[cluster]
    y = p + rng.normal(size=clusters)[cluster] + sd * rng.normal(size=n)
    table = pd.DataFrame({"y": y, "p": p, "e": e, "c": cluster})
    return Encoder.fit_transform(table, Roles("y", ["p"], ["e"], cluster="c"))[1]


def test_means_are_weighted_means_of_the_rows_of_a_cluster():
    arrays = arrays_of(clusters=10, rows=3)
    arrays = replace(arrays, weights=np.tile([1.0, 2.0, 3.0], 10))
    means, codes = cluster_means(arrays)
    np.testing.assert_array_equal(codes, np.repeat(np.arange(10), 3))
    np.testing.assert_allclose(means.y, arrays.y.reshape(10, 3) @ [1.0, 2.0, 3.0] / 6.0)
    np.testing.assert_allclose(means.P[:, 0], arrays.P[:, 0].reshape(10, 3) @ [1.0, 2.0, 3.0] / 6.0)
    assert means.n == 10
    assert means.cluster is None
    np.testing.assert_array_equal(means.weights, 1.0)


def test_what_means_leave_out_is_the_variance_within():
    within = means_of(arrays_of())
    assert within.variance == pytest.approx(0.49, rel=0.1)
    assert within.rows == 5.0


def test_means_of_few_rows_are_noisier_than_usual_ones():
    noise = Means(variance=2.0, rows=4.0).noise(np.array([1.0, 2.0, 4.0, 100.0]))
    np.testing.assert_allclose(noise, [1.5, 0.5, 0.0, 0.0])


@pytest.fixture(scope="module")
def whole():
    drawn = wider_world("whole clusters").draw(102, 1200)
    return drawn, ProxyCalibrator(drawn.roles, direction=drawn.direction).fit(drawn.table)


def test_a_bias_of_whole_clusters_is_found_and_said(whole):
    drawn, model = whole
    assert model.verdict_ == "bias found"
    assert model.alpha_ == pytest.approx(drawn.alpha, rel=0.15)
    assert any("cluster" in finding.reading for finding in model.findings_)
    answers = model.calibrate(drawn.table)
    before, after = (np.sqrt(np.mean((y - drawn.y_true) ** 2)) for y in (drawn.y, answers["y_cal"]))
    assert after < before


def test_such_a_fit_answers_the_same_from_its_folder(whole, tmp_path):
    drawn, model = whole
    model.save(tmp_path / "run")
    again = proxycal.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.calibrate(drawn.table), model.calibrate(drawn.table))
    pd.testing.assert_frame_equal(again.totals(drawn.table), model.totals(drawn.table))


def test_whole_clusters_without_a_bias_are_not_claimed():
    drawn = wider_world("whole clusters, no bias").draw(102, 1000)
    model = ProxyCalibrator(drawn.roles, direction=drawn.direction).fit(drawn.table)
    assert model.verdict_ != "bias found"
