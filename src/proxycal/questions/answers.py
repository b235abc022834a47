"""Answers to questions put to a fit: frozen records with a plain table, a reading and a picture."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Refutation:
    """An attempt to break a fit, and how it ended.

    table : the fit itself and each refit, by what was changed: share, alpha, se, gain, share_biased, verdict,
    note. statistic, value : the one number it comes down to (NaN where there is none), in words and as such.
    reading : what that means. ok : whether the fit survived.
    """

    kind: str
    table: pd.DataFrame
    statistic: str
    value: float
    reading: str
    ok: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values; numbers that are not finite become None."""
        words = {"kind": self.kind, "ok": self.ok, "statistic": self.statistic, "reading": self.reading}
        return words | {"value": _or_none(self.value), "refits": _records(self.table)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Refutation:
        """The reverse of `to_dict`."""
        words = {name: str(values[name]) for name in ("kind", "statistic", "reading")}
        table = _table(values["refits"], "change")
        return cls(**words, table=table, value=_number(values["value"]), ok=bool(values["ok"]))

    def __str__(self) -> str:
        return f"{self.kind}: {'survived' if self.ok else 'REFUTED'}. {self.reading} ({self.statistic})"

    def _repr_html_(self) -> str:
        return f"<div><p>{html.escape(str(self))}</p>{self.table.to_html()}</div>"


@dataclass(frozen=True, slots=True)
class Power:
    """What size of bias a table could show, by size injected.

    table : by alpha (in sds of the bias-free outcome): size (own units), chance of "bias found" with low and
    high, mean_alpha and error (root mean square) in sds, coverage of the intervals, repetitions.
    detectable : the size found in 90% of cases, in sds; NaN if none of those tried was. sd : of the bias-free
    outcome. reading : the same in words.
    """

    table: pd.DataFrame
    detectable: float
    sd: float
    reading: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values; numbers that are not finite become None."""
        words = {"detectable": _or_none(self.detectable), "sd": self.sd, "reading": self.reading}
        return words | {"sizes": _records(self.table)}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Power:
        """The reverse of `to_dict`."""
        table = _table(values["sizes"], "alpha")
        return cls(table, _number(values["detectable"]), float(values["sd"]), str(values["reading"]))

    def plot(self, ax: Axes | None = None) -> Axes:
        """The chance of finding a bias, by its size."""
        from proxycal.questions.power_picture import power_curve

        t = self.table
        return power_curve(
            t.index.to_numpy(float),
            t["chance"].to_numpy(float),
            t["low"].to_numpy(float),
            t["high"].to_numpy(float),
            self.detectable,
            ax,
        )

    def __str__(self) -> str:
        return self.reading

    def _repr_html_(self) -> str:
        return f"<div><p>{html.escape(self.reading)}</p>{self.table.to_html()}</div>"


def answers_to_dict(answers: dict[str, Refutation | Power]) -> dict[str, Any]:
    """Questions asked of a fit so far, by name, as plain values."""
    return {name: one.to_dict() for name, one in sorted(answers.items())}


def answers_from_dict(values: dict[str, Any]) -> dict[str, Refutation | Power]:
    """The reverse of `answers_to_dict`."""
    return {
        name: Power.from_dict(one) if name == "power" else Refutation.from_dict(one)
        for name, one in values.items()
    }


def _table(records: list[dict[str, Any]], index: str) -> pd.DataFrame:
    """Records as they were before JSON: None is NaN in a column of numbers."""
    table = pd.DataFrame(records)
    for name in table.columns:
        if table[name].isna().all() or not table[name].map(lambda one: isinstance(one, str)).any():
            table[name] = pd.to_numeric(table[name])
    return table.set_index(index)


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    rows = table.reset_index().to_dict(orient="records")
    return [{str(k): _or_none(v) if isinstance(v, float) else v for k, v in row.items()} for row in rows]


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
