"""`proxycal.fit`: one line from a formula to a fitted model."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from proxycal.errors import SettingsError
from proxycal.model import ProxyCalibrator
from proxycal.table.formula import parse
from proxycal.table.roles import Roles

if TYPE_CHECKING:
    from proxycal.settings import Direction

# What a formula says itself.
_IN_FORMULA = ("outcome", "proxies", "environment", "roles")


def fit(formula: str, df: Any, *, direction: Direction, **settings: Any) -> ProxyCalibrator:
    """Fit a table by a formula: outcome ~ proxies | environment.

    Parameters
    ----------
    formula : str
        Columns joined by +, the proxies before the bar and the environment after it. log(outcome) is
        scale="log", log(proxy) an entry of log_proxies; `backticks` hold names that are not one word.
    df : frame
        The table, as `ProxyCalibrator.fit` takes it.
    direction : {"over", "under"}
        Whether biased reports are too high or too low.
    **settings
        The other roles, by the names of `Roles` (weights="w", truth="checked"), and the other arguments of
        `ProxyCalibrator` (level=0.9).

    Returns
    -------
    ProxyCalibrator
        The fitted model; its `formula_` is the formula.

    Examples
    --------
    >>> import proxycal
    >>> table = proxycal.simulate(n=400, d_e=2, n_proxies=2, alpha=5.0, random_state=0).table
    >>> model = proxycal.fit("y ~ p_1 + p_2 | e_1 + e_2", table, direction="over", method="moments")
    >>> model.formula_, round(model.alpha_)
    ('y ~ p_1 + p_2 | e_1 + e_2', 5)

    """
    asked = parse(formula)
    roles = {role.name for role in fields(Roles)}.difference(_IN_FORMULA)
    arguments = [name for name in ProxyCalibrator.parameter_names() if name not in ("roles", "direction")]
    unknown = [name for name in settings if name not in roles and name not in arguments]
    if unknown:
        said = f"the formula says the {unknown[0]}" if unknown[0] in _IN_FORMULA else "it is not known"
        known = ", ".join([*sorted(roles), *arguments])
        raise SettingsError(f"{unknown[0]} cannot be passed to proxycal.fit ({said}): use one of {known}")
    for name, value in (("scale", asked.scale), ("log_proxies", list(asked.log_proxies))):
        if value not in ("linear", []) and name in settings:
            raise SettingsError(f"the formula takes a logarithm, which is {name}={value!r}: leave out {name}")
    others = {name: settings.pop(name) for name in list(settings) if name in roles}
    settings = {"scale": asked.scale, "log_proxies": asked.log_proxies} | settings
    model = ProxyCalibrator(Roles(**asked.roles(), **others), direction=direction, **settings)
    return model.fit(df)
