"""The gradual method through the public interface, where the bias of every row is known."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from proxycal.cli import main
from proxycal.errors import SettingsError, TableError, UnavailableError
from proxycal.methods.gradual.fit import p_positive
from proxycal.methods.gradual.thresholds import LISTED_LEVELS
from proxycal.methods.gradual.wording import EXCLUSION
from proxycal.report.summary import sentence

PROXIES = ["p1", "p2", "p3", "p4"]
ROLES = pc.Roles("y", PROXIES, ["e", "f", "g"])


def table(n=900, size=1.5, seed=0):
    """Content of two dimensions; the bias rises with e above 0 and is higher in group c."""
    rng = np.random.default_rng(seed)
    e, f, g = rng.normal(size=n), rng.normal(size=n), rng.choice(list("abc"), size=n)
    z = np.column_stack([0.5 * e + 0.5 * (g == "b"), 0.5 * f]) + 0.8 * rng.normal(size=(n, 2))
    load = np.array([[1.0, 0.4, 0.9, 0.6], [0.3, 1.0, -0.5, 0.8]])
    proxies = z @ load + 0.6 * rng.normal(size=(n, 4))
    bias = size * np.maximum(e, 0.0) + 0.5 * size * (g == "c")
    true = z @ [1.5, 1.0] + 0.6 * rng.normal(size=n)
    columns = {"e": 40.0 + 3.0 * e, "f": f, "g": g, "y": true + bias, "true": true, "bias": bias}
    return pd.DataFrame(proxies, columns=PROXIES).assign(**columns)


def fitted(rows, roles=ROLES, **settings):
    return pc.ProxyCalibrator(roles, **{"direction": "over", "method": "gradual", **settings}).fit(rows)


def rmse(error):
    return float(np.sqrt(np.mean(np.square(error))))


@pytest.fixture(scope="module")
def rows():
    return table()


@pytest.fixture(scope="module")
def model(rows):
    return fitted(rows)


def topic(model, name):
    return next(finding for finding in model.findings_ if finding.topic == name)


def test_a_graded_bias_is_found_and_taken_out(rows, model):
    answer = model.calibrate(rows)
    assert model.verdict_ == "bias found"
    assert rmse(answer["y_cal"] - rows["true"]) < 0.2 * rmse(rows["bias"])
    np.testing.assert_allclose(answer["y_cal"], rows["y"] - answer["shift"])
    assert ((answer["y_cal_low"] < answer["y_cal"]) & (answer["y_cal"] < answer["y_cal_high"])).all()
    # mu is the content: closer to the truth than its own mean, and without the bias.
    assert rmse(answer["mu"] - rows["true"]) < 0.6 * rows["true"].std()
    assert abs(np.mean(answer["mu"] - answer["y_cal"])) < 1e-6
    p = answer["p_biased"]
    assert p[rows["bias"] > 1.0].min() > 0.99 > p[rows["bias"] == 0.0].median()
    latents = model.latents(rows)
    np.testing.assert_allclose(latents["a"], answer["shift"])
    assert np.corrcoef(latents["z_1"], rows["true"])[0, 1] > 0.8


def test_alpha_is_the_mean_size_over_rows_that_are_not_the_reference(rows, model):
    shift = model.calibrate(rows)["shift"]
    others = shift > np.quantile(shift, 0.1)
    assert model.alpha_ == pytest.approx(np.abs(shift[others]).mean(), rel=0.01)
    low, high = model.alpha_interval_
    assert low < model.alpha_ < high


def test_validated_rows_anchor_the_size(rows):
    known = rows.assign(checked=rows["true"].where(np.arange(len(rows)) % 20 == 0))
    roles = pc.Roles("y", PROXIES, ["e", "f", "g"], truth="checked")
    model = fitted(known, roles)
    assert "45 validated rows" in topic(model, "anchor").reading
    assert topic(model, "validated-rows").ok
    assert model.alpha_interval_[0] < rows["bias"].mean() < model.alpha_interval_[1]
    assert rmse(model.calibrate(known)["y_cal"] - rows["true"]) < 0.15 * rmse(rows["bias"])


def test_under_mirrors_over(rows, model):
    turned = rows.assign(y=-rows["y"])
    under = fitted(turned, direction="under")
    assert (under.verdict_, under.alpha_) == (model.verdict_, pytest.approx(model.alpha_))
    over, mirrored = model.calibrate(rows), under.calibrate(turned)
    for name, other in {"y_cal": "y_cal", "y_cal_low": "y_cal_high", "shift": "shift", "mu": "mu"}.items():
        np.testing.assert_allclose(mirrored[name], -over[other], atol=1e-8)
    np.testing.assert_allclose(mirrored["p_biased"], over["p_biased"], atol=1e-8)


def test_the_claim_says_what_it_rests_on(model):
    for text in (sentence(model.result_), topic(model, "beyond-content").reading):
        assert EXCLUSION in text
        assert "the least biased tenth" in text
        assert "of the outcome's variance given content" in text
    assert "of the rows." not in sentence(model.result_)


def test_the_summary_has_a_row_for_each_level(rows, model):
    summary = model.summary()
    first = rows["g"].value_counts().index[0]
    levels = [f"gradual, g={name}" for name in rows["g"].value_counts().index[1:]]
    assert list(summary.index) == ["gradual", "gradual, e", "gradual, f", *levels, "moments", "match"]
    assert summary.loc[levels[0], "note"] == f"against g={first}"
    size = {name: 0.75 * (name == "c") for name in "abc"}
    for label in levels:
        row = summary.loc[label]
        assert abs(row["alpha"] - (size[label[-1]] - size[first])) < 3.0 * row["se"]
    many = rows.assign(g=np.arange(len(rows)) % (LISTED_LEVELS + 1))
    many["g"] = many["g"].map(lambda code: f"level {code}")
    assert list(fitted(many).summary().index) == [
        "gradual",
        "gradual, e",
        "gradual, f",
        "moments",
        "match",
    ]


def test_saved_and_loaded_it_says_the_same(rows, model, tmp_path):
    model.save(tmp_path / "run")
    again = pc.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.calibrate(rows), model.calibrate(rows), check_exact=True)
    assert again.findings_ == model.findings_
    assert again.result_.method_fit.estimates[0] == model.result_.method_fit.estimates[0]
    assert sentence(again.result_) == sentence(model.result_)
    page = tmp_path / "report.html"
    again.report(page)
    assert EXCLUSION in page.read_text(encoding="utf-8")


def test_without_a_bias_none_is_claimed():
    verdicts = [fitted(table(n=500, size=0.0, seed=seed)).verdict_ for seed in range(1, 9)]
    assert verdicts.count("bias found") <= 1
    assert verdicts.count("no bias found") >= 6


def test_one_proxy_is_refused_with_the_reason(rows, tmp_path):
    model = fitted(rows, pc.Roles("y", ["p1"], ["e", "f", "g"]))
    assert (model.verdict_, np.isnan(model.alpha_)) == ("not identified", True)
    assert "Add a second proxy" in topic(model, "too-few-proxies").remedy
    with pytest.warns(pc.ProxycalWarning, match="With 1 proxy, content cannot be distinguished"):
        answer = model.calibrate(rows)
    np.testing.assert_array_equal(answer["y_cal"], rows["y"])
    model.save(tmp_path / "run")
    assert pc.load(tmp_path / "run").verdict_ == "not identified"
    model.report(tmp_path / "report.html")


def test_proxies_that_say_nothing_of_the_outcome_are_refused(rows):
    order = np.random.default_rng(0).permutation(len(rows))
    shuffled = rows.assign(**{name: rows[name].to_numpy()[order] for name in PROXIES})
    model = fitted(shuffled)
    assert model.verdict_ == "not identified"
    assert not topic(model, "relevance").ok


def test_a_proxy_that_the_environment_reaches_is_named(rows):
    reached = rows.assign(p4=rows["p4"] + 0.4 * (rows["e"] - 40.0) / 3.0)
    model = fitted(reached)
    assert model.verdict_ == "not identified"
    assert any("environment" in f.reading and not f.ok for f in model.findings_)


def test_few_rows_get_straight_lines_and_say_so(rows):
    assert topic(fitted(rows), "form").statistic == "splines"
    assert topic(fitted(rows.head(70)), "form").statistic == "straight lines"


def test_a_number_with_gaps_keeps_a_column_for_them(rows):
    gaps = rows.assign(f=rows["f"].where(np.arange(len(rows)) % 9 > 0))
    model = fitted(gaps, missing="impute")
    assert model.verdict_ == "bias found"
    assert rmse(model.calibrate(gaps)["y_cal"] - rows["true"]) < 0.25 * rmse(rows["bias"])


def test_what_a_graded_bias_does_not_have_is_refused_in_one_line(rows, model):
    with pytest.raises(TableError, match="has no local effects"):
        model.effects(rows)
    with pytest.raises(SettingsError, match=r"refute\('null'\) does not apply to method='gradual'"):
        model.refute("null", repetitions=2)
    with pytest.raises(UnavailableError, match="effect='linear' is not available"):
        fitted(rows, effect="linear")


def test_the_command_line_fits_with_it(rows, tmp_path, capsys):
    rows.drop(columns=["true", "bias"]).to_csv(tmp_path / "t.csv", index=False)
    options = ["--outcome", "y", "--proxies", ",".join(PROXIES), "--environment", "e,f,g"]
    options += ["--method", "gradual", "--direction", "over", "--out", str(tmp_path / "run"), "--json"]
    assert main(["fit", str(tmp_path / "t.csv"), *options]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["method"], said["verdict"]) == ("gradual", "bias found")


def test_p_positive_is_sure_where_there_is_no_error():
    p = p_positive(np.array([-1.0, 0.0, 1.0]), np.zeros(3))
    assert p.tolist() == [0.0, 0.5, 1.0]


def test_sponsored_polls_lean_by_as_much_as_the_results_say():
    """The truth, from results that the fit never sees: +2.63 (se 0.37) for D, -2.49 (0.40) for R."""
    polls = pc.datasets.load_polls()
    model = fitted(polls.table, polls.roles)
    assert model.verdict_ == "bias found"
    for party, truth, se in (("D", 2.63, 0.37), ("R", -2.49, 0.40)):
        row = model.summary().loc[f"gradual, sponsor={party}"]
        assert row["note"] == "against sponsor=none"
        assert abs(row["alpha"] - truth) <= 2.0 * np.hypot(row["se"], se)


def test_the_table_and_the_picture_of_the_bias_are_in_the_units_of_the_table(rows, model, tmp_path):
    table = model.bias_by_environment()
    along = table[table["column"] == "e"]
    at = along["at"].astype(float)
    # The bias rises by 1.5 for each 3 units of e above 40, from the median on.
    expected = 0.5 * np.maximum(at - 40.0, 0.0) - 0.5 * max(rows["e"].median() - 40.0, 0.0)
    assert ((along["low"] - 0.1 <= expected) & (expected <= along["high"] + 0.1)).mean() > 0.85
    assert set(table.loc[table["column"] == "g", "at"]) == set("abc")
    axes = model.plot("graded")
    assert len(axes.child_axes) == 3
    model.report(tmp_path / "page.html")
    assert "The bias along the environment" in (tmp_path / "page.html").read_text(encoding="utf-8")
    model.save(tmp_path / "run")
    pd.testing.assert_frame_equal(pc.load(tmp_path / "run").bias_by_environment(), table)


def test_other_methods_have_no_such_table(rows):
    other = fitted(rows, method="moments")
    with pytest.raises(SettingsError, match="fit with method='gradual'"):
        other.bias_by_environment()
    with pytest.raises(SettingsError, match="no bias that changes gradually"):
        other.plot("graded")


def test_trusted_rows_anchor_the_size_and_keep_their_report(rows):
    marked = rows.assign(ok=(rows["bias"] == 0.0) & (np.arange(len(rows)) % 2 == 0))
    model = fitted(marked, pc.Roles("y", PROXIES, ["e", "f", "g"], trusted="ok"))
    answer, ok = model.calibrate(marked), marked["ok"]
    assert "trusted rows" in topic(model, "anchor").statistic
    assert (answer.loc[ok, "y_cal"] == marked.loc[ok, "y"]).all()
    assert rmse(answer["y_cal"] - rows["true"]) < 0.3 * rmse(rows["bias"])
    assert model.alpha_ == pytest.approx(rows["bias"][~ok].mean(), abs=3.0 * model.alpha_se_)
    totals = model.totals(marked)
    assert totals["low"].iloc[0] < rows["true"].sum() < totals["high"].iloc[0]


@pytest.mark.parametrize("role", [{}, {"trusted": "ok"}, {"truth": "checked"}, {"weights": "w"}])
def test_files_and_dask_frames_give_the_answer_of_the_whole(rows, role, monkeypatch, tmp_path):
    dask_frame = pytest.importorskip("dask.dataframe")
    table = rows.assign(
        ok=rows["bias"] == 0.0,
        checked=rows["true"].where(np.arange(len(rows)) % 20 == 0),
        w=1.0 + np.arange(len(rows)) % 3,
    )
    roles = pc.Roles("y", PROXIES, ["e", "f", "g"], **role)
    whole = fitted(table, roles)
    names = [tmp_path / f"{i}.parquet" for i in range(3)]
    for i, name in enumerate(names):
        table.iloc[300 * i : 300 * (i + 1)].to_parquet(name)
    # Only what is large is read in pieces.
    monkeypatch.setattr("proxycal.scale.fit.LARGE", 100)
    by_files = pc.ProxyCalibrator(roles, direction="over", method="gradual").fit_files(names)
    by_dask = fitted(dask_frame.from_pandas(table, npartitions=4), roles)
    for model in (by_files, by_dask):
        assert model.verdict_ == whole.verdict_ == "bias found"
        assert model.result_.n == len(table)
        for name in ("alpha_", "alpha_se_", "share_biased_"):
            assert getattr(model, name) == pytest.approx(getattr(whole, name), rel=1e-8)
        # Sums over pieces differ in their last digits, and the search on them ends within 1e-7.
        ours, theirs = (one.summary().drop("moments") for one in (whole, model))
        pd.testing.assert_frame_equal(theirs, ours, rtol=0.0, atol=1e-7)
        # Chances of single rows move by a few times that.
        pd.testing.assert_frame_equal(model.calibrate(table), whole.calibrate(table), rtol=0.0, atol=1e-6)


def test_a_bias_that_rises_in_one_group_only_needs_the_interaction(rows):
    slope = np.where(rows["g"] == "c", 1.0, 0.0) * (rows["e"] - 40.0)
    bent = rows.assign(y=rows["true"] + slope)
    plain, own = fitted(bent), fitted(bent, effect="by:g")
    left = [rmse(model.calibrate(bent)["shift"] - slope - (model.calibrate(bent)["shift"] - slope).mean())
            for model in (plain, own)]  # fmt: skip
    assert left[1] < 0.4 * left[0]
    with pytest.raises(SettingsError, match="'nowhere' is not an environment column; use one of e, f, g"):
        fitted(bent, effect="by:nowhere")
