"""Between arrays and frames: the model's answers laid out for the rows of a table and for a reader."""

from __future__ import annotations

from dataclasses import fields, replace
from importlib import metadata
from platform import python_version
from typing import TYPE_CHECKING, Any

import numpy as np

from proxycal import __version__
from proxycal.methods.exact.portrait import gate_of, spread_of
from proxycal.methods.registry import Prediction, method_named
from proxycal.questions.answers import Power, Refutation
from proxycal.report.data import (
    EnvironmentColumn,
    EstimateRow,
    GateRow,
    MixtureCurve,
    ReportData,
)
from proxycal.result import Calibration, FittedRows
from proxycal.table.audit import audit
from proxycal.table.columns import read_column
from proxycal.table.frames import to_pandas
from proxycal.table.wording import counted, rows_of

if TYPE_CHECKING:
    import pandas as pd

    from proxycal.finding import Finding
    from proxycal.methods.registry import Effects, Estimate, FittedMethod
    from proxycal.table.encode import Arrays, Encoder
    from proxycal.table.roles import Roles


# Pages and pictures need no more rows than this; a run folder of a large table stays small.
ROWS_SHOWN = 20_000
CALIBRATED = ("y_cal", "y_cal_low", "y_cal_high", "p_biased", "shift", "mu")
# Rows that are answered at a time. A table may be cut at any multiple of it without changing a digit.
BLOCK = 2048


def versions(method: str) -> dict[str, str]:
    """What a fit of that method was made with, package -> version."""
    found = {name: metadata.version(name) for name in method_named(method).libraries}
    return {"python": python_version(), "proxycal": __version__, **found}


def row_labels(frame: Any, roles: Roles) -> np.ndarray:
    """What each row is called: its id, or its index label; shape (N,), text.

    >>> import pandas as pd
    >>> from proxycal.table.roles import Roles
    >>> table = pd.DataFrame({"y": [1, 2], "p": [1, 2], "e": [1, 2], "county": ["01", "02"]})
    >>> row_labels(table, Roles("y", ["p"], ["e"], id="county")).tolist()
    ['01', '02']
    """
    if roles.id is not None:
        values = to_pandas(frame, [roles.id])[roles.id].tolist()
    else:
        values = to_pandas(frame).index.tolist()
    return np.array([str(value) for value in values], dtype=object)


def spread(columns: dict[str, np.ndarray], kept: np.ndarray) -> dict[str, np.ndarray]:
    """Answers (n,) for the kept rows of N put in their places; the others get NaN, None (text) or 0 (counts).

    >>> spread({"a": np.array([1.5])}, np.array([False, True]))["a"]
    array([nan, 1.5])
    """
    empty: dict[str, Any] = {"f": np.nan, "i": 0, "O": None}
    out = {}
    for name, values in columns.items():
        whole = np.full(len(kept), empty[values.dtype.kind], dtype=values.dtype)
        whole[kept] = values
        out[name] = whole
    return out


def gaps_text(frame: Any, kept: np.ndarray, what: str) -> str:
    """How many rows got no answer for their missing values, which came first, and what helps."""
    gone = ~kept
    return (
        f"{counted(int(gone.sum()), 'row')} of {len(kept)} had missing values and got no answer ({what} are "
        f"missing), {rows_of(gone, to_pandas(frame).index)}: fill the gaps, or fit with missing='impute'"
    )


def calibrated_columns(made: Prediction) -> dict[str, np.ndarray]:
    """The columns of `calibrate`."""
    values = (made.y_cal, made.low, made.high, made.p_biased, made.shift, made.mu)
    return dict(zip(CALIBRATED, values, strict=True))


def effect_columns(made: Effects, labels: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of `effects`; matches as text, nearest first, joined by "; "."""
    matched = np.empty(len(made.tau), dtype=object)
    distances = np.empty(len(made.tau), dtype=object)
    rows = zip(made.neighbours.tolist(), made.distances.tolist(), strict=True)
    for i, (positions, lengths) in enumerate(rows):
        matched[i] = "; ".join(labels[position] for position in positions if position >= 0)
        pairs = zip(positions, lengths, strict=True)
        distances[i] = "; ".join(f"{length:.6g}" for position, length in pairs if position >= 0)
    return {
        "tau": made.tau,
        "tau_abs": np.abs(made.tau),
        "n_matched": made.n_matched.astype(np.int64),
        "matched": matched,
        "distances": distances,
    }


def fitted_rows(
    frame: pd.DataFrame, roles: Roles, y_obs: np.ndarray, weights: np.ndarray, made: Prediction
) -> FittedRows:
    """The rows that a reader may look at, with their environment in the user's own values."""
    environment: dict[str, tuple[np.ndarray, tuple[str, ...] | None]] = {}
    for name in roles.environment:
        column = read_column(frame[name], name)
        if column.numbers is not None:
            environment[name] = (column.numbers, None)
        else:
            codes, levels = column.as_levels()
            environment[name] = (np.where(codes < 0, np.nan, codes.astype(np.float64)), levels)
    return FittedRows(
        y_obs=y_obs,
        y_cal=made.y_cal,
        y_low=made.low,
        y_high=made.high,
        mu=made.mu,
        p_biased=made.p_biased,
        weights=weights,
        environment=environment,
    )


def predicted(df: Any, encoder: Encoder, fitted: FittedMethod) -> tuple[Arrays, Prediction]:
    """The rows of a table as arrays, and the fit's answer for them."""
    arrays = encoder.transform(df, design=False)
    made = _in_blocks(arrays, fitted)
    if fitted.verdict != "bias found":
        # Data that were right must not be made worse: without a finding, what was reported stands.
        y_obs = _outcome(arrays)
        made = replace(made, y_cal=y_obs, low=y_obs, high=y_obs, shift=np.zeros_like(y_obs))
    return arrays, made


def calibrated(df: Any, encoder: Encoder, fitted: FittedMethod) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The columns of `calibrate` for all N rows of a table, and which rows (N,) have an answer."""
    arrays, made = predicted(df, encoder, fitted)
    return spread(calibrated_columns(made), arrays.kept), arrays.kept


def _in_blocks(arrays: Arrays, fitted: FittedMethod) -> Prediction:
    """The fit's answer, as many rows at a time whatever the table.

    The last digit of a product of matrices depends on their shapes. So every block has the same shape, the
    last one filled up with a row that is thrown away, and the answer for a row is the same in a whole table
    and in a piece of it. Memory stays that of one block, beside the answers.
    """
    first = np.unique(np.flatnonzero(arrays.kept) // BLOCK, return_index=True)[1]
    made = []
    for rows in np.split(np.arange(arrays.n), first[1:]):
        full = np.append(rows, np.full(BLOCK - len(rows), rows[-1]))
        one = fitted.predict(arrays.take(full))
        made.append({part.name: getattr(one, part.name)[: len(rows)] for part in fields(one)})
    return Prediction(**{name: np.concatenate([one[name] for one in made]) for name in made[0]})


def rows_shown(
    df: Any, arrays: Arrays, encoder: Encoder, fitted: FittedMethod, result: Calibration
) -> FittedRows:
    """The fitted rows for pages and pictures; of a large table a random part."""
    chosen = np.arange(arrays.n)
    if arrays.n > ROWS_SHOWN:
        rng = np.random.default_rng(result.settings.random_state)
        chosen = np.sort(rng.choice(arrays.n, ROWS_SHOWN, replace=False))
    frame = to_pandas(df).iloc[np.flatnonzero(arrays.kept)[chosen]]
    small, made = predicted(frame, encoder, fitted)
    return fitted_rows(frame, result.roles, _outcome(small), arrays.weights[chosen], made)


def _outcome(arrays: Arrays) -> np.ndarray:
    assert arrays.y is not None  # transform was asked for it
    return arrays.y


def table_findings(df: Any, roles: Roles, encoder: Encoder, method: str) -> list[Finding]:
    """What is wrong with the table, as far as a fit is still possible; what is in order is not repeated.

    An atom is no trouble for the exact method, whose models have one. Of a table that was read in pieces
    `df` is a sample, and what the encoder has counted over all rows goes first.
    """
    troubled = [one for one in audit(df, roles) if not one.ok and (one.topic != "atom" or method != "exact")]
    if encoder.rows_seen > len(df):
        counted_over_all = {one.topic for one in encoder.findings}
        troubled = [one for one in troubled if one.topic not in counted_over_all]
    topics = {one.topic for one in troubled}
    return troubled + [one for one in encoder.findings if one.topic not in topics]


def report_data(
    found: Calibration,
    rows: FittedRows,
    fitted: FittedMethod,
    training: Arrays,
    questions: dict[str, Refutation | Power],
) -> ReportData:
    """The one record that pages, pictures and the terminal read."""
    spread = spread_of(fitted, training, rows.y_obs - rows.mu)
    power = questions.get("power")
    roles, settings = found.roles, found.settings
    options = {"effect": settings.effect, "missing": settings.missing}
    if settings.method == "paper":
        options |= {f"paper.{name}": str(value) for name, value in settings.to_dict()["paper"].items()}
    return ReportData(
        verdict=found.verdict,
        method=settings.method,
        direction=settings.direction,
        level=settings.level,
        outcome=roles.outcome,
        proxies=tuple(roles.proxies),
        estimate=_estimate_row(found.estimate),
        estimates=tuple(_estimate_row(one) for one in found.estimates),
        share_biased=found.share_biased,
        findings=found.findings,
        y_obs=rows.y_obs,
        y_cal=rows.y_cal,
        y_low=rows.y_low,
        y_high=rows.y_high,
        mu=rows.mu,
        p_biased=rows.p_biased,
        weights=rows.weights,
        environment=tuple(EnvironmentColumn(name, *column) for name, column in rows.environment.items()),
        n_fitted=found.n,
        random_state=settings.random_state,
        sources={role: name for role, name in roles if role in ("weights", "cluster", "id", "truth")},
        settings=options,
        versions=found.versions,
        mixture=None if spread is None else MixtureCurve(spread.at, spread.unbiased, spread.biased),
        gate=tuple(
            GateRow(one.column, one.level, one.reference, one.odds, one.low, one.high)
            for one in gate_of(fitted, training, found.n, settings.level)
        ),
        refutations=tuple(answer for answer in questions.values() if isinstance(answer, Refutation)),
        power=power if isinstance(power, Power) else None,
    )


def _estimate_row(one: Estimate) -> EstimateRow:
    return EstimateRow(one.name, one.alpha, one.se, one.low, one.high, one.note)
