"""Coefficients of a fit as frames, in the units of the user's columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from proxycal.effect.coefficients import INTERCEPT, WHO, coefficients_of
from proxycal.errors import SettingsError
from proxycal.table.codes import NumberCode

if TYPE_CHECKING:
    from proxycal.effect.coefficients import Coefficients
    from proxycal.result import Fit


def tidy(fit: Fit, exponentiate: bool = False) -> pd.DataFrame:
    """A row per coefficient."""
    own = in_units(fit)
    se = np.sqrt(np.diag(own.cov))
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = own.estimate / se
    reach = float(ndtri(0.5 + fit.settings.level / 2.0)) * se
    columns = {"estimate": own.estimate, "low": own.estimate - reach, "high": own.estimate + reach}
    if exponentiate:
        who = own.at(WHO)
        for values in columns.values():
            values[who] = np.exp(np.minimum(values[who], 700.0))
    return pd.DataFrame(
        {
            "term": own.terms,
            "estimate": columns["estimate"],
            "std_error": se,
            "statistic": statistic,
            "p_value": 2.0 * ndtr(-np.abs(statistic)),
            "low": columns["low"],
            "high": columns["high"],
            "component": own.components,
        }
    )


def glance(fit: Fit) -> pd.DataFrame:
    """The fit in one row."""
    own, size = coefficients_of(fit.method_fit, fit.training), fit.estimate
    # A sample of many rows has a likelihood of its own, which is not that of the fit.
    log_lik = own.log_lik if fit.training.n == fit.n else float("nan")
    known = bool(np.isfinite(log_lik))
    return pd.DataFrame(
        {
            "method": [fit.settings.method],
            "verdict": [fit.verdict],
            "n": [fit.n],
            "alpha": [size.alpha],
            "alpha_se": [size.se],
            "alpha_low": [size.low],
            "alpha_high": [size.high],
            "share_biased": [fit.share_biased],
            "parameters": [own.parameters if known else None],
            "log_lik": [log_lik],
            "bic": [own.parameters * np.log(fit.n) - 2.0 * log_lik],
        }
    )


def confint(fit: Fit, level: float | None) -> pd.DataFrame:
    """Low and high of every coefficient."""
    level = fit.settings.level if level is None else level
    if not 0.0 < level < 1.0:
        raise SettingsError(f"level={level!r}: use a number between 0 and 1, such as 0.95")
    own = in_units(fit)
    reach = float(ndtri(0.5 + level / 2.0)) * np.sqrt(np.diag(own.cov))
    return pd.DataFrame({"low": own.estimate - reach, "high": own.estimate + reach}, index=_index(own))


def coefficient_table(fit: Fit) -> pd.DataFrame:
    """The coefficients with the names of maketables, those of "who" and "content" with their component."""
    made, ends = tidy(fit), confint(fit, 0.95)
    index = [
        term if part == "size" else f"{part}: {term}"
        for part, term in zip(made["component"], made["term"], strict=True)
    ]
    columns = {
        "b": made["estimate"],
        "se": made["std_error"],
        "t": made["statistic"],
        "p": made["p_value"],
        "ci95l": ends["low"].to_numpy(),
        "ci95u": ends["high"].to_numpy(),
    }
    return pd.DataFrame(columns).set_axis(pd.Index(index, name="Coefficient"), axis=0)


def vcov(fit: Fit) -> pd.DataFrame:
    """The covariance, labelled."""
    own = in_units(fit)
    return pd.DataFrame(own.cov, index=_index(own), columns=_index(own))


def _index(own: Coefficients) -> pd.MultiIndex:
    return pd.MultiIndex.from_arrays([own.components, own.terms], names=["component", "term"])


def in_units(fit: Fit) -> Coefficients:
    """The coefficients for one unit of each number, in place of one standard deviation.

    An encoded number is (x - centre) / spread: its slope is divided by spread, and what centre adds moves
    into the intercept of its component.
    """
    own = coefficients_of(fit.method_fit, fit.training)
    codes = (*fit.encoder.proxies, *fit.encoder.environment)
    scales = {code.name: code.unit for code in codes if isinstance(code, NumberCode)}
    change = np.eye(len(own.terms))
    for component in dict.fromkeys(own.components):
        places = own.at(component)
        intercept = [at for at in places if own.terms[at] == INTERCEPT]
        for at in places:
            unit = scales.get(own.terms[at])
            if unit is None or not intercept:
                continue
            centre, spread = unit
            change[at, at] = 1.0 / spread
            change[intercept[0], at] = -centre / spread
    return replace(own, estimate=change @ own.estimate, cov=change @ own.cov @ change.T)
