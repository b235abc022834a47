import json

import numpy as np

from proxycal.engine.content import fit_content
from proxycal.engine.covariates import Covariates
from proxycal.engine.families.counts import Counts
from proxycal.engine.keep import kept, restored
from proxycal.methods.rates.terms import Shape, Terms
from proxycal.result import plain


def test_a_model_and_its_content_come_back_to_the_bit():
    rng = np.random.default_rng(0)
    bare = Covariates(
        rng.normal(size=(300, 2)),
        rng.normal(size=(300, 2)),
        np.zeros((300, 0)),
        {"g": rng.integers(0, 3, 300)},
        {"g": 3},
    )
    content = fit_content(bare, np.ones(300))
    rows = bare.with_content(content.score(bare))
    model = Terms.learn(rows).model(
        Counts("gate", zeros=True), Shape(direct=True, more=frozenset({"who", "share"}))
    )
    values, arrays = kept(model)
    again = restored(json.loads(json.dumps(plain(values))), arrays)
    assert again.names == model.names
    for mine, theirs in zip(model.designs(rows), again.designs(rows), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    values, arrays = kept(content)
    same = restored(json.loads(json.dumps(plain(values))), arrays)
    np.testing.assert_array_equal(same.score(bare), content.score(bare))
