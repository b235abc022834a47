"""A number: normal noise of one or more components, a bias of one size, of sizes that vary, or of two sizes.

Turned so that the bias is upward, in units of the residual sd, with content m standardised:

    truth   y* = mean + s h d_j + s r_j noise      s = exp(scale), h = exp(skew), j = 0 has d = 0, r = 1
            P(j) ~ exp(w_j + v_j m): components follow content, never the environment
    who     A ~ Bernoulli(expit(who)), or expit(who + through (y* - mean) / s) where the true value itself
            decides too, or content that the proxies show with noise
    size    exp(size) exp(tau x - tau^2 / 2), x ~ N(0, 1): five bins of equal probability, each with its own
            mean and variance; without a spread all have one size
            a second size, `more` times the first, of a share expit(second) of the biased
    spike   y* is one value, such as zero, in some rows: a cell with a fixed centre and next to no width,
            whose weight follows content as those of components do; a bias moves it as it moves the others
    report  y = y* + size A, or the range `low` to `high` that a rounded report, a rating or a cap stands for

The predictors are mean, scale, skew, who, size, and then what has no terms of its own: spread, more, second,
d_j, r_j, w_j of each component, and spike_k for the weight of each spike.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import expit, log_expit, ndtr

from proxycal.engine.families.cells import Cell, Derivatives, log_sum, mixed
from proxycal.engine.families.densities import Density, of_point, of_report

BINS = 5
# Sd of a spike, in units of the residual sd. A wider one takes in neighbours, which move the distance of the
# two places that a biased spike is seen at.
SPIKE_SD = 0.005
# Log of a chance that is none, such as that of a trusted report to be biased.
_NEVER = -1e4
_CUTS = np.array(
    [-np.inf, -0.8416212335729143, -0.2533471031357997, 0.2533471031357997, 0.8416212335729143, np.inf]
)


@dataclass(frozen=True)
class Normal:
    """A normal outcome. components : of its noise. states : 0 without a bias, 1 for one size, 2 for two.

    spread : whether sizes vary around their predictor. spikes : values that many true outcomes hold.
    through : whether the true value itself decides who is biased; with sizes that do not vary.
    """

    components: int = 1
    states: int = 1
    spread: bool = False
    spikes: tuple[float, ...] = ()
    through: bool = False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the predictors, in order."""
        names = ["mean", "scale"]
        if self.components > 1:
            names.append("skew")
        if self.states:
            names += ["who", "size"]
        if self.states and self.through:
            names.append("through")
        if self.states and self.spread:
            names.append("spread")
        if self.states == 2:
            names += ["more", "second"]
        for j in range(1, self.components):
            names += [f"d{j}", f"r{j}", f"w{j}"]
        names += [f"spike{k}" for k in range(1, len(self.spikes) + 1)]
        return tuple(names)

    @cached_property
    def parts(self) -> range:
        """Numbers of the components, then of the spikes."""
        return range(self.components + len(self.spikes))

    @cached_property
    def weights(self) -> tuple[str, ...]:
        """Predictors of the weights of all parts but the first."""
        spikes = range(1, len(self.spikes) + 1)
        return (*(f"w{j}" for j in range(1, self.components)), *(f"spike{k}" for k in spikes))

    @cached_property
    def _at(self) -> dict[str, int]:
        return {name: at for at, name in enumerate(self.names)}

    @property
    def varies(self) -> bool:
        """Whether biased rows of the same predictors may have different sizes."""
        return self.spread or self.states == 2

    def unbiased_mean(self, eta: np.ndarray) -> np.ndarray:
        """Mean (n,) of the outcome without a bias."""
        make = _CellMaker(self, {"y": eta[0]}, eta, False)
        centres = [make.centre(j).value for j in self.parts]
        return np.asarray(sum(w * centre for w, centre in zip(make.weights[1], centres, strict=True)))

    def states_of(self, eta: np.ndarray) -> tuple[list[Part], list[Part]]:
        """Rows without a bias and with one as mixtures of normals: chance, centre, variance (n,) of each."""
        make = _CellMaker(self, {"y": eta[0]}, eta, False)
        weights, places = make.weights[1], self.parts
        free = [(weights[j], make.centre(j).value, make.variance(j).value) for j in places]
        if not self.states:
            return free, []
        p = expit(make.of("who"))
        biased = []
        for size in make.sizes():
            own = 0.0 if size.variance is None else size.variance.value
            biased += [
                (p * np.exp(size.log.value) * w, centre + size.shift.value, variance + own)
                for w, centre, variance in free
            ]
        return [((1.0 - p) * w, centre, variance) for w, centre, variance in free], biased

    def log_density(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> np.ndarray:
        """Log density (n,) of reports `y`."""
        return log_sum([cell.log for cell in self.cells(outcome, eta, derivatives=False)])[0]

    def derivatives(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> Derivatives:
        """The same with derivatives by the predictors."""
        return mixed(self.cells(outcome, eta), len(self.names))

    def cells(self, outcome: dict[str, np.ndarray], eta: np.ndarray, derivatives: bool = True) -> list[Cell]:
        """The cells of each row: all parts without a bias, then for each size all with it."""
        make = _CellMaker(self, outcome, eta, derivatives)
        if not self.states:
            return [make.cell(j, None) for j in self.parts]
        kinds = make.sizes()
        unbiased = [make.cell(j, None) for j in self.parts]
        return unbiased + [make.cell(j, kind) for kind in kinds for j in self.parts]

    def posterior(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> np.ndarray:
        """(3, n): P(biased), E[bias | row] and E[bias^2 | row]."""
        make = _CellMaker(self, outcome, eta, False)
        kinds = [None, *make.sizes()]
        cells = [(make.cell(j, kind), make.bias_of(j, kind)) for kind in kinds for j in self.parts]
        share = log_sum([cell.log for cell, _ in cells])[1]
        p = share[len(self.parts) :].sum(axis=0)
        mean = sum(r * bias[0] for r, (_, bias) in zip(share, cells, strict=True))
        square = sum(r * (bias[0] ** 2 + bias[1]) for r, (_, bias) in zip(share, cells, strict=True))
        return np.stack([p, mean, square])


# Chance, centre and variance of a normal part of the outcome, (n,) each.
Part = tuple[np.ndarray, np.ndarray, np.ndarray]
First = dict[int, np.ndarray]
Second = dict[tuple[int, int], np.ndarray]


@dataclass(slots=True)
class _Moves:
    """A quantity (n,) of a cell, with its first and second derivatives by the predictors."""

    value: np.ndarray
    first: First = field(default_factory=dict)
    second: Second = field(default_factory=dict)

    def plus(self, other: _Moves) -> _Moves:
        """The sum of two quantities that move with other predictors."""
        return _Moves(self.value + other.value, self.first | other.first, self.second | other.second)


@dataclass(frozen=True, slots=True)
class _Size:
    """One size of a bias: its log weight, what it adds to the mean, and to the variance."""

    log: _Moves
    shift: _Moves
    variance: _Moves | None = None


class _CellMaker:
    """Makes the cells of one set of rows."""

    def __init__(
        self, family: Normal, outcome: dict[str, np.ndarray], eta: np.ndarray, derivatives: bool
    ) -> None:
        self.family, self.y, self.eta, self.derivatives = family, outcome["y"], eta, derivatives
        self.ends = (outcome["low"], outcome["high"]) if "low" in outcome else None
        # Reports that are known to be free of the bias.
        self.trusted = outcome.get("trusted")
        self.at = family._at
        self.mean = self.of("mean")
        self.log_s = np.clip(self.of("scale"), -8.0, 6.0)
        self.s = np.exp(self.log_s)
        self.weights = self._weights()
        if family.components > 1:
            self.h = np.exp(np.clip(self.of("skew"), -3.0, 3.0))

    def of(self, name: str) -> np.ndarray:
        """A predictor (n,)."""
        return np.asarray(self.eta[self.at[name]])

    def _weights(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Log weights of the parts and the weights, n each."""
        logs = [np.zeros_like(self.mean), *(self.of(name) for name in self.family.weights)]
        total, share = log_sum(logs)
        return [log - total for log in logs], list(share)

    # --- the sizes of a bias ---

    def sizes(self) -> list[_Size]:
        """The sizes that a biased row may have, with their weights."""
        family = self.family
        first = self._bins() if family.spread else [self._one()]
        if family.states == 1:
            return first
        q, at = self.of("second"), self.at["second"]
        share = expit(q)
        curve = {(at, at): -share * (1.0 - share)}
        first = [
            replace(size, log=size.log.plus(_Moves(log_expit(-q), {at: -share}, curve))) for size in first
        ]
        return [*first, self._second(_Moves(log_expit(q), {at: 1.0 - share}, curve))]

    def _one(self) -> _Size:
        at, size = self.at["size"], np.exp(np.clip(self.of("size"), -4.0, 5.0))
        return _Size(_Moves(np.zeros_like(size)), _Moves(size, {at: size}, {(at, at): size}))

    def _second(self, log: _Moves) -> _Size:
        """The second size: (1.5 + exp(more)) times the first."""
        a, b = self.at["size"], self.at["more"]
        size, extra = np.exp(np.clip(self.of("size"), -4.0, 5.0)), np.exp(np.clip(self.of("more"), -3.0, 3.0))
        shift, part = size * (1.5 + extra), size * extra
        return _Size(log, _Moves(shift, {a: shift, b: part}, {(a, a): shift, (a, b): part, (b, b): part}))

    def _bins(self) -> list[_Size]:
        """Five sizes: the lognormal spread, each bin with its own mean and variance."""
        a, b = self.at["size"], self.at["spread"]
        size = np.exp(np.clip(self.of("size"), -4.0, 5.0))
        log_tau = np.clip(self.of("spread"), -5.0, 0.4)
        if np.ptp(log_tau) == 0.0:
            # The same for all rows, as it is without terms: once is enough.
            log_tau = log_tau[:1]
        even, square = np.full_like(size, -np.log(BINS)), size**2
        out = []
        for m, m1, m2, v, v1, v2 in zip(*bin_moments(np.exp(log_tau)), strict=True):
            curve = {(a, a): size * m, (a, b): size * m1, (b, b): size * m2}
            shift = _Moves(size * m, {a: size * m, b: size * m1}, curve)
            curve = {(a, a): 4.0 * square * v, (a, b): 2.0 * square * v1, (b, b): square * v2}
            variance = _Moves(square * v, {a: 2.0 * square * v, b: square * v1}, curve)
            out.append(_Size(_Moves(even), shift, variance))
        return out

    # --- one cell ---

    def centre(self, j: int) -> _Moves:
        """Centre of a component or a spike without a bias."""
        if j >= self.family.components:
            return _Moves(np.full_like(self.mean, self.family.spikes[j - self.family.components]))
        mean = self.at["mean"]
        centre = _Moves(self.mean, {mean: np.ones_like(self.mean)})
        if j == 0:
            return centre
        scale, skew, d = self.at["scale"], self.at["skew"], self.at[f"d{j}"]
        unit = self.s * self.h
        away = unit * self.of(f"d{j}")
        curve = dict.fromkeys(((scale, scale), (scale, skew), (skew, skew)), away)
        return centre.plus(
            _Moves(away, {scale: away, skew: away, d: unit}, curve | {(scale, d): unit, (skew, d): unit})
        )

    def variance(self, j: int) -> _Moves:
        """Variance of a component or a spike without a bias."""
        if j >= self.family.components:
            return _Moves(np.full_like(self.mean, SPIKE_SD**2))
        scale = self.at["scale"]
        if j == 0:
            v = self.s**2
            return _Moves(v, {scale: 2.0 * v}, {(scale, scale): 4.0 * v})
        r = self.at[f"r{j}"]
        v = (self.s * np.exp(np.clip(self.of(f"r{j}"), -4.0, 4.0))) ** 2
        curve = dict.fromkeys(((scale, scale), (scale, r), (r, r)), 4.0 * v)
        return _Moves(v, {scale: 2.0 * v, r: 2.0 * v}, curve)

    def bias_of(self, j: int, size: _Size | None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (n,) of the bias of a row of this cell, given its report."""
        none = np.zeros_like(self.mean)
        if size is None or size.variance is None:
            return (none if size is None else size.shift.value), none
        v0, own = self.variance(j).value, size.variance.value
        part = own / (v0 + own)
        return size.shift.value + part * (self.y - self.centre(j).value - size.shift.value), part * v0

    def cell(self, j: int, size: _Size | None) -> Cell:
        """Part j, without a bias or with one of this size."""
        c, v = self.centre(j), self.variance(j)
        if size is not None:
            c = c.plus(size.shift)
            v = v if size.variance is None else v.plus(size.variance)
        density = (
            of_point(self.y, c.value, v.value)
            if self.ends is None
            else of_report(*self.ends, c.value, v.value)
        )
        made = Cell(self.weights[0][j] + density.log)
        if self.derivatives:
            _add_density(made, density, c, v)
        if self.family.states:
            self._add_who(made, j, size)
        if size is not None:
            made.log = made.log + size.log.value
        if self.derivatives:
            self._add_weights(made, j, size)
        return made

    def _odds(self, j: int, size: _Size | None) -> _Moves:
        """Log odds of being biased, of a row whose true value is its report less a bias of this size."""
        who = self.at["who"]
        odds = _Moves(self.of("who"), {who: np.ones_like(self.mean)})
        # On a spike the true value is told by the spike's weight.
        if not self.family.through or j >= self.family.components:
            return odds
        mean, scale, through = self.at["mean"], self.at["scale"], self.at["through"]
        slope = self.of("through")
        shift = _Moves(np.zeros_like(self.mean)) if size is None else size.shift
        away = (self.y - shift.value - self.mean) / self.s
        by, step = slope / self.s, 1.0 / self.s
        first = {through: away, mean: -by, scale: -slope * away}
        second = {(mean, through): -step, (scale, through): -away, (mean, scale): by}
        second[scale, scale] = slope * away
        for a, value in shift.first.items():
            first[a] = -by * value
            second |= {(a, through): -step * value, (a, scale): by * value}
        second |= {key: -by * value for key, value in shift.second.items()}
        return odds.plus(_Moves(slope * away, first, second))

    def _add_who(self, cell: Cell, j: int, size: _Size | None) -> None:
        """The chance of being biased, or of not being so."""
        odds, biased = self._odds(j, size), size is not None
        chance = log_expit(odds.value if biased else -odds.value)
        if self.trusted is not None:
            chance = np.where(self.trusted, _NEVER if biased else 0.0, chance)
        cell.log = cell.log + chance
        if not self.derivatives:
            return
        p = expit(odds.value)
        if self.trusted is not None:
            p = np.where(self.trusted, float(biased), p)
        slope, curve = (1.0 - p if biased else -p), -p * (1.0 - p)
        for a, value in odds.first.items():
            cell.first[a] = slope * value + cell.first.get(a, 0.0)
            for b, other in odds.first.items():
                if a <= b:
                    cell.add(a, b, curve * value * other)
        for (a, b), value in odds.second.items():
            cell.add(a, b, slope * value)

    def _add_weights(self, cell: Cell, j: int, size: _Size | None) -> None:
        if size is not None:
            cell.first |= size.log.first
            for (a, b), value in size.log.second.items():
                cell.add(a, b, value)
        places = [self.at[name] for name in self.family.weights]
        share = self.weights[1]
        for k, at in enumerate(places, start=1):
            cell.first[at] = (1.0 if k == j else 0.0) - share[k]
            for other, further in enumerate(places[k - 1 :], start=k):
                cell.add(at, further, -share[k] * ((1.0 if other == k else 0.0) - share[other]))


def _add_density(cell: Cell, density: Density, c: _Moves, v: _Moves) -> None:
    """Derivatives of the density through its centre and variance."""
    for quantity, slope in ((c, density.c), (v, density.v)):
        for a, value in quantity.first.items():
            cell.first[a] = slope * value + cell.first.get(a, 0.0)
        for (a, b), value in quantity.second.items():
            cell.add(a, b, slope * value)
    for one, curve in ((c, density.cc), (v, density.vv)):
        for a, value in one.first.items():
            for b, further in one.first.items():
                if a <= b:
                    cell.add(a, b, curve * value * further)
    for a, value in c.first.items():
        for b, further in v.first.items():
            cell.add(a, b, (2.0 if a == b else 1.0) * density.cv * value * further)


def bin_moments(tau: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mean and variance (BINS, n) of exp(tau x - tau^2/2) in each bin, with two derivatives by log tau."""
    step = 1e-3
    at = [_moments(tau * np.exp(shift)) for shift in (-step, 0.0, step)]
    out: list[np.ndarray] = []
    for low, middle, high in zip(*at, strict=True):
        out += [middle, (high - low) / (2.0 * step), (high - 2.0 * middle + low) / step**2]
    return tuple(out)


def _moments(tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    cuts = _CUTS[:, None]
    mean = BINS * np.diff(ndtr(cuts - tau), axis=0)
    square = BINS * np.exp(tau**2) * np.diff(ndtr(cuts - 2.0 * tau), axis=0)
    return mean, np.maximum(square - mean**2, 1e-14)
