"""A saved run becomes a model again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.errors import ProxycalError, StoreError, UnavailableError
from proxycal.methods.registry import method_named
from proxycal.methods.training import training_from
from proxycal.model import ProxyCalibrator
from proxycal.questions.answers import answers_from_dict
from proxycal.result import Calibration, FittedRows
from proxycal.settings import Settings
from proxycal.store import load_run
from proxycal.table.encode import Encoder
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    import os


def load(folder: str | os.PathLike[str]) -> ProxyCalibrator:
    """Read a run folder written by `ProxyCalibrator.save` or `proxycal fit`.

    Nothing in the folder is executed; a damaged or newer one is one StoreError.
    """
    run = load_run(folder)
    try:
        settings, roles = Settings.from_toml(run.config), Roles.from_dict(run.roles)
        model = ProxyCalibrator.from_settings(roles, settings)
        model.encoder_ = Encoder.from_dict(run.encoder)
        model.fit_ = method_named(settings.method).fitted_class().from_state(run.results["fit"], run.tensors)
        model.labels_ = run.labels
        model.training_ = training_from(run.results["training"], run.tensors)
        model.rows_ = FittedRows.from_frame(run.rows)
        model.result_ = Calibration.from_dict(run.results, settings, roles, run.versions)
        model.questions_ = answers_from_dict(run.questions)
    except UnavailableError:
        raise
    except (ProxycalError, LookupError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise StoreError(
            f"run folder '{folder}' does not hold together ({type(error).__name__}: {error}); "
            "restore it from a copy or run `proxycal fit` again"
        ) from error
    return model
