"""The two kinds of outcome: how a report is read by its family, compared, and answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.special import expit, ndtri

from proxycal.effect.calibrate import calibrate_turned
from proxycal.engine.families.binary import Binary
from proxycal.engine.families.counts import Counts
from proxycal.methods.rates import binary_search, counts_search
from proxycal.methods.rates.answer import CountAnswers, YesNoAnswers
from proxycal.methods.rates.quantiles import missed_quantile
from proxycal.methods.rates.validated import refuse_impossible

if TYPE_CHECKING:
    from proxycal.engine.content import Content
    from proxycal.engine.families.cells import Family
    from proxycal.methods.rates.answer import Answerer, RowAnswer
    from proxycal.methods.rates.climb import Comparison, Table
    from proxycal.methods.rates.validated import Validated
    from proxycal.table.encode import Arrays


class Kind(Protocol):
    """What counts and yes/no outcomes do differently."""

    @property
    def sign(self) -> float:
        """+1 for over-, -1 for under-reporting."""

    def outcome(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """What the family reads of rows."""

    def family(self, table: Table, content: Content) -> Family:
        """The family of the outcome without a report."""

    def compare(self, table: Table, family: Family, direct: bool) -> Comparison | None:
        """The best models with and without a report."""

    def known(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """What validation says of rows, as the family reads it."""

    def compare_validated(
        self, table: Table, family: Family, arrays: Arrays, validated: Validated
    ) -> Comparison | None:
        """The best models where truths are known."""

    def answers(self, family: Family) -> Answerer:
        """What turns predictors into answers."""

    def interval(
        self, answer: RowAnswer, y: np.ndarray, se: np.ndarray, level: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Interval (n,) of the truth of each row; se : (n,) error of its mean by the parameters."""


@dataclass(frozen=True, slots=True)
class CountKind:
    """A count."""

    sign: float

    def outcome(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """Reports, exposure and trusted rows."""
        assert arrays.y is not None
        exposure = np.zeros(arrays.n) if arrays.exposure is None else np.log(arrays.exposure)
        return {"y": arrays.y, "exposure": exposure} | trusted(arrays)

    def family(self, table: Table, content: Content) -> Counts:
        """Counts, with what the noise of the proxies leaves unknown of their mean."""
        return Counts(sign=self.sign, noise=counts_search.noise(table, content))

    def compare(self, table: Table, family: Family, direct: bool) -> Comparison | None:
        """The best models with and without a report."""
        assert isinstance(family, Counts)
        return counts_search.compare(table, family, direct)

    def compare_validated(
        self, table: Table, family: Family, arrays: Arrays, validated: Validated
    ) -> Comparison | None:
        """The best models where truths are known."""
        assert isinstance(family, Counts)
        if arrays.truth is not None:
            refuse_impossible(arrays, validated, self.sign)
        return counts_search.compare_validated(table, family, self.known(arrays))

    def known(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """True counts, and what was confirmed of what was checked."""
        return _validation(arrays)

    def answers(self, family: Family) -> Answerer:
        """What turns predictors into answers."""
        assert isinstance(family, Counts)
        return CountAnswers(family)

    def interval(
        self, answer: RowAnswer, y: np.ndarray, se: np.ndarray, level: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of the missed: never below the report. Of the true among too many: from 0 to the report."""
        p = np.where(answer.p > 1e-12, answer.p, 1.0)
        spread = answer.own + (se / p) ** 2
        if self.sign < 0.0:
            tail = 0.5 * (1.0 - level)
            ends = [missed_quantile(q, answer.p, answer.moved, spread) for q in (tail, 1.0 - tail)]
            return np.minimum(y + ends[0], answer.mean), np.maximum(y + ends[1], answer.mean)
        done = calibrate_turned(
            1.0, y, answer.p, -answer.moved, np.sqrt(spread), level, mu=y, z=y[:, None], a=y
        )
        return np.clip(done.y_cal_low, 0.0, answer.mean), np.clip(done.y_cal_high, answer.mean, y)


@dataclass(frozen=True, slots=True)
class YesNoKind:
    """A yes or no; turned so that what may be denied is 1."""

    sign: float

    def outcome(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """Reports and trusted rows."""
        assert arrays.y is not None
        return {"y": arrays.y if self.sign < 0.0 else 1.0 - arrays.y} | trusted(arrays)

    def family(self, table: Table, content: Content) -> Binary:
        """Yes and no: a probit that is known up to normal noise is a probit."""
        return Binary()

    def compare(self, table: Table, family: Family, direct: bool) -> Comparison | None:
        """The best models with and without a report."""
        return binary_search.compare(table, direct)

    def compare_validated(
        self, table: Table, family: Family, arrays: Arrays, validated: Validated
    ) -> Comparison | None:
        """The best models where truths are known."""
        return binary_search.compare_validated(table, self.known(arrays))

    def known(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """True answers, turned, and what was confirmed of what was checked."""
        parts = _validation(arrays)
        if self.sign > 0.0 and "truth" in parts:
            parts["truth"] = 1.0 - parts["truth"]
        return parts

    def answers(self, family: Family) -> Answerer:
        """What turns predictors into answers."""
        assert isinstance(family, Binary)
        return YesNoAnswers(family, self.sign > 0.0)

    def interval(
        self, answer: RowAnswer, y: np.ndarray, se: np.ndarray, level: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of the probability that the truth is yes, on the logit scale: it stays between 0 and 1."""
        p = np.clip(answer.mean, 1e-9, 1.0 - 1e-9)
        at, wide = np.log(p) - np.log1p(-p), ndtri(0.5 + 0.5 * level) * se / (p * (1.0 - p))
        low, high = expit(at - wide), expit(at + wide)
        return np.minimum(low, answer.mean), np.maximum(high, answer.mean)


def trusted(arrays: Arrays) -> dict[str, np.ndarray]:
    """Which rows are trusted, where the table says so."""
    return {} if arrays.trusted is None else {"trusted": arrays.trusted}


def _validation(arrays: Arrays) -> dict[str, np.ndarray]:
    """What a table has of validation."""
    parts = {"truth": arrays.truth, "checked": arrays.checked, "confirmed": arrays.confirmed}
    return {name: values for name, values in parts.items() if values is not None}


def kind_of(name: str, sign: float) -> Kind:
    """The kind of outcome of a method."""
    kind: Kind = CountKind(sign) if name == "counts" else YesNoKind(sign)
    return kind
