"""Several reports of one truth: the comparison on their differences, then the answer, with proxies if any."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.covariates import Covariates
from proxycal.engine.families.reports import Reports
from proxycal.engine.likelihood import scores
from proxycal.errors import TableError
from proxycal.methods.rates.climb import as_it_is
from proxycal.methods.rates.fit import sampled
from proxycal.methods.rates.inference import Independent
from proxycal.methods.reporters.answer import Fitted
from proxycal.methods.reporters.claims import Evidence, verdict_of
from proxycal.methods.reporters.describe import Described
from proxycal.methods.reporters.record import ReportsFit
from proxycal.methods.reporters.search import Candidate, Table, compare
from proxycal.methods.reporters.terms import Terms

if TYPE_CHECKING:
    from proxycal.engine.model import Model
    from proxycal.methods.reporters.claims import Reporter
    from proxycal.methods.reporters.search import Begin, Comparison
    from proxycal.scale.fit import EncodedPieces
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

# Rows with two reports or more that a comparison needs at least.
LEAST_ROWS = 20
# From how many rows that count as one on evidence is computed again.
ALIKE = 1.05
# Standard errors, and part, by which the size of a bias may change where proxies tell of the truth as well.
AGREES, AT_MOST = 2.0, 0.3


def fit_reports(arrays: Arrays, settings: Settings) -> ReportsFit:
    """The whole fit."""
    data = Data.of(arrays, settings.sign)
    comparison = compare(data.table(data.both))
    if comparison is not None and arrays.cluster is not None:
        data = replace(data, alike=data.effect(comparison.without))
        comparison = compare(data.table(data.both)) if data.alike > ALIKE else comparison
    if comparison is None:
        return ReportsFit.unfitted(settings.sign, settings.level)
    reporters = data.reporters(comparison, comparison.biased, settings.level)
    chosen = [j for j, reporter in enumerate(reporters, start=1) if reporter.found]
    answer = data.answer(comparison, tuple(chosen) or comparison.biased.shape.biased)
    evidence = Evidence(
        graded=comparison.graded,
        level=answer.shape.offset != "none",
        agreed=data.agreed,
        exact=answer.shape.exact,
        known=answer.shape.known,
        effect=data.alike,
        rows=float(data.w[data.both].sum()) / data.alike,
    )
    fitted, final = data.fitted(answer), data.reporters(comparison, answer, settings.level)
    return ReportsFit.of(
        reporters=tuple(one.answered(last) for one, last in zip(reporters, final, strict=True)),
        evidence=evidence,
        verdict=verdict_of(reporters, evidence),
        share_biased=float(np.average(fitted.truths(data.rows, data.reports).any, weights=data.w)),
        level=settings.level,
        fitted=fitted,
    )


def fit_reports_in_pieces(table: EncodedPieces, settings: Settings) -> ReportsFit:
    """Fit a table that is read in pieces: a sample of its rows says what there is to know."""
    return fit_reports(sampled(table.sample), settings)


@dataclass(frozen=True)
class Data:
    """Rows as the comparison sees them: reports (n, R) as given. alike : how many rows count as one."""

    arrays: Arrays
    reports: np.ndarray
    names: tuple[str, ...]
    rows: Covariates
    w: np.ndarray
    sign: float
    middle: float
    unit: float
    alike: float = 1.0

    @classmethod
    def of(cls, arrays: Arrays, sign: float) -> Data:
        """The rows, with an error's sd as the unit."""
        assert arrays.reports is not None
        reports, w = arrays.reports, arrays.weights
        seen = np.isfinite(reports)
        both = seen.sum(axis=1) > 1
        if both.sum() < LEAST_ROWS:
            raise TableError(
                f"only {int(both.sum())} rows have two reports or more, and a comparison of reporters needs "
                f"{LEAST_ROWS}: add rows in which several reports were made"
            )
        means = np.nanmean(reports, axis=1)
        left = np.where(seen, reports - means[:, None], 0.0)[both]
        degrees = w[both] @ (seen[both].sum(axis=1) - 1.0)
        unit = math.sqrt(float(w[both] @ (left**2).sum(axis=1)) / float(degrees))
        if unit == 0.0:
            raise TableError(
                f"columns {', '.join(map(repr, arrays.report_names))} (outcome) agree in every row: there is "
                "nothing that one report could tell of another; leave all but one of them out"
            )
        middle = float(np.average(sign * means, weights=w))
        return cls(arrays, reports, arrays.report_names, Covariates.of(arrays), w, sign, middle, unit)

    @property
    def both(self) -> np.ndarray:
        """Positions of the rows with two reports or more: a single one has no difference."""
        return np.flatnonzero(np.isfinite(self.reports).sum(axis=1) > 1)

    @property
    def everything(self) -> np.ndarray:
        """Positions of all rows."""
        return np.arange(len(self.w))

    @property
    def y(self) -> np.ndarray:
        """Reports in the units of the engine."""
        return (self.sign * self.reports - self.middle) / self.unit

    @property
    def agreed(self) -> float:
        """Share of the rows with two reports or more in which all are equal."""
        made = self.reports[self.both]
        same = np.nanmax(made, axis=1) == np.nanmin(made, axis=1)
        return float(np.average(same, weights=self.w[self.both]))

    def table(self, at: np.ndarray) -> Table:
        """The rows at some positions."""
        rows, y = self.rows.take(at), self.y[at]
        return Table(rows, y, self.w[at] / self.alike, Terms.learn(rows), step_of(y))

    def effect(self, candidate: Candidate) -> float:
        """How many rows of a cluster count as one: how much more their scores vary together than apart."""
        assert self.arrays.cluster is not None
        table = self.table(self.both)
        own = scores(candidate.fit.model, table.sample(candidate.fit.model), candidate.fit.theta)
        own = own * table.weights[:, None]
        codes = np.unique(self.arrays.cluster[self.both], return_inverse=True)[1]
        together = np.stack([np.bincount(codes, weights=column) for column in own.T])
        ratio = (together**2).sum(axis=1) / np.maximum((own**2).sum(axis=0), 1e-12)
        return max(float(np.median(ratio[(own**2).sum(axis=0) > 1e-9])), 1.0)

    def answer(self, comparison: Comparison, biased: tuple[int, ...]) -> Candidate:
        """The model that rows are answered with: of these biased reporters, with proxies that agree."""
        found = comparison.biased
        table = self.table(self.both)
        shape = found.shape
        for j in set(shape.biased) - set(biased):
            shape = shape.without(j)
        if shape != found.shape:
            fit = table.climb(shape, [as_it_is], found.fit)
            found = found if fit is None else Candidate(shape, fit)
        if not self.rows.P.shape[1]:
            return found
        whole = self.table(self.everything)
        shape = replace(found.shape, known=True)
        fit = whole.climb(shape, [_from_least_squares(whole)], found.fit)
        known = None if fit is None else Candidate(shape, fit)
        return found if known is None or not self._agree(found, known) else known

    def _agree(self, found: Candidate, known: Candidate) -> bool:
        """Whether proxies leave the sizes as the differences have them: else the truth is not as modelled."""
        for j in found.shape.biased:
            name = f"size{j}"
            before, after = (float(one.fit.coefficients(name)[0]) for one in (found, known))
            at = found.fit.model.at(name).start
            if abs(after - before) > min(AGREES * math.sqrt(found.fit.covariance[at, at]), AT_MOST):
                return False
        return bool(np.isfinite(known.fit.evidence))

    def fitted(self, candidate: Candidate) -> Fitted:
        """The model of a candidate, with the covariance of its coefficients by row or by cluster."""
        fit, cluster, counts = candidate.fit, self.arrays.cluster, self.arrays.counts
        at = self.everything if candidate.shape.known else self.both
        table = self.table(at)
        independent = Independent(
            None if cluster is None else cluster[at], None if counts is None else counts[at]
        )
        middle = independent.products(scores(fit.model, table.sample(fit.model), fit.theta), table.weights)
        middle += np.diag(fit.model.penalty(fit.ridges))
        covariance = fit.covariance @ middle @ fit.covariance
        return Fitted(fit.model, fit.theta.dense, covariance, self.sign, self.middle, self.unit)

    def reporters(self, comparison: Comparison, candidate: Candidate, level: float) -> tuple[Reporter, ...]:
        """What a candidate says of each reporter."""
        rows = Described.of(self.fitted(candidate), self.rows, self.reports, self.w)
        independent = Independent(self.arrays.cluster, self.arrays.counts)
        return rows.reporters(self.names, candidate.shape.biased, comparison.leads, level, independent)


def step_of(y: np.ndarray) -> float:
    """By how much reports (n, R) differ at least where they do not agree; 0 where no rows agree."""
    apart = np.nanmax(y, axis=1) - np.nanmin(y, axis=1)
    if not (apart == 0.0).any():
        return 0.0
    # The last digits of values on a grid are not those of their differences.
    gaps = np.diff(np.unique(y[np.isfinite(y)]))
    return float(gaps[gaps > 1e-9].min())


def _from_least_squares(table: Table) -> Begin:
    """From the regression of the mean report on the proxies, and equal errors."""

    def begin(model: Model, theta: np.ndarray) -> None:
        assert isinstance(model.family, Reports)
        y = np.nanmean(table.y, axis=1)
        place = model.at("mean")
        free = np.flatnonzero(model.prior[place] > 0.0)
        X = model.predictors[0].columns(table.rows)[:, free]
        root = np.sqrt(table.weights)
        beta = np.linalg.lstsq(X * root[:, None], y * root, rcond=1e-9)[0]
        theta[place.start + free] = beta
        left = float(np.sqrt(np.average((y - X @ beta) ** 2, weights=table.weights)))
        theta[model.at("spread").start] = math.log(max(left, 1e-3))
        for j in table.reporters[1:]:
            theta[model.at(f"scale{j}").start] = theta[model.at("scale1").start]

    return begin
