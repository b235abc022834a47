"""The model object: manners, answers in the kind and index of the question, and what it refuses.

A toy method with a known answer stands in for the estimators here.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.exceptions
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from proxycal.errors import (
    ProxycalError,
    ProxycalWarning,
    RolesError,
    SettingsError,
    TableError,
)
from proxycal.found import NotFittedError
from proxycal.methods.paper.settings import PaperSettings
from proxycal.methods.registry import register
from proxycal.model import ProxyCalibrator, load
from proxycal.settings import Settings
from proxycal.store import RUN_FILES
from proxycal.table.roles import Roles
from toy_method import TOY


@pytest.fixture(autouse=True)
def toy_method():
    with register(TOY):
        yield


ROLES = Roles(outcome="y", proxies=["p"], environment=["e", "kind"], id="county")


def table(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {
        "county": [f"{i:05d}" for i in range(n)],
        "y": rng.normal(size=n),
        "p": rng.normal(size=n),
        "e": rng.normal(size=n),
        "kind": np.where(np.arange(n) % 3, "flood", "fire"),
    }
    return pd.DataFrame(columns, index=pd.Index(range(100, 100 + n), name="row"))


def found() -> ProxyCalibrator:
    return ProxyCalibrator(ROLES, direction="over", method="toy").fit(table())


def unidentified() -> ProxyCalibrator:
    return ProxyCalibrator(ROLES, direction="over", method="toy", random_state=1).fit(table())


# --- manners ------------------------------------------------------------------------------------------


def test_arguments_are_stored_untouched_and_clone_copies_them():
    paper = PaperSettings(k=3)
    model = ProxyCalibrator(ROLES, method="paper", direction="under", level=0.9, paper=paper)
    assert model.paper is paper
    assert model.roles is ROLES
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(clone(found()), "result_")
    assert model.set_params(direction="over").direction == "over"


def test_bad_values_wait_until_fit_and_are_named():
    model = ProxyCalibrator(ROLES, method="toy", level=95, direction="up")
    assert model.level == 95
    with pytest.raises(SettingsError, match="direction = 'up'"):
        model.fit(table())
    with pytest.raises(SettingsError, match="level = 95 must be a number above 0 and below 1"):
        model.set_params(direction="over").fit(table())
    with pytest.raises(SettingsError, match="paper must be a PaperSettings"):
        ProxyCalibrator(ROLES, direction="over", method="toy", paper={"k": 3}).fit(table())
    with pytest.raises(RolesError, match=r"must be a proxycal\.Roles, not dict"):
        ProxyCalibrator({"outcome": "y"}, direction="over", method="toy").fit(table())


def test_a_failed_refit_leaves_the_earlier_fit():
    model = found()
    earlier = model.result_
    with pytest.raises(TableError):
        model.fit(table().drop(columns="p"))
    assert model.result_ is earlier


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: m.alpha_,
        lambda m: m.alpha_se_,
        lambda m: m.alpha_interval_,
        lambda m: m.share_biased_,
        lambda m: m.verdict_,
        lambda m: m.findings_,
        lambda m: m.summary(),
        lambda m: m.calibrate(table()),
        lambda m: m.effects(table()),
        lambda m: m.latents(table()),
        lambda m: m.check(),
        lambda m: m.plot("who"),
        lambda m: m.transform(table()),
        lambda m: m.save("nowhere"),
    ],
)
def test_before_fit_everything_is_one_error_of_both_families(ask):
    model = ProxyCalibrator(ROLES, direction="over")
    with pytest.raises(NotFittedError, match=r"call fit\(table\) first") as caught:
        ask(model)
    assert isinstance(caught.value, ProxycalError)
    assert isinstance(caught.value, sklearn.exceptions.NotFittedError)


def test_a_direction_that_nobody_stated_is_refused_by_fit():
    model = ProxyCalibrator(ROLES, direction=None, method="toy")
    assert clone(model).get_params()["direction"] is None
    with pytest.raises(SettingsError, match="data cannot tell over-reporting from under-reporting"):
        model.fit(table())


def test_from_settings_and_back():
    settings = Settings(method="toy", direction="under", level=0.8, sections={"paper": PaperSettings(d_z=2)})
    model = ProxyCalibrator.from_settings(ROLES, settings).fit(table())
    assert model.result_.settings == settings


# --- results ------------------------------------------------------------------------------------------


def test_fitted_attributes_are_those_of_the_method():
    model = found()
    assert (model.alpha_, model.alpha_se_, model.alpha_interval_) == (2.0, 0.1, (1.8, 2.2))
    assert (model.share_biased_, model.verdict_) == (0.5, "bias found")
    assert isinstance(model.findings_, list)
    assert model.findings_[-1].question == "Is it there?"
    assert model.result_.n == 60
    assert {"python", "proxycal", "numpy"} <= set(model.result_.versions)


def test_summary_has_a_row_per_estimator():
    summary = found().summary()
    assert list(summary.index) == ["exact", "moments", "match", "gradual"]
    assert list(summary.columns) == ["alpha", "se", "low", "high", "note"]
    assert summary.loc["match", "high"] == 2.2
    assert np.isnan(summary.loc["exact", "alpha"])
    assert summary.loc["exact", "note"] == "not run"


def test_findings_name_what_is_wrong_with_the_table_and_check_looks_again():
    model = ProxyCalibrator(ROLES, direction="over", method="toy").fit(table().assign(e=lambda t: t["p"] * 2))
    assert "collinear" in {one.topic for one in model.findings_ if not one.ok}
    assert model.check()[: len(model.findings_)] == model.findings_
    again = {one.topic: one.ok for one in model.check(table())}
    assert again["collinear"]


def test_html_escapes_what_the_table_says():
    model = found()
    roles = replace(ROLES, outcome="<script>")
    page = (
        ProxyCalibrator(roles, direction="over", method="toy")
        .fit(table().rename(columns={"y": "<script>"}))
        ._repr_html_()
    )
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "1.80 to 2.20" in model._repr_html_()
    assert "not fitted" in ProxyCalibrator(ROLES, direction="over")._repr_html_()


# --- answers for rows ---------------------------------------------------------------------------------


def test_calibrate_keeps_kind_index_and_order():
    model, frame = found(), table()
    out = model.calibrate(frame)
    pd.testing.assert_index_equal(out.index, frame.index)
    assert list(out.columns) == ["y_cal", "y_cal_low", "y_cal_high", "p_biased", "shift", "mu"]
    np.testing.assert_array_equal(out["y_cal"], frame["y"] - out["shift"])
    biased = frame["y"] > frame["y"].mean()
    np.testing.assert_array_equal(out["shift"], np.where(biased, 2.0, 0.0))
    shuffled = frame.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(model.calibrate(shuffled), out.loc[shuffled.index])
    as_polars = model.calibrate(pl.from_pandas(frame))
    assert isinstance(as_polars, pl.DataFrame)
    np.testing.assert_array_equal(as_polars["y_cal"].to_numpy(), out["y_cal"])


@pytest.mark.parametrize("seed", [1, 2])
def test_without_a_finding_the_outcome_is_left_alone(seed):
    model, frame = (
        ProxyCalibrator(ROLES, direction="over", method="toy", random_state=seed).fit(table()),
        table(),
    )
    with pytest.warns(
        ProxycalWarning, match=r"left as reported \(y_cal = y_obs, shift = 0\): The toy <says> so"
    ):
        out = model.calibrate(frame)
    np.testing.assert_array_equal(out["y_cal"], frame["y"])
    assert out[["y_cal_low", "y_cal_high"]].isna().all(axis=None)
    assert (out["shift"] == 0).all()
    assert set(out["p_biased"]) == {0.0, 1.0}
    assert out["mu"].notna().all()
    assert model.alpha_ == 2.0


def test_rows_with_gaps_come_back_empty_and_are_counted():
    frame = table()
    frame.loc[[103, 107], "p"] = np.nan
    frame.loc[110, "y"] = np.nan
    model = ProxyCalibrator(ROLES, direction="over", method="toy", missing="drop").fit(frame)
    assert model.result_.n == 57
    with pytest.warns(ProxycalWarning, match=r"3 rows of 60 .* first at index 103, 107, 110"):
        out = model.calibrate(frame)
    gone = [103, 107, 110]
    assert list(out.index[out["y_cal"].isna()]) == gone
    assert out.drop(gone).notna().all().all()
    with pytest.warns(ProxycalWarning, match="3 rows"):
        effects = model.effects(frame)
    assert effects.loc[103, "n_matched"] == 0
    assert effects.loc[103, "matched"] is None or pd.isna(effects.loc[103, "matched"])
    with pytest.warns(ProxycalWarning, match="3 rows"):
        latents = model.latents(frame)
    assert list(latents.index[latents["a"].isna()]) == gone


def test_rows_dropped_at_fit_shift_neither_labels_nor_the_record():
    frame = table()
    frame.loc[100, "p"] = np.nan
    model = ProxyCalibrator(ROLES, direction="over", method="toy", missing="drop").fit(frame)
    # The toy matches everyone with the second fitted row, which is the third of the table.
    assert set(model.effects(frame.iloc[1:])["matched"]) == {"00002"}
    np.testing.assert_array_equal(model.result_.rows.y_obs, frame["y"].iloc[1:])
    np.testing.assert_array_equal(model.result_.rows.environment[0].values, frame["e"].iloc[1:])


def test_complete_rows_and_a_finding_give_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found().calibrate(table())


def test_missing_values_are_refused_when_asked_to():
    frame = table()
    frame.loc[103, "p"] = np.nan
    with pytest.raises(TableError, match="column 'p' holds 1 missing value"):
        found().calibrate(frame)


def test_effects_name_the_matched_rows_by_id_or_by_index():
    frame = table()
    out = found().effects(frame)
    assert list(out.columns) == ["tau", "tau_abs", "n_matched", "matched", "distances"]
    np.testing.assert_array_equal(out["tau_abs"], out["tau"].abs())
    assert (out["tau"] < 0).any()
    assert set(out["matched"]) == {"00001"}
    assert set(out["distances"]) == {"0.25"}
    assert out["n_matched"].dtype == np.int64
    by_index = (
        ProxyCalibrator(replace(ROLES, id=None), direction="over", method="toy").fit(frame).effects(frame)
    )
    assert set(by_index["matched"]) == {"101"}
    assert found().effects(pl.from_pandas(frame))["matched"].to_list() == ["00001"] * 60


def test_latents_are_numbered_from_one():
    assert list(found().latents(table()).columns) == ["z_1", "z_2", "a"]


def test_truth_is_not_needed_and_new_rows_need_no_id_or_weights():
    frame = table().assign(w=1.0, known=np.nan, area="a")
    frame.loc[frame.index[:30], "area"] = "b"
    roles = replace(ROLES, weights="w", truth="known", cluster="area")
    model = ProxyCalibrator(roles, direction="over", method="toy").fit(frame)
    fewer = frame.drop(columns=["county", "w", "known", "area"])
    pd.testing.assert_frame_equal(model.calibrate(fewer), model.calibrate(frame.drop(columns="known")))


def test_the_answer_for_a_validated_row_is_its_truth():
    frame = table().assign(known=np.nan)
    frame.loc[frame.index[3], "known"] = 7.0
    model = ProxyCalibrator(replace(ROLES, truth="known"), direction="over", method="toy").fit(frame)
    row = model.calibrate(frame).iloc[3]
    assert (row["y_cal"], row["y_cal_low"], row["y_cal_high"]) == (7.0, 7.0, 7.0)
    assert row["shift"] == pytest.approx(frame["y"].iloc[3] - 7.0)


def test_a_pipeline_calibrates():
    frame = table()
    steps = [
        ("as it is", FunctionTransformer()),
        ("calibrate", ProxyCalibrator(ROLES, direction="over", method="toy")),
    ]
    line = Pipeline(steps).fit(frame, y=None)
    pd.testing.assert_frame_equal(line.transform(frame), found().calibrate(frame))
    pd.testing.assert_frame_equal(Pipeline(steps).fit_transform(frame), line.transform(frame))


@pytest.mark.parametrize("make", [lambda: ProxyCalibrator(ROLES, direction="over"), found])
def test_looking_at_all_of_a_model_raises_nothing(make):
    model = make()
    assert "alpha_" in dir(type(model))
    assert hasattr(model, "ratio_") is False  # the bias is added
    assert hasattr(model, "ratio_interval_") is False
    assert all(name for name, _ in inspect.getmembers(model))
    assert "ProxyCalibrator" in Pipeline([("calibrate", model)])._repr_html_()


def test_what_has_no_ratio_says_so():
    with pytest.raises(SettingsError, match="fit with scale='log'") as refusal:
        _ = found().ratio_
    assert isinstance(refusal.value, AttributeError)


def test_printing_a_model_says_the_verdict():
    assert "bias found: y is over-reported by about 2.00 (95% interval 1.80 to 2.20)" in str(found())
    assert "not identified" in repr(unidentified())
    assert repr(ProxyCalibrator(ROLES, direction="over")).startswith("ProxyCalibrator(")
    assert "bias" not in repr(ProxyCalibrator(ROLES, direction="over"))


# --- files --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [found, unidentified])
def test_save_and_load_give_identical_answers(tmp_path, make):
    model, frame = make(), table()
    model.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.result_ == model.result_
    assert again.get_params() == model.get_params() | {"paper": PaperSettings()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        pd.testing.assert_frame_equal(again.calibrate(frame), model.calibrate(frame), check_exact=True)
        pd.testing.assert_frame_equal(again.effects(frame), model.effects(frame), check_exact=True)
        pd.testing.assert_frame_equal(again.latents(frame), model.latents(frame), check_exact=True)
    again.save(tmp_path / "copy")
    for name in RUN_FILES:
        assert (tmp_path / "copy" / name).read_bytes() == (tmp_path / "run" / name).read_bytes(), name


def test_the_report_record_survives_saving(tmp_path):
    model = found()
    model.save(tmp_path / "run")
    first, second = model.result_, load(tmp_path / "run").result_
    assert (len(first.rows.y_obs), first.n, first.roles.id) == (60, 60, "county")
    for name in ("y_obs", "weights"):
        np.testing.assert_array_equal(getattr(first.rows, name), getattr(second.rows, name))
    for name, values in first.rows.predicted.columns().items():
        np.testing.assert_array_equal(values, second.rows.predicted.columns()[name])
    assert [(one.name, one.levels) for one in second.rows.environment] == [
        ("e", None),
        ("kind", ("fire", "flood")),
    ]
    for one, other in zip(first.rows.environment, second.rows.environment, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_array_equal(first.rows.environment[0].values, table()["e"])


def test_report_and_plot_read_the_record(tmp_path):
    model = found()
    model.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<html" in page
    assert "The toy &lt;says&gt; so." in page
    with pytest.raises(SettingsError):
        model.plot("no such picture")
