"""The words of a graded bias: what a reader must know before the intervals are read."""

from __future__ import annotations

import numpy as np
import pytest

from proxycal.methods.gradual.answer import answer_gradual
from proxycal.methods.gradual.thresholds import FEW_CLUSTERS
from proxycal.methods.gradual.wording import findings


@pytest.fixture(scope="module")
def answer():
    rng = np.random.default_rng(0)
    e = rng.normal(size=400)
    z = 0.5 * e + rng.normal(size=400)
    proxies = z[:, None] + 0.5 * rng.normal(size=(400, 4))
    y = z + 2.0 * e + 0.5 * rng.normal(size=400)
    return answer_gradual(y, proxies, {"e": e}, {"e": "linear"}, proxy_names=("a", "b", "c", "d"))


def topics(answer, **arguments):
    return {finding.topic: finding for finding in findings(answer, {"e": "linear"}, **arguments)}


def test_few_clusters_ask_for_attention_and_many_do_not(answer):
    assert "few-clusters" not in topics(answer)
    assert "few-clusters" not in topics(answer, clusters=FEW_CLUSTERS)
    few = topics(answer, clusters=49)["few-clusters"]
    assert not few.ok
    assert "49 clusters" in few.reading


def test_straight_lines_ask_for_attention(answer):
    assert not topics(answer)["form"].ok
    assert all(finding.ok for finding in findings(answer, {"e": "spline"}) if finding.topic == "form")
