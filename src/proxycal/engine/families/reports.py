"""Several reports of one truth: each reporter has errors, some rows of each carry a bias.

    truth     T ~ N(mean, exp(spread)^2), or unknown altogether where nothing else tells of it
    exact     with expit(exact) all reporters tell the truth itself, so that all reports agree
    who       else A_j ~ Bernoulli(expit(who_j)), one for each reporter
    report    y_j = T + offset_j + sign_j exp(size_j) A_j + noise,  noise ~ N(0, exp(scale_j + more_j A_j)^2)

`more` lets sizes vary; a reporter of sign 0 with `more` has rows of wider errors and no bias.

A truth that is unknown altogether has a flat density, and drops out: what is left are the differences of the
reports, so that an unseen cause of the truth, however it follows the environment, cannot mislead. What all
reporters get wrong alike is not in the differences.

The first reporter has no offset: a level that differs for all rows of one reporter against the others.
Reports that are missing (NaN) say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, log_expit

from proxycal.engine.families.cells import Cell, Derivatives, log_sum, mixed

if TYPE_CHECKING:
    from collections.abc import Callable

# A part of a pattern's density: what is left of report j ("r", j), its log precision ("w", j), or log T.
Part = tuple[str, int]
LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Reports:
    """Several reports. signs : (R,) of each reporter's bias: +1, -1, or 0 for one without.

    known : whether the truth has a mean and a spread of its own, from proxies. wide : numbers, from 1, of
    reporters whose second state has errors of another spread. step : by how much reports differ at least
    where they do not agree exactly, where exact agreement is a state of its own; else 0. equal : whether all
    errors are of one spread, which is all that two reports of an unknown truth tell. floor : least log sd, so
    that no state shrinks to reports that agree.
    """

    signs: tuple[int, ...]
    known: bool = False
    wide: tuple[int, ...] = ()
    step: float = 0.0
    equal: bool = False
    floor: float = -12.0

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors, in order."""
        names = ["mean", "spread"] if self.known else []
        names += [f"offset{j}" for j in range(2, len(self.signs) + 1)]
        names += [f"scale{j}" for j in range(1, 1 + (1 if self.equal else len(self.signs)))]
        for j, sign in enumerate(self.signs, start=1):
            names += [f"who{j}"] if self.second(j) else []
            names += [f"size{j}"] if sign else []
            names += [f"more{j}"] if j in self.wide else []
        names += ["exact"] if self.step else []
        return tuple(names)

    def scale(self, j: int) -> str:
        """The predictor of the log sd of reporter j."""
        return "scale1" if self.equal else f"scale{j}"

    def second(self, j: int) -> bool:
        """Whether reporter j has a second state."""
        return self.signs[j - 1] != 0 or j in self.wide

    @cached_property
    def patterns(self) -> tuple[tuple[int, ...], ...]:
        """Who is biased: all combinations."""
        return tuple(product(*((0, 1) if self.second(j + 1) else (0,) for j in range(len(self.signs)))))

    def log_density(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> np.ndarray:
        """Log density (n,) of reports `y` (n, R)."""
        return log_sum([cell.cell(False).log for cell in self._cells(outcome, eta)])[0]

    def derivatives(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> Derivatives:
        """The same with derivatives by the predictors."""
        return mixed([cell.cell(True) for cell in self._cells(outcome, eta)], len(self.names))

    def truths(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> Truths:
        """The truth of rows, as a mixture over who is biased."""
        cells = self._cells(outcome, eta)
        share = log_sum([cell.cell(False).log for cell in cells])[1]
        # Of each cell, whether a reporter is biased: wider errors alone are no bias.
        who = np.array([cell.who for cell in cells]) * (np.array(self.signs) != 0)
        made = np.isfinite(outcome["y"])
        return Truths(
            share=share,
            centre=np.stack([cell.truth for cell in cells]),
            own=np.stack([cell.doubt for cell in cells]),
            biased=who.T.astype(float) @ share,
            any=(share * (who @ made.T > 0)).sum(axis=0),
        )

    def posterior(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> np.ndarray:
        """(2 + R, n): mean and variance of the truth, and P(biased) of each report."""
        known = self.truths(outcome, eta)
        return np.vstack([known.mean, known.variance, known.biased])

    def _cells(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> list[_Pattern | _Agreed]:
        cells: list[_Pattern | _Agreed] = [_Pattern(self, outcome["y"], eta, who) for who in self.patterns]
        return [*cells, _Agreed(self, outcome["y"], eta)] if self.step else cells


@dataclass(frozen=True, slots=True)
class Truths:
    """The truth of n rows as a mixture of c normal densities.

    share, centre, own : (c, n) weights, means and variances. biased : (R, n) P(biased) of each report.
    any : (n,) P(a report that was made is biased).
    """

    share: np.ndarray
    centre: np.ndarray
    own: np.ndarray
    biased: np.ndarray
    any: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """Mean (n,)."""
        return np.asarray((self.share * self.centre).sum(axis=0))

    @property
    def variance(self) -> np.ndarray:
        """Variance (n,)."""
        return np.asarray((self.share * (self.own + (self.centre - self.mean) ** 2)).sum(axis=0))


class _Pattern:
    """The reports where these reporters are biased.

    With w_j = exp(-2 scale_j), r_j what is left of report j, t and G mean and variance of the truth (about
    its mean) given them, and e_j = r_j - t:

        dl/dr_j     = -w_j e_j
        dl/dlog w_j = (1 - w_j (G + e_j^2)) / 2
        dl/dlog T   = ((G + t^2) / T - 1) / 2
    """

    def __init__(self, family: Reports, y: np.ndarray, eta: np.ndarray, who: tuple[int, ...]) -> None:
        self.family, self.eta, self.who = family, eta, who
        self.at = {name: place for place, name in enumerate(family.names)}
        self.seen = np.isfinite(y.T)
        scales = np.stack([self.of(family.scale(j)) + self.more(j) for j in self.reporters])
        self.w = np.where(self.seen, np.exp(-2.0 * np.clip(scales, family.floor, 12.0)), 0.0)
        r = np.where(self.seen, y.T, 0.0) - np.where(self.seen, self.expected(), 0.0)
        self.T = np.exp(2.0 * self.of("spread")) if family.known else np.full(len(y), np.inf)
        self.G = 1.0 / (1.0 / self.T + self.w.sum(axis=0))
        self.t = self.G * (self.w * r).sum(axis=0)
        self.r, self.e = r, r - self.t

    @property
    def reporters(self) -> range:
        """Numbers of the reporters, from 1."""
        return range(1, len(self.family.signs) + 1)

    def of(self, name: str) -> np.ndarray:
        """A predictor (n,)."""
        return np.asarray(self.eta[self.at[name]])

    def more(self, j: int) -> np.ndarray | float:
        """What the second state adds to the log scale of reporter j."""
        return self.of(f"more{j}") if self.who[j - 1] and j in self.family.wide else 0.0

    def bias(self, j: int) -> np.ndarray | float:
        """What reporter j adds where biased."""
        if not self.family.signs[j - 1]:
            return 0.0
        return self.family.signs[j - 1] * np.exp(np.clip(self.of(f"size{j}"), -8.0, 8.0))

    def expected(self) -> np.ndarray:
        """(R, n) what the reports are expected to be."""
        mean = self.of("mean") if self.family.known else np.zeros(self.eta.shape[1])
        made = []
        for j in self.reporters:
            offset = self.of(f"offset{j}") if j > 1 else 0.0
            made.append(mean + offset + (self.bias(j) if self.who[j - 1] else 0.0))
        return np.stack(made)

    @property
    def truth(self) -> np.ndarray:
        """Mean of the truth, given the reports."""
        return self.t + (self.of("mean") if self.family.known else 0.0)

    @property
    def doubt(self) -> np.ndarray:
        """Its variance."""
        return self.G

    def cell(self, derivatives: bool) -> Cell:
        """Log of the pattern's chance times the density of the reports."""
        with np.errstate(divide="ignore"):
            log_w = np.where(self.seen, np.log(np.where(self.seen, self.w, 1.0)), 0.0)
        # The flat density of a truth that is unknown altogether has no height: its log T is left out.
        level = np.log(self.T) if self.family.known else 0.0
        count = self.seen.sum(axis=0) - (0 if self.family.known else 1)
        quadratic = (self.w * self.r * self.e).sum(axis=0)
        log = 0.5 * (log_w.sum(axis=0) - level + np.log(self.G) - quadratic - count * LOG_2PI)
        cell = Cell(log)
        for j in self.reporters:
            if self.family.second(j):
                _add_choice(cell, self.who[j - 1], self.of(f"who{j}"), self.at[f"who{j}"], derivatives)
        if self.family.step:
            _add_choice(cell, 0, self.of("exact"), self.at["exact"], derivatives)
        if derivatives:
            self._add_density(cell)
        return cell

    def _add_density(self, cell: Cell) -> None:
        """Derivatives through what is left of each report, the log precisions and the log spread."""
        moves = self._moves()
        first, second = self._density()
        for a, by in moves.items():
            slope = [first[part] * value for part, value in by.items()]
            cell.first[a] = cell.first.get(a, 0.0) + np.sum(slope, axis=0)
            for b, further in moves.items():
                if a <= b:
                    pairs = product(by.items(), further.items())
                    cell.add(a, b, np.sum([second(p, q) * x * y for (p, x), (q, y) in pairs], axis=0))
        for j in self.reporters:
            if self.who[j - 1] and self.family.signs[j - 1]:
                at = self.at[f"size{j}"]
                cell.add(at, at, -first["r", j] * self.bias(j))

    def _moves(self) -> dict[int, dict[Part, np.ndarray | float]]:
        """How the parts move with the predictors."""
        moves: dict[int, dict[Part, np.ndarray | float]] = {}
        if self.family.known:
            moves[self.at["mean"]] = {("r", j): -1.0 for j in self.reporters}
            moves[self.at["spread"]] = {("T", 0): 2.0}
        for j in self.reporters:
            if j > 1:
                moves[self.at[f"offset{j}"]] = {("r", j): -1.0}
            moves.setdefault(self.at[self.family.scale(j)], {})["w", j] = -2.0
            if self.who[j - 1] and self.family.signs[j - 1]:
                moves[self.at[f"size{j}"]] = {("r", j): -self.bias(j)}
            if self.who[j - 1] and j in self.family.wide:
                moves[self.at[f"more{j}"]] = {("w", j): -2.0}
        return moves

    def _density(self) -> tuple[dict[Part, np.ndarray], Callable[[Part, Part], np.ndarray]]:
        """First derivatives by part, and a function for the second ones."""
        w, e, G, t, T = self.w, self.e, self.G, self.t, self.T
        first = {("T", 0): 0.5 * ((G + t * t) / T - 1.0)}
        for j in self.reporters:
            first["r", j] = -w[j - 1] * e[j - 1]
            first["w", j] = 0.5 * (self.seen[j - 1] - w[j - 1] * (G + e[j - 1] ** 2))

        def second(p: Part, q: Part) -> np.ndarray:
            (kind, j), (other, k) = sorted((p, q))
            same = float(j == k)
            if kind == "T":
                slope = {"T": G * G / T + 2.0 * t * G * t / T - (G + t * t), "r": 2.0 * t * G * w[k - 1],
                         "w": G * w[k - 1] * (2.0 * t * e[k - 1] - G)}[other]  # fmt: skip
                return 0.5 * slope / T
            x, y = w[j - 1], w[k - 1]
            if (kind, other) == ("r", "r"):
                return -same * x + x * y * G
            if (kind, other) == ("r", "w"):
                return -same * x * e[j - 1] + x * y * G * e[k - 1]
            both = x * y * (0.5 * G * G + G * e[j - 1] * e[k - 1])
            return -0.5 * same * x * (G + e[j - 1] ** 2) + both

        return first, second


class _Agreed:
    """The reports of rows in which every reporter tells the truth itself: all that were made are equal.

    With m of them, each but the first agrees within a step, which has the density step^-1; the density of the
    first is that of the truth.
    """

    def __init__(self, family: Reports, y: np.ndarray, eta: np.ndarray) -> None:
        self.family, self.eta = family, eta
        self.at = {name: place for place, name in enumerate(family.names)}
        self.who = (0,) * len(family.signs)
        self.seen = np.isfinite(y)
        first = np.argmax(self.seen, axis=1)
        self.truth = y[np.arange(len(y)), first]
        self.same = (~self.seen | (y == self.truth[:, None])).all(axis=1)
        self.doubt = np.zeros(len(y))

    def cell(self, derivatives: bool) -> Cell:
        """Log of the chance that all are exact times the density of the reports."""
        family = self.family
        further = self.seen.sum(axis=1) - 1.0
        log = np.where(self.same, -further * np.log(family.step), -np.inf)
        cell = Cell(log)
        if family.known:
            mean, spread = (self.eta[self.at[name]] for name in ("mean", "spread"))
            w = np.exp(-2.0 * spread)
            e = self.truth - mean
            cell.log = log - spread - 0.5 * w * e * e - 0.5 * LOG_2PI
            if derivatives:
                at, by = self.at["mean"], self.at["spread"]
                cell.first |= {at: w * e, by: w * e * e - 1.0}
                cell.add(at, at, -w)
                cell.add(at, by, -2.0 * w * e)
                cell.add(by, by, -2.0 * w * e * e)
        _add_choice(cell, 1, self.eta[self.at["exact"]], self.at["exact"], derivatives)
        return cell


def _add_choice(cell: Cell, chosen: int, odds: np.ndarray, at: int, derivatives: bool) -> None:
    """The chance that a state is, or is not, chosen."""
    cell.log = cell.log + log_expit(odds if chosen else -odds)
    if derivatives:
        p = expit(odds)
        cell.first[at] = 1.0 - p if chosen else -p
        cell.add(at, at, -p * (1.0 - p))
