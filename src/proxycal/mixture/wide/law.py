"""What a wider model may look like, and where its parameters stand.

With m the standardised content index, report states a (0 = unbiased) and components j of the content,

    mean = x'b + s_i d_j + k_j m + [alpha_a + delta m] for a > 0        s_i = exp(tau'(E, m))
    var  = (sigma_j s_i)^2 + omega_a^2 for a > 0
    gate = softmax in (1, E), (1, E, m), (1, m), or logistic in (1, E, true outcome)
    weights = softmax(c_j + v_j m), never E

What makes a second group a reporting bias, and not content, is that E decides who is in it. So weights follow
content alone, and a model with a bias whose gate leaves E out counts as one without a bias.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammainc, gammaincinv, ndtr, ndtri

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# Ends of the bins that stand for a gamma law, as shares: of sizes, and of skewed noise, whose steep edge
# shows in the rows where its scale is large. The last are short, since they are the widest.
SIZE_BINS = (0.0, 0.25, 0.5, 0.75, 0.92, 1.0)
NOISE_BINS = (0.0, 0.06, 0.14, 0.24, 0.36, 0.48, 0.6, 0.72, 0.82, 0.9, 0.96, 0.99, 1.0)


# What is said of a bias of two and of three sizes.
SIZES_IN_WORDS = {
    2: "there are three states: unbiased, a smaller and a larger bias",
    3: "there are four states: unbiased and three sizes of bias",
}


@dataclass(frozen=True, slots=True)
class Law:
    """One wider model.

    states : sizes of the bias (0: no bias). components : of the content. gate : what decides who is biased,
    of "E", "Q" (products of E), "m" and "y" (the true outcome): "E", "E Q", "E m", "E Q m", "E y" or "m".
    shared_gate : one gate decides who is biased at all, and each size has its share of them everywhere;
    otherwise each size has a gate of its own.
    spread : sizes vary normally around each state's. cv : sizes follow a gamma law with this coefficient of
    variation, or, if heavy, a lognormal one; 0 for none. by_content : sizes are linear in m. scale : what the
    sd follows, any of "E", "m". scale_by_component : each component with its own slopes of the sd.
    weights_by_content, own_slopes : of the components, in m. skew : normal plus gamma noise with this signed
    coefficient of variation, whose scale follows E; 0 for none. columns : further columns of the mean that
    cost as much as a gate, since a gate made them.
    """

    states: int = 0
    components: int = 1
    gate: str = "E"
    shared_gate: bool = False
    spread: bool = False
    cv: float = 0.0
    heavy: bool = False
    by_content: bool = False
    scale: str = ""
    scale_by_component: bool = False
    weights_by_content: bool = False
    own_slopes: bool = False
    skew: float = 0.0
    columns: int = 0

    @property
    def claims_bias(self) -> bool:
        """Whether this model says that reporters shift the outcome: E decides for whom."""
        return self.states > 0 and "E" in self.gate

    @property
    def gates(self) -> int:
        """How many gates there are: of all sizes together, or of each."""
        return min(self.states, 1) if self.shared_gate else self.states

    @property
    def varies(self) -> bool:
        """Whether biased rows differ in the size of their bias."""
        return self.spread or self.cv > 0.0 or self.by_content or self.states > 1

    @property
    def says(self) -> tuple[str, ...]:
        """What the law says of the bias beyond one size and a gate by the environment, for readers."""
        words = [SIZES_IN_WORDS[self.states]] if self.states > 1 else []
        words += ["sizes vary from row to row"] if self.spread or self.cv else []
        words += ["sizes grow or shrink with content"] if self.by_content else []
        words += ["who is biased depends on content too"] if "m" in self.gate else []
        words += ["who is biased depends on the true value too"] if "y" in self.gate else []
        words += ["environment columns act together on who is biased"] if "Q" in self.gate else []
        return tuple(words)

    @property
    def label(self) -> str:
        """A short name for tables and findings."""
        words = [f"J={self.components}"] if self.components > 1 else []
        if self.states > 1:
            words.append(f"{self.states + 1} states" + ("" if self.shared_gate else ", a gate of each"))
        if self.spread or self.cv:
            family = "lognormal" if self.heavy else "gamma"
            words.append("sizes vary" if not self.cv else f"{family} sizes, cv {self.cv:g}")
        words += ["size by content"] if self.by_content else []
        if self.states:
            words += [] if "E" in self.gate else ["gate without E"]
            words += ["gate by products of E"] if "Q" in self.gate else []
            words += ["gate by content too"] if "m" in self.gate and "E" in self.gate else []
            words += ["gate by true value too"] if "y" in self.gate else []
        if self.scale:
            by = " and ".join({"E": "environment", "m": "content"}[part] for part in self.scale)
            words.append(f"sd by {by}" + (" per component" if self.scale_by_component else ""))
        words += ["weights by content"] if self.weights_by_content else []
        words += ["own slopes"] if self.own_slopes else []
        words += ["skew by environment"] if self.skew else []
        words += ["a curve of E in the mean"] if self.columns else []
        return ", ".join(words) or "plain"


@dataclass(frozen=True, slots=True)
class Bins:
    """A law of mean 1 in bins: mean and sd within each, log share of each."""

    mean: Array
    sd: Array
    log_share: Array


@cache
def gamma_bins(cv: float, ends: tuple[float, ...] = SIZE_BINS) -> Bins:
    """The bins of a gamma law with this coefficient of variation, between shares of it.

    >>> bins = gamma_bins(0.7)
    >>> round(float(np.exp(bins.log_share) @ bins.mean), 6)
    1.0
    """
    k = cv**-2.0
    scale = 1.0 / k
    at = scale * gammaincinv(k, ends)
    share = np.diff(ends)
    mean = np.diff(gammainc(k + 1.0, at / scale)) / share
    square = np.diff(gammainc(k + 2.0, at / scale)) * (1.0 + 1.0 / k) / share
    return Bins(mean, np.sqrt(np.maximum(square - mean**2, 0.0)), np.log(share))


@cache
def lognormal_bins(cv: float, ends: tuple[float, ...] = SIZE_BINS) -> Bins:
    """The bins of a lognormal law: fewer small sizes than a gamma law has, and a heavier tail.

    >>> bins = lognormal_bins(0.7)
    >>> round(float(np.exp(bins.log_share) @ bins.mean), 6)
    1.0
    """
    sd = float(np.sqrt(np.log1p(cv**2)))
    at = ndtri(np.array(ends))
    share = np.diff(ends)
    mean = np.diff(ndtr(at - sd)) / share
    square = np.diff(ndtr(at - 2.0 * sd)) * (1.0 + cv**2) / share
    return Bins(mean, np.sqrt(np.maximum(square - mean**2, 0.0)), np.log(share))


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each block of parameters stands: a slice per name, empty where the law has no such block.

    b slopes (p); log_sigma (J); d, c, v, k (J-1 each): place, weight, its slope, own slope of the
    components; tau slopes of the log sd; alpha, log_omega (states); gamma gate (gates x gate columns);
    split (states-1): log odds of the larger sizes against the smallest, of a shared gate; delta, gate_y (1).
    """

    b: slice
    log_sigma: slice
    d: slice
    c: slice
    v: slice
    k: slice
    tau: slice
    alpha: slice
    gamma: slice
    split: slice
    log_omega: slice
    delta: slice
    gate_y: slice
    log_skew: slice
    size: int = field(default=0)


@cache
def layout(law: Law, p: int, q: int) -> Layout:
    """The layout of a law with p content columns and q environment columns."""
    J, K = law.components, law.states
    others = J - 1
    scaled = scale_columns(law, q)
    widths = {
        "b": p,
        "log_sigma": J,
        "d": others,
        "c": others,
        "v": others if law.weights_by_content else 0,
        "k": others if law.own_slopes else 0,
        "tau": scaled * (J if law.scale_by_component else 1),
        "alpha": K,
        "gamma": law.gates * gate_columns(law, q),
        "split": K - law.gates,
        "log_omega": K if law.spread else 0,
        "delta": 1 if K and law.by_content else 0,
        "gate_y": 1 if K and law.gate == "E y" else 0,
        "log_skew": 1 if law.skew else 0,
    }
    at, parts = 0, {}
    for name, width in widths.items():
        parts[name] = slice(at, at + width)
        at += width
    return Layout(**parts, size=at)


@cache
def names(law: Law, p: int, q: int) -> tuple[str, ...]:
    """A name for each parameter, the same in every law that has it.

    >>> names(Law(states=1), 2, 1)
    ('b 0', 'b 1', 'log_sigma 0', 'alpha 0', 'gamma 0 1', 'gamma 0 e0')
    """
    scaled = [f"e{i}" for i in range(q)] * ("E" in law.scale) + ["m"] * ("m" in law.scale)
    columns = {"tau": scaled, "gamma": gate_names(law, q)}
    at, named = layout(law, p, q), []
    for block in (item.name for item in fields(Layout) if item.name != "size"):
        width = getattr(at, block).stop - getattr(at, block).start
        of_each = columns.get(block)
        if of_each is None:
            named += [f"{block} {i}" for i in range(width)]
        else:
            named += [
                f"{block} {i} {column}" for i in range(width // max(len(of_each), 1)) for column in of_each
            ]
    return tuple(named)


def gate_names(law: Law, q: int) -> list[str]:
    """A name for each column of the gate."""
    named = ["1", *(f"e{i}" for i in range(q))] if "E" in law.gate else ["1"]
    named += [f"e{i}e{j}" for i, j in pairs(q)] if "Q" in law.gate else []
    named += ["m"] if "m" in law.gate else []
    assert not law.states or len(named) == gate_columns(law, q)
    return named


def scale_columns(law: Law, q: int) -> int:
    """How many columns the sd follows."""
    return q * ("E" in law.scale) + ("m" in law.scale)


def gate_columns(law: Law, q: int) -> int:
    """How many columns the gate has, its intercept included."""
    if not law.states:
        return 0
    return 1 + q * ("E" in law.gate) + len(pairs(q)) * ("Q" in law.gate) + ("m" in law.gate)


def pairs(q: int) -> list[tuple[int, int]]:
    """Every pair of q columns, a column with itself too."""
    return [(i, j) for i in range(q) for j in range(i, q)]


def n_paid(law: Law, p: int, q: int) -> int:
    """Parameters that BIC charges for: of the law, its shape of sizes or skew, and columns from a gate."""
    return layout(law, p, q).size + (law.cv > 0) + (law.skew != 0) + law.columns * q


def with_one_size(law: Law) -> Law:
    """The same law where every biased row has the same bias."""
    return replace(law, states=1, shared_gate=False, spread=False, cv=0.0, heavy=False, by_content=False)


def without_environment(law: Law) -> Law:
    """The same bias with a gate that E does not move: nobody can tell it from two kinds of content."""
    return replace(law, gate="m")
