"""Tables whose truth is known: the paper's synthetic design, and a bias injected into any real table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd
from scipy.special import expit

from proxycal.errors import SettingsError, TableError
from proxycal.settings import sign as sign_of
from proxycal.table.frames import answer, to_pandas
from proxycal.table.roles import Roles

Noise = Literal["gaussian", "poisson"]
Direction = Literal["over", "under"]


@dataclass(frozen=True, slots=True)
class Simulation:
    """A table as an analyst would get it, and beside it what the analyst never sees.

    table : frame of n rows; holds the columns that `roles` names
    roles : which column is what
    truth : frame of the same kind and index: y_true (n,), a (n,) in {0, 1}, and z_1 .. z_d where simulated
    """

    table: Any
    roles: Roles
    truth: Any


def simulate(
    n: int = 1000,
    d_z: int = 5,
    d_e: int = 10,
    n_proxies: int = 5,
    alpha: float = 5.0,
    noise: Noise = "gaussian",
    random_state: int = 0,
    direction: Direction = "over",
    *,
    w_z_scale: float = 1.0,
    w_a_scale: float = 2.0,
    w_y_scale: float = 1.0,
    c_low: float = 0.5,
    c_high: float = 1.5,
    sd_z: float = 1.0,
    sd_a: float = 1.0,
    sd_y: float = 0.5,
    sd_obs: float = 0.1,
    sd_proxy: float = 0.5,
    leak: float = 0.0,
) -> Simulation:
    """The synthetic design of the paper, section 5.1.

        e ~ N(0, I)    z = W_z'e + eps_z    A = 1{w_a'e + eps_a > 0}    s = +1 over, -1 under
        y_true = w_y'z + eps_y    y_obs = y_true + s*alpha*A + eps_obs    p_k = c_k * y_true + eps_k

    Entries of W_z, w_a, w_y are N(0, scale^2 / dimension), c_k ~ U(c_low, c_high). Noise "poisson" replaces
    eps_y, eps_obs and eps_k by (Poisson(4) - 4) / 2 times the same standard deviation: mean 0, skewed.
    `leak` is the share of the bias that the proxies see as well, 0 where the method's assumption holds.
    Draws do not depend on alpha, direction or leak, so one seed gives the same units under any bias.

    >>> sim = simulate(n=200, d_z=2, d_e=3, n_proxies=2, alpha=5.0)
    >>> list(sim.table.columns)
    ['y', 'p_1', 'p_2', 'e_1', 'e_2', 'e_3']
    >>> list(sim.truth.columns)
    ['y_true', 'a', 'z_1', 'z_2']
    """
    _check_counts(n=n, d_z=d_z, d_e=d_e, n_proxies=n_proxies)
    _check_nonnegative(alpha=alpha, leak=leak, w_z_scale=w_z_scale, w_a_scale=w_a_scale, w_y_scale=w_y_scale)
    _check_nonnegative(sd_z=sd_z, sd_a=sd_a, sd_y=sd_y, sd_obs=sd_obs, sd_proxy=sd_proxy)
    _check_slopes(c_low, c_high)
    sign = sign_of(direction)
    rng = _generator(random_state)

    W_z = rng.normal(0.0, w_z_scale / np.sqrt(d_e), (d_e, d_z))
    w_a = rng.normal(0.0, w_a_scale / np.sqrt(d_e), d_e)
    w_y = rng.normal(0.0, w_y_scale / np.sqrt(d_z), d_z)
    c = rng.uniform(c_low, c_high, n_proxies)

    e = rng.normal(size=(n, d_e))
    z = e @ W_z + sd_z * rng.normal(size=(n, d_z))
    a = (e @ w_a + sd_a * rng.normal(size=n) > 0).astype(np.int64)
    y_true = z @ w_y + sd_y * _unit_noise(rng, noise, (n,))
    y_obs = y_true + sign * alpha * a + sd_obs * _unit_noise(rng, noise, (n,))
    seen = y_true + leak * sign * alpha * a
    p = seen[:, None] * c + sd_proxy * _unit_noise(rng, noise, (n, n_proxies))

    names_p = [f"p_{k + 1}" for k in range(n_proxies)]
    names_e = [f"e_{k + 1}" for k in range(d_e)]
    names_z = [f"z_{k + 1}" for k in range(d_z)]
    table = pd.DataFrame(np.column_stack([y_obs, p, e]), columns=["y", *names_p, *names_e])
    truth = pd.DataFrame({"y_true": y_true, "a": a, **dict(zip(names_z, z.T, strict=True))})
    return Simulation(table, Roles(outcome="y", proxies=names_p, environment=names_e), truth)


def inject_bias(
    df: Any,
    roles: Roles,
    alpha: float = 1.0,
    random_state: int = 0,
    direction: Direction = "over",
    *,
    gate_scale: float = 2.0,
    leak: float = 0.0,
    standardise: bool = True,
) -> Simulation:
    """Adds a known bias to a real table (pandas or polars): the semi-synthetic study on your own data.

        A ~ Bernoulli(logistic(w'E)), w ~ N(0, gate_scale^2 / q)    y_obs = (y - mean) / sd + s*alpha*A

    E has q columns: numbers standardised (a missing one counts as the mean), every level of a category as
    its own centred column. `alpha` is thus in standard deviations of the outcome; with `standardise=False`
    the outcome keeps its units, and `alpha` is in them. Numeric proxies see the share `leak` of the bias in
    their own standard deviations. The answer has the kind and index of `df`; the role `truth`, whose column
    keeps its own units, is dropped.

    >>> sim = simulate(n=200, alpha=0.0)
    >>> inj = inject_bias(sim.table, sim.roles, alpha=1.0)
    >>> bool(((inj.table["y"] - inj.truth["y_true"]).round(9) == inj.truth["a"]).all())
    True
    """
    _check_nonnegative(alpha=alpha, gate_scale=gate_scale, leak=leak)
    sign = sign_of(direction)
    rng = _generator(random_state)
    table = to_pandas(df, roles.columns)
    E = _gate_columns(table, roles)
    w = rng.normal(0.0, gate_scale / np.sqrt(E.shape[1]), E.shape[1])
    a = (rng.uniform(size=len(table)) < expit(E @ w)).astype(np.int64)

    y = _numbers(table, roles.outcome)
    sd = _spread(y, roles.outcome)
    y_true = (y - np.nanmean(y)) / sd if standardise else y
    changed = {roles.outcome: y_true + sign * alpha * a}
    if leak > 0:
        in_sd = alpha if standardise else alpha / sd
        for name in roles.proxies:
            p = _numbers(table, name)
            changed[name] = p + leak * sign * in_sd * a * _spread(p, name)

    return Simulation(
        _with_columns(df, changed), replace(roles, truth=None), answer(df, {"y_true": y_true, "a": a})
    )


def _with_columns(df: Any, columns: dict[str, np.ndarray]) -> Any:
    """A copy of the frame with these columns replaced."""
    if isinstance(df, pd.DataFrame):
        return df.assign(**columns)
    backend = nw.get_native_namespace(df)
    series = [nw.new_series(name, values, backend=backend) for name, values in columns.items()]
    return nw.from_native(df, eager_only=True).with_columns(*series).to_native()


def _unit_noise(rng: np.random.Generator, noise: Noise, shape: tuple[int, ...]) -> np.ndarray:
    """Noise of mean 0 and variance 1."""
    if noise == "gaussian":
        return rng.normal(size=shape)
    if noise != "poisson":
        raise SettingsError(f"noise={noise!r} is not known: use 'gaussian' or 'poisson'.")
    return (rng.poisson(4.0, size=shape) - 4.0) / 2.0


def _gate_columns(table: pd.DataFrame, roles: Roles) -> np.ndarray:
    """The environment as centred columns (n, q); constant columns carry nothing and are left out."""
    columns: list[np.ndarray] = []
    for name in roles.environment:
        column = table[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            e = _numbers(table, name)
            if np.nanmax(e) > np.nanmin(e):
                columns.append(np.nan_to_num((e - np.nanmean(e)) / np.nanstd(e)))
        else:
            # Sorted level names, so that the draw does not depend on the order of the rows.
            text = column.astype(object).where(column.notna(), "missing").astype(str).to_numpy(dtype=str)
            levels, codes = np.unique(text, return_inverse=True)
            if len(levels) > 1:
                dummies = np.eye(len(levels))[codes]
                columns.extend((dummies - dummies.mean(axis=0)).T)
    if not columns:
        raise TableError(
            f"the environment columns {list(roles.environment)} do not vary, so no bias can depend on them: "
            "name at least one column that does."
        )
    return np.column_stack(columns)


def _numbers(table: pd.DataFrame, name: str) -> np.ndarray:
    """The column as floats; missing stays NaN, anything else that is no finite number is an error."""
    try:
        values = pd.to_numeric(table[name]).to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise TableError(
            f"column {name!r} is not numeric ({error}): give numbers to inject a bias."
        ) from error
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        raise TableError(
            f"column {name!r} holds {infinite.size} infinite values, first at rows {infinite[:3].tolist()}: "
            "replace them or drop these rows."
        )
    if np.isnan(values).all():
        raise TableError(f"column {name!r} holds no number at all: fill it or leave it out of the roles.")
    return values


def _spread(values: np.ndarray, name: str) -> float:
    sd = float(np.nanstd(values))
    if not sd > 0:
        raise TableError(f"column {name!r} is constant, so it cannot be standardised: use one that varies.")
    return sd


def _generator(random_state: int) -> np.random.Generator:
    if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)) or random_state < 0:
        raise SettingsError(f"random_state={random_state!r}: use an integer of 0 or more.")
    return np.random.default_rng(int(random_state))


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise SettingsError(f"{name}={value!r}: use an integer of 1 or more.")


def _check_slopes(c_low: float, c_high: float) -> None:
    if not (np.isfinite(c_low) and np.isfinite(c_high) and c_low <= c_high):
        raise SettingsError(
            f"c_low={c_low} and c_high={c_high}: give two finite numbers, the lower one first."
        )


def _check_nonnegative(**values: float) -> None:
    for name, value in values.items():
        if not np.isfinite(value) or value < 0:
            raise SettingsError(f"{name}={value!r}: use a finite number of 0 or more.")
