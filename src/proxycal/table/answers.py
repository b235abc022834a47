"""Between arrays and frames: what a fit keeps of its table, and answers laid over the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from proxycal.errors import SettingsError
from proxycal.result import EnvironmentColumn
from proxycal.table.audit import audit
from proxycal.table.columns import read_column
from proxycal.table.frames import answer, to_pandas
from proxycal.table.training import keep
from proxycal.table.trusted import trust
from proxycal.table.wording import counted, rows_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from proxycal.result import BiasShape, Effects, Estimate, Finding, Fit, Prediction
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays, Encoder
    from proxycal.table.roles import Roles

# Pages and pictures need no more rows than this; the run folder of a large table stays small.
ROWS_SHOWN = 20_000


@dataclass(frozen=True, slots=True)
class Described:
    """What a fit keeps of its table beside the arrays.

    labels : (n,) what each fitted row is called. training : the rows kept for questions.
    shown : positions of the rows that pages show; y_obs, environment : of these, in the user's own values.
    findings : what is wrong with the table.
    """

    labels: np.ndarray
    y_obs: np.ndarray
    shown: NDArray[np.intp]
    training: Arrays
    environment: tuple[EnvironmentColumn, ...]
    findings: tuple[Finding, ...]


def describe(
    frame: Any,
    encoder: Encoder,
    arrays: Arrays,
    settings: Settings,
    allowed: Collection[str] = (),
    named: Any = None,
) -> Described:
    """What to keep of the table of a fit.

    frame, arrays : the fitted rows, as they are and encoded. settings : their seed chooses the rows shown.
    allowed : topics of findings that the method's models allow for. named : the frame whose index names the
    rows, where that is another.
    """
    assert arrays.y is not None  # a fit has its outcome
    table = to_pandas(frame)
    kept = np.flatnonzero(arrays.kept)
    shown = np.arange(len(kept))
    seed = settings.random_state
    if len(kept) > ROWS_SHOWN:
        shown = np.sort(np.random.default_rng(seed).choice(len(kept), ROWS_SHOWN, replace=False))
    labels = row_labels(table if named is None else named, encoder.roles)
    return Described(
        labels=labels[arrays.kept],
        y_obs=arrays.y[shown],
        shown=shown,
        training=keep(arrays, seed),
        environment=_environment(table.iloc[kept[shown]], encoder.roles),
        findings=(*_findings(table, encoder, settings, allowed), *trust(arrays, encoder.roles)),
    )


def row_labels(frame: Any, roles: Roles) -> np.ndarray:
    """What each row is called: its id, or its index label; shape (N,), text.

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


def laid_out(frame: Any, columns: dict[str, np.ndarray], kept: np.ndarray) -> Any:
    """Answers (n,) for the kept rows of a table, as a frame of its kind and index."""
    return answer(frame, spread(columns, kept))


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


def effect_columns(effects: Effects, labels: np.ndarray) -> dict[str, np.ndarray]:
    """The columns of `effects`; matches as text, nearest first, joined by "; "."""
    matched = np.empty(len(effects.tau), dtype=object)
    distances = np.empty(len(effects.tau), dtype=object)
    rows = zip(effects.neighbours.tolist(), effects.distances.tolist(), strict=True)
    for i, (positions, lengths) in enumerate(rows):
        matched[i] = "; ".join(labels[position] for position in positions if position >= 0)
        pairs = zip(positions, lengths, strict=True)
        distances[i] = "; ".join(f"{length:.6g}" for position, length in pairs if position >= 0)
    return {
        "tau": effects.tau,
        "tau_abs": np.abs(effects.tau),
        "n_matched": effects.n_matched.astype(np.int64),
        "matched": matched,
        "distances": distances,
    }


def latent_columns(roles: Roles, predicted: Prediction) -> dict[str, np.ndarray]:
    """What `latents` shows: content and bias score, or P(biased) of each of several reports."""
    if not roles.reports:
        return predicted.latents()
    return {f"p_biased_{name}": predicted.z[:, j] for j, name in enumerate(roles.report_names)}


def reporters_frame(fit: Fit) -> pd.DataFrame:
    """A row per reporter of a fit that has some, the one who is off most first."""
    table = getattr(fit.method_fit, "reporters_table", None)
    if table is None:
        raise SettingsError(
            "this fit has no reporters: name several reports of the same truth in the role outcome, and fit "
            "again"
        )
    return pd.DataFrame(table.columns())


def estimates_frame(estimates: Sequence[Estimate], sign: float | None = None) -> pd.DataFrame:
    """A row per estimator: alpha, se, low, high, note; with the sign of a factor, its ratio too."""
    rows = [(row.alpha, row.se, row.low, row.high, row.note) for row in estimates]
    names = pd.Index([row.name for row in estimates], name="estimator")
    table = pd.DataFrame(rows, columns=["alpha", "se", "low", "high", "note"], index=names)
    if sign is not None:
        ratios = pd.DataFrame([row.ratio(sign) for row in estimates], index=names)
        table = table.assign(ratio=ratios[0], ratio_low=ratios[1], ratio_high=ratios[2])
        table = table[[*(name for name in table.columns if name != "note"), "note"]]
    return table


def shapes_frame(shapes: Sequence[BiasShape], encoder: Encoder) -> pd.DataFrame:
    """A row per level, or per place along a number: column, at, bias, low, high, relative_to."""
    parts = []
    for shape in shapes:
        at: Any = encoder.environment_values(shape.column, shape.at)
        if shape.levels is not None:
            at = list(shape.levels)
        values = {"bias": shape.bias, "low": shape.low, "high": shape.high}
        part = pd.DataFrame({"column": shape.column, "at": pd.Series(at, dtype=object), **values})
        parts.append(part.assign(relative_to=shape.relative_to))
    return pd.concat(parts, ignore_index=True)


def _environment(table: pd.DataFrame, roles: Roles) -> tuple[EnvironmentColumn, ...]:
    columns = []
    for name in roles.environment:
        column = read_column(table[name], name)
        if column.numbers is not None:
            columns.append(EnvironmentColumn(name, column.numbers))
        else:
            codes, levels = column.as_levels()
            values = np.where(codes < 0, np.nan, codes.astype(np.float64))
            columns.append(EnvironmentColumn(name, values, levels))
    return tuple(columns)


def _findings(
    table: pd.DataFrame, encoder: Encoder, settings: Settings, allowed: Collection[str]
) -> list[Finding]:
    """What is wrong with the table, as far as a fit is still possible; what is in order is not repeated.

    Of a table that was read in pieces `table` is a sample, and what the encoder has counted over all rows
    goes first.
    """
    troubled = [
        finding
        for finding in audit(table, encoder.roles, settings)
        if not finding.ok and finding.topic not in allowed
    ]
    if encoder.rows_seen > len(table):
        over_all = {finding.topic for finding in encoder.findings}
        troubled = [finding for finding in troubled if finding.topic not in over_all]
    topics = {finding.topic for finding in troubled}
    return troubled + [finding for finding in encoder.findings if finding.topic not in topics]
