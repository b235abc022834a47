"""A fit as the plain values of a run folder, and back."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from platform import python_version
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal import __version__
from proxycal.effect.grouped import Totals
from proxycal.effect.last_check import Support
from proxycal.errors import ProxycalError, StoreError, UnavailableError
from proxycal.methods.registry import METHODS
from proxycal.result import (
    OUTPUT_COLUMNS,
    EnvironmentColumn,
    Estimate,
    Finding,
    Fit,
    FittedRows,
    Prediction,
    Update,
    number,
    plain,
)
from proxycal.settings import Settings
from proxycal.store.folder import Run, keep_questions, load_run, save_run
from proxycal.table.encode import Encoder
from proxycal.table.training import training_from, training_state

if TYPE_CHECKING:
    import os

    from proxycal.questions.answers import Power, Refutation
    from proxycal.table.encode import Arrays

_ENVIRONMENT = "environment:"


def versions(method: str) -> dict[str, str]:
    """What a fit of that method was made with, package -> version."""
    packages = ("numpy", "scipy", "scikit-learn", "pandas", *METHODS[method].libraries)
    return {"python": python_version(), "proxycal": __version__} | {
        name: _installed(name) for name in packages
    }


@cache
def _installed(package: str) -> str:
    """The version of a package, which a search of all that is installed tells."""
    return metadata.version(package)


def save_fit(folder: str | os.PathLike[str], fit: Fit) -> None:
    """Write a fit as a run folder, whole or not at all."""
    values, tensors = fit.method_fit.state()
    training, rows = training_state(fit.training)
    encoder = fit.encoder.to_dict()
    estimate = fit.estimate
    results: dict[str, Any] = {
        # First what a program that reads the file looks for.
        "verdict": fit.verdict,
        "alpha": estimate.alpha,
        "alpha_se": estimate.se,
        "alpha_interval": [estimate.low, estimate.high],
        "n": fit.n,
        "asked_method": fit.asked_method,
        "share_biased": fit.share_biased,
        "estimate": estimate,
        "estimates": fit.estimates,
        "findings": fit.findings,
        "totals": [totals.to_dict() for totals in fit.totals],
        "support": fit.support,
    }
    if fit.updates:
        results["updates"] = fit.updates
    if fit.settings.factor:
        ratio, low, high = estimate.ratio(fit.settings.sign)
        results |= {"ratio": ratio, "ratio_interval": [low, high]}
    save_run(
        folder,
        Run(
            config=fit.settings.to_toml(fit.roles),
            roles=encoder["roles"],
            encoder=encoder,
            results=plain(results | {"fit": values, "training": training}),
            versions=fit.versions,
            tensors=tensors | rows,
            labels=fit.labels,
            rows=_rows_frame(fit.rows),
            history=fit.method_fit.details.history,
            questions=_questions_to_dict(fit.questions) if fit.questions else {},
        ),
    )


def load_fit(folder: str | os.PathLike[str]) -> Fit:
    """Read a run folder. Nothing in it is executed; a damaged or newer one is one StoreError."""
    run = load_run(folder)
    try:
        settings, encoder = Settings.from_toml(run.config), Encoder.from_dict(run.encoder)
        if run.roles != run.encoder["roles"]:
            raise ValueError("roles.json and encoder.json name different roles")
        values = run.results
        training = training_from(values["training"], run.tensors)
        _check_columns(encoder, training)
        return Fit(
            estimate=Estimate.from_dict(values["estimate"]),
            estimates=tuple(Estimate.from_dict(row) for row in values["estimates"]),
            share_biased=number(values["share_biased"]),
            verdict=values["verdict"],
            findings=tuple(Finding(**row) for row in values["findings"]),
            settings=settings,
            roles=encoder.roles,
            n=int(values["n"]),
            asked_method=_method(values.get("asked_method", "")),
            versions=run.versions,
            encoder=encoder,
            method_fit=METHODS[settings.method].restore(values["fit"], run.tensors),
            rows=_rows_from(run.rows),
            labels=run.labels,
            training=training,
            support=_support(values, training, settings),
            totals=tuple(Totals.from_dict(row) for row in values["totals"]),
            questions=_questions_from_dict(run.questions),
            updates=tuple(Update.from_dict(row) for row in values.get("updates", ())),
        )
    except UnavailableError:
        raise
    except (
        ProxycalError,
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        AttributeError,
        RuntimeError,
    ) as error:
        raise StoreError(
            f"run folder '{folder}' is inconsistent ({type(error).__name__}: {error}); "
            "restore it from a copy or run `proxycal fit` again"
        ) from error


def _method(name: str) -> str:
    """The method that was asked for: one that there is, or "" where it is the one in the settings."""
    if name and name not in METHODS:
        raise ValueError(f"no method is called {name!r}")
    return name


def _support(values: dict[str, Any], training: Arrays, settings: Settings) -> Support:
    """What the fit saw; runs of earlier versions hold the rows that tell it."""
    own = Support.of(training, settings.scale)
    if "support" not in values:
        return own
    support = Support.from_dict(values["support"])
    if not len(support.columns) == len(support.column_low) == len(support.column_high) == len(own.columns):
        raise ValueError("results.json says what other columns span than those that were fitted")
    return support


def _check_columns(encoder: Encoder, training: Arrays) -> None:
    """Refuse an encoder that makes other columns than those that were fitted."""
    fitted = (*training.proxy_names, *training.environment_names)
    widths = (training.P.shape[1], training.E.shape[1])
    if encoder.encoded_names() != fitted or widths != (
        len(training.proxy_names),
        len(training.environment_names),
    ):
        raise ValueError("encoder.json makes other columns than those that were fitted")


def keep_answers(folder: str | os.PathLike[str], fit: Fit) -> None:
    """Write what was asked of the fit of a run folder since beside it."""
    keep_questions(folder, _questions_to_dict(fit.questions))


def _questions_to_dict(questions: dict[str, Refutation | Power]) -> dict[str, Any]:
    return {name: plain(answer.to_dict()) for name, answer in sorted(questions.items())}


def _questions_from_dict(values: dict[str, Any]) -> dict[str, Refutation | Power]:
    from proxycal.questions.answers import answers_from_dict

    return answers_from_dict(values)


def _rows_frame(rows: FittedRows) -> pd.DataFrame:
    """The rows shown as a table that Parquet keeps exactly: categories stay categories."""
    columns: dict[str, Any] = {"y_obs": rows.y_obs, "weights": rows.weights}
    columns |= rows.predicted.columns()
    for column in rows.environment:
        values: Any = column.values
        if column.levels is not None:
            codes = np.where(np.isnan(values), -1, values).astype(np.int64)
            values = pd.Categorical.from_codes(codes, categories=pd.Index(column.levels, dtype=object))
        columns[_ENVIRONMENT + column.name] = values
    return pd.DataFrame(columns)


def _rows_from(frame: pd.DataFrame) -> FittedRows:
    def floats(name: str) -> np.ndarray:
        return frame[name].to_numpy(dtype=np.float64)

    latents = [name for name in frame.columns if name.startswith("z_")]
    outputs = {column.name: floats(column.name) for column in OUTPUT_COLUMNS}
    z = np.column_stack([floats(name) for name in latents]) if latents else np.empty((len(frame), 0))
    environment = tuple(
        _environment_column(name.removeprefix(_ENVIRONMENT), frame[name])
        for name in frame.columns
        if name.startswith(_ENVIRONMENT)
    )
    predicted = Prediction(**outputs, z=z, a=floats("a"))
    return FittedRows(floats("y_obs"), floats("weights"), predicted, environment)


def _environment_column(name: str, column: pd.Series) -> EnvironmentColumn:
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return EnvironmentColumn(name, column.to_numpy(dtype=np.float64))
    codes = column.cat.codes.to_numpy().astype(np.float64)
    levels = tuple(str(level) for level in column.cat.categories)
    return EnvironmentColumn(name, np.where(codes < 0, np.nan, codes), levels)
