"""scikit-learn: pipelines, column transformers, cross-validation, copies, and its own checks."""

from __future__ import annotations

import io
import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn.exceptions
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks, estimator_html_repr, get_tags
from sklearn.utils.validation import _check_n_features, check_array, check_is_fitted

import proxycal
from proxycal.errors import SettingsError
from proxycal.model import ProxyCalibrator
from proxycal.table.roles import Roles

SIM = proxycal.simulate(n=400, d_z=2, d_e=2, n_proxies=3, alpha=5.0, random_state=0)
COLUMNS = ["y_cal", "y_cal_low", "y_cal_high", "p_biased", "shift", "mu"]


def new() -> ProxyCalibrator:
    return ProxyCalibrator(SIM.roles, direction="over", method="moments")


@pytest.fixture(scope="module")
def model() -> ProxyCalibrator:
    return new().fit(SIM.table)


# --- transformer and predictor ------------------------------------------------------------------------


def test_transform_predict_and_names_are_those_of_calibrate(model):
    answer = model.calibrate(SIM.table)
    assert model.transform(SIM.table).equals(answer)
    assert new().fit_transform(SIM.table).equals(answer)
    assert list(model.get_feature_names_out()) == list(answer.columns) == COLUMNS
    assert np.array_equal(model.predict(SIM.table), answer["y_cal"])
    assert list(model.feature_names_in_) == list(SIM.roles.columns)
    assert model.n_features_in_ == len(SIM.roles.columns)


def test_set_output_chooses_the_frame():
    fitted = new().fit(SIM.table).set_output(transform="polars")
    answer = fitted.transform(SIM.table)
    assert isinstance(answer, pl.DataFrame)
    assert answer.columns == COLUMNS
    assert np.allclose(answer["y_cal"].to_numpy(), fitted.predict(SIM.table))
    back = fitted.set_output(transform="pandas").transform(pl.from_pandas(SIM.table))
    assert isinstance(back, pd.DataFrame)


def test_predict_is_missing_where_a_row_has_gaps(model):
    table = SIM.table.assign(p_1=SIM.table["p_1"].where(SIM.table.index > 2))
    dropping = ProxyCalibrator(SIM.roles, direction="over", method="moments", missing="drop").fit(table)
    with pytest.warns(proxycal.ProxycalWarning, match="3 rows of 400"):
        predicted = dropping.predict(table)
    assert np.isnan(predicted).tolist() == [True] * 3 + [False] * 397


def test_score_is_the_explained_variance_of_known_truth(model):
    truth = SIM.truth["y_true"].to_numpy().copy()
    error = truth - model.predict(SIM.table)
    by_hand = 1.0 - np.sum(error**2) / np.sum((truth - truth.mean()) ** 2)
    assert model.score(SIM.table, truth) == pytest.approx(by_hand)
    assert model.score(SIM.table, truth) > model.score(SIM.table, truth[::-1])
    truth[10:] = np.nan
    some = model.score(SIM.table, truth)
    assert some == pytest.approx(model.score(SIM.table.iloc[:10], truth[:10]))
    weights = np.r_[np.full(5, 2.0), np.ones(395)]
    assert model.score(SIM.table, truth, weights) != pytest.approx(some)


def test_a_validated_row_is_scored_as_if_nobody_had_looked():
    checked = SIM.table.assign(checked=SIM.truth["y_true"].where(SIM.table.index < 100))
    roles = Roles(SIM.roles.outcome, SIM.roles.proxies, SIM.roles.environment, truth="checked")
    fitted = ProxyCalibrator(roles, direction="over", method="moments").fit(checked)
    assert np.allclose(fitted.predict(checked)[:100], SIM.truth["y_true"][:100])
    assert fitted.score(checked, checked["checked"]) < 1.0


@pytest.mark.parametrize(
    ("y", "said"),
    [(None, "score needs true values"), (np.zeros(3), "400 rows"), (np.full(400, np.nan), "0 true values")],
)
def test_a_score_without_truth_is_refused(model, y, said):
    with pytest.raises(SettingsError, match=said):
        model.score(SIM.table, y)


# --- in the company of others -------------------------------------------------------------------------


def pipeline() -> Pipeline:
    return make_pipeline(FunctionTransformer(_doubled), new())


def _doubled(df: pd.DataFrame) -> pd.DataFrame:
    return df.assign(e_1=2.0 * df["e_1"])


def test_a_pipeline_fits_predicts_and_names_its_columns(model):
    steps = pipeline().fit(SIM.table)
    assert list(steps.transform(SIM.table).columns) == COLUMNS
    # The environment in other units is the same environment; to rounding.
    assert np.allclose(steps.predict(SIM.table), model.predict(SIM.table), atol=1e-6)
    assert list(steps[-1].get_feature_names_out()) == COLUMNS


@pytest.mark.parametrize("fitted", [False, True])
def test_the_picture_of_a_pipeline_renders(fitted):
    steps = pipeline().fit(SIM.table) if fitted else pipeline()
    picture = estimator_html_repr(steps)
    assert "ProxyCalibrator" in picture
    assert ("sk-estimator fitted" in picture) == fitted
    assert "ProxyCalibrator" in steps._repr_html_()


def test_a_column_transformer_takes_the_columns_of_the_roles(model):
    columns = list(SIM.roles.columns)
    table = SIM.table.assign(note="kept")
    beside = ColumnTransformer([("calibrated", new(), columns)], remainder="passthrough")
    frame = beside.set_output(transform="pandas").fit_transform(table)
    assert [f"calibrated__{name}" for name in COLUMNS] == list(frame.columns[:6])
    assert np.array_equal(frame["calibrated__y_cal"], model.predict(SIM.table))
    assert frame["remainder__note"].eq("kept").all()
    regression = make_pipeline(ColumnTransformer([("calibrated", new(), columns)]), LinearRegression())
    truth = SIM.truth["y_true"]
    assert regression.fit(SIM.table, truth).score(SIM.table, truth) > 0.9


def test_cross_validation_calibrates_rows_that_were_not_fitted():
    folds = KFold(3, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", proxycal.ProxycalWarning)  # two thirds of the rows may show no bias
        predicted = cross_val_predict(new(), SIM.table, cv=folds)
        scores = cross_val_score(new(), SIM.table, SIM.truth["y_true"], cv=folds)
        for (train, left), score in zip(folds.split(SIM.table), scores, strict=True):
            fold = new().fit(SIM.table.iloc[train])
            assert np.array_equal(predicted[left], fold.predict(SIM.table.iloc[left]))
            assert score == fold.score(SIM.table.iloc[left], SIM.truth["y_true"].iloc[left])
    assert np.median(scores) > 0.9


def test_clones_and_pickles(model):
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    with pytest.raises(sklearn.exceptions.NotFittedError):
        check_is_fitted(copied)
    check_is_fitted(model)
    answer = model.calibrate(SIM.table)
    assert pickle.loads(pickle.dumps(model)).calibrate(SIM.table).equals(answer)
    kept = io.BytesIO()
    joblib.dump(model, kept)
    kept.seek(0)
    assert joblib.load(kept).calibrate(SIM.table).equals(answer)


def test_no_public_name_raises_when_asked_for(model):
    for asked in (model, new()):
        there = {name for name in dir(type(asked)) if hasattr(asked, name)}
        assert ("alpha_" in there) == (asked is model)
        assert "ratio_" not in there  # the bias is added


def test_the_tags_say_what_it_takes():
    tags = get_tags(new())
    assert (tags.input_tags.string, tags.input_tags.categorical, tags.input_tags.allow_nan) == (
        True,
        True,
        False,
    )
    assert not tags.target_tags.required
    assert get_tags(new().set_params(missing="impute")).input_tags.allow_nan
    assert tags.transformer_tags is not None


# --- the checks of scikit-learn -----------------------------------------------------------------------


class OnMatrices(ProxyCalibrator):
    """A calibrator for the checks, which pass matrices: the columns get names, and with them their roles."""

    def __init__(self, roles=None, method="moments", direction="over", missing="raise", random_state=0):
        super().__init__(roles, method, direction, missing=missing, random_state=random_state)

    def fit(self, X, y=None):
        frame = self._named(X, reset=True)
        roles = Roles("c_0", ["c_1"], list(frame.columns[2:]))
        plain = ProxyCalibrator(roles, self.method, self.direction, random_state=self.random_state)
        self.result_ = plain.fit(frame).result_
        return self

    def calibrate(self, df):
        self._fitted()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", proxycal.ProxycalWarning)  # most checks hold no bias
            return super().calibrate(self._named(df))

    def transform(self, X):
        return self.calibrate(X).to_numpy()

    def score(self, X, y):
        return super().score(self._named(X), y)

    # Set by scikit-learn, as for any matrix; absent before.
    n_features_in_ = property(
        lambda self: self._columns, lambda self, count: setattr(self, "_columns", count)
    )

    def _named(self, X, reset=False):
        X = check_array(X, dtype=float, estimator=self)
        _check_n_features(self, X, reset=reset)
        frame = pd.DataFrame(X, columns=[f"c_{i}" for i in range(X.shape[1])])
        return frame if X.shape[1] > 2 else frame.assign(c_2=frame["c_1"] ** 2)


def checks() -> dict[str, object]:
    found = estimator_checks.estimator_checks_generator(OnMatrices(), legacy=True)
    return {getattr(check, "func", check).__name__: check for _, check in found}


# What a table estimator cannot pass, and why; every other check of scikit-learn is run.
NOT_FOR_TABLES = {
    "check_n_features_in_after_fitting": "fits 15 rows, and a fit of 4 columns is refused below 20",
    "check_estimators_nan_inf": "fits 10 rows, and a fit of 3 columns is refused below 20",
    "check_fit2d_1sample": "one row; the error names the constant outcome, not 'sample'",
    "check_fit2d_1feature": "one column; a calibration needs an outcome, a proxy and an environment",
    "check_array_api_input": "columns of a data frame are not arrays of another library",
}


def test_the_checks_that_are_left_out_are_checks():
    assert NOT_FOR_TABLES.keys() <= checks().keys() | {"check_array_api_input"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(checks().keys() - NOT_FOR_TABLES.keys()))
def test_checks_of_scikit_learn(name):
    checks()[name](OnMatrices())
