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

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit, log_expit

from proxycal.engine.families.bins import BINS, bin_moments
from proxycal.engine.families.densities import Density, of_point, of_report
from proxycal.engine.families.moments import ONE, Curve, Move, Moves, chances, in_kinds, summed, together

if TYPE_CHECKING:
    from proxycal.engine.families.cells import Derivatives

# Sd of a spike, in units of the residual sd. A wider one takes in neighbours, which move the distance of the
# two places that a biased spike is seen at.
SPIKE_SD = 0.005
# Log of a chance that is none, such as that of a trusted report to be biased.
_NEVER = -1e4


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
        rows = _Rows(self, {"y": eta[0]}, eta)
        return np.asarray((rows.weight * rows.centre).sum(axis=0))

    def states_of(self, eta: np.ndarray) -> tuple[list[Part], list[Part]]:
        """Rows without a bias and with one as mixtures of normals: chance, centre, variance (n,) of each."""
        rows = _Rows(self, {"y": eta[0]}, eta)
        free = list(zip(rows.weight, rows.centre, rows.variance, strict=True))
        if not self.states:
            return free, []
        p = expit(rows.of("who"))
        biased = []
        for at, shift in enumerate(rows.shift):
            own = 0.0 if rows.own is None else rows.own[at]
            chance = p if rows.log_kind is None else p * np.exp(rows.log_kind[at])
            biased += [(chance * w, centre + shift, variance + own) for w, centre, variance in free]
        return [((1.0 - p) * w, centre, variance) for w, centre, variance in free], biased

    def log_density(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> np.ndarray:
        """Log density (n,) of reports `y`."""
        return _Rows(self, outcome, eta).shares()[0]

    def derivatives(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> Derivatives:
        """The same with derivatives by the predictors."""
        rows = _Rows(self, outcome, eta)
        log, share = rows.shares()
        moves = rows.component_moves(), rows.size_moves()
        if self.through and self.states:
            return together(
                log, share, rows.density, moves, chances(*rows.odds, outcome.get("trusted")), len(self.names)
            )
        return summed(log, share, rows.density, *moves, len(self.names))

    def posterior(self, outcome: dict[str, np.ndarray], eta: np.ndarray) -> np.ndarray:
        """(3, n): P(biased), E[bias | row] and E[bias^2 | row]."""
        rows = _Rows(self, outcome, eta)
        share = rows.shares()[1][1:]
        mean, variance = rows.bias()
        return np.stack(
            [each.sum(axis=(0, 1)) for each in (share, share * mean, share * (mean**2 + variance))]
        )


# Chance, centre and variance of a normal part of the outcome, (n,) each.
Part = tuple[np.ndarray, np.ndarray, np.ndarray]


class _Rows:
    """Rows with their cells: S kinds of row (not biased, then each size of a bias) times K parts.

    Parts are J components, then spikes. Centre and variance of a cell are sums of those of its part, (K, n),
    and of what its size adds, (S - 1, n).
    """

    def __init__(self, family: Normal, outcome: dict[str, np.ndarray], eta: np.ndarray) -> None:
        self.family, self.outcome, self.eta, self.at = family, outcome, eta, family._at
        self.J, n = family.components, eta.shape[1]
        self.K = len(family.parts)
        s = np.exp(np.clip(self.of("scale"), -8.0, 6.0))
        self.variance, self.centre = np.full((self.K, n), SPIKE_SD**2), np.empty((self.K, n))
        self.centre[: self.J], self.centre[self.J :] = self.of("mean"), np.reshape(family.spikes, (-1, 1))
        self.variance[0], self.s = s * s, s
        if self.J > 1:
            self.unit = s * np.exp(np.clip(self.of("skew"), -3.0, 3.0))
            self.away = self.unit * self.each("d")
            self.centre[1 : self.J] += self.away
            np.square(s * np.exp(np.clip(self.each("r"), -4.0, 4.0)), out=self.variance[1 : self.J])
        self._weigh()
        self.of_sizes = Moves()
        if family.states:
            self._sizes()

    def _weigh(self) -> None:
        """Weights (K, n) of the parts and their logarithms."""
        n = self.eta.shape[1]
        if self.K == 1:
            self.log_weight, self.weight = np.zeros((1, n)), np.ones((1, n))
            return
        logs = np.vstack([np.zeros(n), *(self.of(name) for name in self.family.weights)])
        top = logs.max(axis=0)
        weights = np.exp(logs - top)
        total = weights.sum(axis=0)
        self.log_weight, self.weight = logs - (top + np.log(total)), weights / total

    def of(self, name: str) -> np.ndarray:
        """A predictor (n,)."""
        return np.asarray(self.eta[self.at[name]])

    def each(self, name: str) -> np.ndarray:
        """A predictor of each component but the first, (J - 1, n)."""
        begin = self.at[name + "1"]
        return np.asarray(self.eta[begin : begin + 3 * (self.J - 1) : 3])

    @cached_property
    def density(self) -> Density:
        """Of the reports in each cell, (S, K, n), or (1, K, n) where it is the same for all sizes."""
        centre, variance = self.centre[None], self.variance[None]
        if self.family.states:
            centre = np.concatenate([centre, centre + self.shift[:, None]])
            if self.own is not None:
                variance = np.concatenate([variance, variance + self.own[:, None]])
        if "low" in self.outcome:
            return of_report(self.outcome["low"], self.outcome["high"], centre, variance)
        return of_point(self.outcome["y"], centre, variance)

    def shares(self) -> tuple[np.ndarray, np.ndarray]:
        """Log density (n,) of each row, and what each cell has of it, (S, K, n)."""
        log = self.density.log
        if self.K > 1:
            log = log + self.log_weight
        if self.family.states:
            log = log + self._chances()
        if log.shape[:2] == (1, 1):
            return log[0, 0], np.ones_like(log)
        top = log.max(axis=(0, 1))
        share = np.exp(log - top)
        total = share.sum(axis=(0, 1))
        share /= total
        return top + np.log(total), share

    def _chances(self) -> np.ndarray:
        """Log chance of each kind of row, (S, 1, n), or (S, K, n) where the true value decides it too."""
        odds = self.odds[0] if self.family.through else self.of("who")[None, None]
        yes = log_expit(odds)
        no = yes[:1] - odds[:1]
        if "trusted" in self.outcome:
            trusted = self.outcome["trusted"]
            no, yes = np.where(trusted, 0.0, no), np.where(trusted, _NEVER, yes)
        out = np.empty((len(self.shift) + 1, *yes.shape[1:]))
        out[:1] = no
        out[1:] = yes[1:] if self.family.through else yes
        if self.log_kind is not None:
            out[1:] += self.log_kind[:, None]
        return out

    def bias(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the bias of a biased row of each cell, given its report; (S - 1, K, n)."""
        mean = np.repeat(self.shift[:, None], self.K, axis=1)
        if self.own is None:
            return mean, np.zeros_like(mean)
        part = self.own[:, None] / (self.variance + self.own[:, None])
        return mean + part * (self.outcome["y"] - self.centre - mean), part * self.variance

    # --- the sizes of a bias ---

    def _sizes(self) -> None:
        """What each size adds to the centre and the variance, its log weight, and how they move."""
        family = self.family
        size = np.exp(np.clip(self.of("size"), -4.0, 5.0))
        at = self.at["size"]
        self.own: np.ndarray | None = None
        self.log_kind: np.ndarray | None = None
        if family.spread:
            self._bins(size)
        else:
            self.shift = size[None]
        if family.states == 2:
            self._second(size)
        part, twice = (1, len(self.shift) + 1), None if self.own is None else 2.0 * self.own
        self.of_sizes.moves.append(Move(at, part, c=self.shift, v=twice))
        four = None if twice is None else 2.0 * twice
        self.of_sizes.curves.append(Curve(at, at, part, c=self.shift, v=four))

    def _bins(self, size: np.ndarray) -> None:
        """Five sizes: the lognormal spread, each bin with its own mean and variance."""
        a, b = self.at["size"], self.at["spread"]
        log_tau = np.clip(self.of("spread"), -5.0, 0.4)
        if np.ptp(log_tau) == 0.0:
            # The same for all rows, as it is without terms: once is enough.
            log_tau = log_tau[:1]
        m, m1, m2, v, v1, v2 = bin_moments(np.exp(log_tau))
        square = size**2
        self.shift, self.own = size * m, square * v
        self.log_kind = np.full((BINS, 1), -np.log(BINS))
        part = (1, BINS + 1)
        by_c, by_v = size * m1, square * v1
        self.of_sizes.moves.append(Move(b, part, c=by_c, v=by_v))
        self.of_sizes.curves += [
            Curve(a, b, part, c=by_c, v=2.0 * by_v),
            Curve(b, b, part, c=size * m2, v=square * v2),
        ]

    def _second(self, size: np.ndarray) -> None:
        """The second size: (1.5 + exp(more)) times the first, of a share of the biased."""
        a, b, at, q = self.at["size"], self.at["more"], self.at["second"], self.of("second")
        part = (len(self.shift) + 1, len(self.shift) + 2)
        extra = np.exp(np.clip(self.of("more"), -3.0, 3.0))
        by = (size * extra)[None]
        self.shift = np.vstack([self.shift, size * (1.5 + extra)])
        if self.own is not None:
            self.own = np.vstack([self.own, np.zeros_like(size)])
        yes, share = log_expit(q), expit(q)
        even = 0.0 if self.log_kind is None else self.log_kind
        self.log_kind = np.vstack([np.broadcast_to(yes - q + even, (part[0] - 1, len(q))), yes])
        g = np.vstack([np.broadcast_to(-share, (part[0] - 1, len(q))), 1.0 - share])
        self.of_sizes.moves += [Move(b, part, c=by), Move(at, (1, part[1]), g=g)]
        self.of_sizes.curves += [
            Curve(a, b, part, c=by),
            Curve(b, b, part, c=by),
            Curve(at, at, (1, part[1]), g=np.broadcast_to(-share * (1.0 - share), g.shape)),
        ]

    def size_moves(self) -> Moves:
        """How the sizes move with the predictors, and who has one."""
        if not self.family.states or self.family.through:
            return self.of_sizes
        at, p = self.at["who"], expit(self.of("who"))
        count = len(self.shift) + 1
        g = np.empty((count, len(p)))
        g[0] = -p
        g[1:] = 1.0 - p
        if "trusted" in self.outcome:
            g[:, self.outcome["trusted"]] = 0.0
            p = np.where(self.outcome["trusted"], 0.0, p)
        made = Moves([Move(at, (0, count), g=g), *self.of_sizes.moves], list(self.of_sizes.curves))
        made.alike[at, at] = -p * (1.0 - p)
        return made

    @cached_property
    def odds(self) -> tuple[np.ndarray, dict[int, np.ndarray], dict[tuple[int, int], np.ndarray]]:
        """Log odds (S, K, n) of being biased where the true value decides it too, and how they move.

        The true value is the report less the size. On a spike it is told by the spike's weight.
        """
        at, slope, step = self.at, self.of("through"), 1.0 / self.s
        mean, scale, through, by = at["mean"], at["scale"], at["through"], slope * step
        S, n = len(self.shift) + 1, len(step)
        away = np.empty((S, n))
        away[0] = (self.outcome["y"] - self.of("mean")) * step
        away[1:] = away[0] - self.shift * step
        first = {through: away, mean: -by, scale: -slope * away}
        second = {
            (mean, through): -step,
            (scale, through): -away,
            (mean, scale): by,
            (scale, scale): slope * away,
        }
        for move in self.of_sizes.moves:
            if move.c is not None:
                value = in_kinds(move.c, move.part, (S, n))
                first[move.at] = -by * value
                second |= {(move.at, through): -step * value, (scale, move.at): by * value}
        for curve in self.of_sizes.curves:
            if curve.c is not None:
                second[curve.a, curve.b] = -by * in_kinds(curve.c, curve.part, (S, n))

        def spread_out(value: np.ndarray) -> np.ndarray:
            whole = np.zeros((S, self.K, n))
            whole[:, : self.J] = value[:, None] if value.ndim == 2 else value
            return whole

        moved = {place: spread_out(value) for place, value in first.items()} | {
            at["who"]: np.ones((S, self.K, n))
        }
        bent = {(min(key), max(key)): spread_out(value) for key, value in second.items()}
        return self.of("who") + spread_out(slope * away), moved, bent

    # --- components and spikes ---

    def component_moves(self) -> Moves:
        """How the components move with the predictors, and the weights of all parts."""
        at, J, all_of = self.at, self.J, (0, self.J)
        scale, twice = at["scale"], 2.0 * self.variance[:J]
        four = 2.0 * twice
        made = Moves([Move(at["mean"], all_of, c=ONE), Move(scale, all_of, v=twice)])
        made.curves.append(Curve(scale, scale, all_of, v=four))
        if J > 1:
            skew, late, away = at["skew"], (1, J), self.away
            # Of the scale and the skew, what moves centres of components but the first.
            made.moves[1] = Move(scale, all_of, c=np.vstack([np.zeros_like(away[:1]), away]), v=twice)
            made.moves.append(Move(skew, late, c=away))
            both = ((scale, scale), (scale, skew), (skew, skew))
            made.curves += [Curve(a, b, late, c=away) for a, b in both]
        for j in range(1, J):
            part, d, r, unit = (j, j + 1), at[f"d{j}"], at[f"r{j}"], self.unit[None]
            made.moves += [Move(d, part, c=unit), Move(r, part, v=twice[j : j + 1])]
            made.curves += [
                Curve(scale, d, part, c=unit),
                Curve(skew, d, part, c=unit),
                Curve(scale, r, part, v=four[j : j + 1]),
                Curve(r, r, part, v=four[j : j + 1]),
            ]
        self._add_weights(made)
        return made

    def _add_weights(self, made: Moves) -> None:
        places = [self.at[name] for name in self.family.weights]
        for k, at in enumerate(places, start=1):
            g = np.repeat(-self.weight[k : k + 1], self.K, axis=0)
            g[k] += 1.0
            made.moves.append(Move(at, (0, self.K), g=g))
            for other, further in enumerate(places[k - 1 :], start=k):
                made.alike[at, further] = -self.weight[k] * (float(k == other) - self.weight[other])
