"""The comparison for counts: models with a report of a share against models without, by evidence.

Freely, the environment may act on the truth as it likes, and a report must beat all of that and a mixture
that the environment has no part in. Under exclusion it acts on the truth through content alone, and a report,
of some rows or graded over all, must beat that.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from proxycal.engine.families.counts import Counts
from proxycal.methods.rates.climb import PAYS, Comparison, as_it_is, best, grown
from proxycal.methods.rates.terms import Shape

if TYPE_CHECKING:
    from proxycal.engine.content import Content
    from proxycal.engine.maximise import Maximum
    from proxycal.engine.model import Model
    from proxycal.methods.rates.climb import Begin, Table
    from proxycal.methods.rates.terms import More

# Log odds of being biased and of what is reported, from where a gate is looked for.
GATES = ((-0.8, -1.2), (-0.4, 0.3))


def noise(table: Table, content: Content) -> float:
    """The sd of the log of the mean that the noise of the proxies leaves unknown."""
    plain = table.climb(table.terms.model(Counts(), Shape(direct=False)), [_level(table)])
    if plain is None or not content.told_apart:
        return 0.0
    # The level comes first, then a slope for each kind of content.
    slopes = plain.coefficients("mean")[1 : 1 + content.d]
    return float(np.sqrt(slopes @ content.unknown @ slopes))


def compare(table: Table, family: Counts, direct: bool) -> Comparison | None:
    """The best models. family : without a report. direct : whether the environment acts beside content."""
    shape = Shape(direct)
    plain = _complete(table, family, shape)
    if plain is None:
        return None
    own_zeros = plain.model.family.zeros  # type: ignore[attr-defined]
    plain, shape = grown(table, plain, shape, ("spread",))
    starts = [_gate(*at) for at in GATES]
    gate = replace(family, report="gate", zeros=own_zeros)
    undriven = table.climb(table.terms.model(gate, replace(shape, driven=False)), starts, plain)
    found = [_grown_from(table, gate, shape, starts, plain)]
    if own_zeros:
        # Zeros may be what a report of nothing leaves.
        found.append(_grown_from(table, replace(gate, zeros=False), shape, starts, plain))
    if not direct:
        found.append(_grown_from(table, replace(gate, report="graded"), shape, [_graded(1.0)], plain))
    without, biased = best([plain, undriven]), best(found)
    return None if without is None or biased is None else Comparison(without, biased)


def compare_validated(table: Table, family: Counts, known: dict[str, np.ndarray]) -> Comparison | None:
    """The best model with a report where truths are known, and the reports alone without one."""
    shape = Shape(direct=True)
    plain = _complete(table, family, shape)
    if plain is None:
        return None
    graded = replace(family, report="graded", zeros=plain.model.family.zeros)  # type: ignore[attr-defined]
    both = replace(table, outcome=table.outcome | known)
    found = [_grown_from(both, graded, shape, [_graded(1.0)], plain)]
    if "checked" not in known:
        starts = [_gate(*at) for at in GATES]
        found.append(_grown_from(both, replace(graded, report="gate"), shape, starts, plain))
    biased = best(found)
    return None if biased is None else Comparison(plain, biased)


def _complete(table: Table, family: Counts, shape: Shape) -> Maximum | None:
    """The model in which all is reported, with zeros of their own accord where these pay."""
    plain = table.climb(table.terms.model(family, shape), [_level(table)])
    return None if plain is None else _with_zeros(table, plain, family, shape) or plain


def _grown_from(
    table: Table, family: Counts, shape: Shape, starts: list[Begin], plain: Maximum
) -> Maximum | None:
    fit = table.climb(table.terms.model(family, shape), starts, plain)
    if fit is None:
        return None
    wanted: tuple[More, ...] = ("who", "spread") if family.report == "graded" else ("who", "share", "spread")
    return grown(table, fit, shape, wanted)[0]


def _with_zeros(table: Table, plain: Maximum, family: Counts, shape: Shape) -> Maximum | None:
    if not (table.outcome["y"] == 0.0).any():
        return None
    fit = table.climb(table.terms.model(replace(family, zeros=True), shape), [as_it_is], plain)
    return fit if fit is not None and fit.evidence > plain.evidence + PAYS else None


def _level(table: Table) -> Begin:
    rate = table.weights @ table.outcome["y"] / (table.weights @ np.exp(table.outcome["exposure"]))

    def begin(model: Model, theta: np.ndarray) -> None:
        theta[model.at("mean").start] = np.log(max(rate, 1e-6))

    return begin


def _gate(who: float, share: float) -> Begin:
    """From a gate of this size, the environment out of the mean: what it does may be the bias."""

    def begin(model: Model, theta: np.ndarray) -> None:
        direct = [group for group in model.groups if group.predictor == "mean"]
        for group in direct:
            if not group.about.startswith("curve of content"):
                theta[group.part] = 0.0
        sign = model.family.sign  # type: ignore[attr-defined]
        theta[model.at("mean").start] -= 0.3 * sign
        theta[model.at("spread").start] += 0.5
        theta[model.at("who").start] = who
        theta[model.at("share").start] = share

    return begin


def _graded(share: float) -> Begin:
    def begin(model: Model, theta: np.ndarray) -> None:
        sign = model.family.sign  # type: ignore[attr-defined]
        theta[model.at("mean").start] -= 0.3 * sign
        theta[model.at("share").start] = share

    return begin
