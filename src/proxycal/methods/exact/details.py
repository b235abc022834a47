"""What a page shows of a fitted mixture: how it spreads around the content, and what drives who is biased."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from proxycal.methods.exact.evidence import SIZES_VARY
from proxycal.methods.exact.more_rows import rows_needed
from proxycal.mixture.answers import residual_shares
from proxycal.result import Curve, Details, GateTerm

if TYPE_CHECKING:
    from proxycal.methods.exact.evidence import Evidence
    from proxycal.mixture.candidates import ExactBias
    from proxycal.mixture.designs import Data, Spec
    from proxycal.mixture.laws import Shape
    from proxycal.mixture.wide.widen import WideLaw
    from proxycal.table.encode import Arrays


def details_of(
    bias: ExactBias,
    data: Data,
    mu: np.ndarray,
    sign: float,
    arrays: Arrays,
    level: float,
    law: WideLaw | None = None,
) -> Details:
    """What to keep of a comparison for pages and questions; mu (n,) : content of the rows of `data`.

    law : the wider law that answers, if one does.
    """
    curve = curve_of(bias.bias, data, data.y - mu, bias.cluster_sd, sign, law)
    return kept_details(bias.bias.shape, curve, gate_terms(bias, arrays, level), bias.sizes)


def kept_details(
    shape: Shape, curve: Curve, gate: tuple[GateTerm, ...], sizes: tuple[tuple[float, float], ...]
) -> Details:
    """The same, from what a run folder keeps."""
    many = shape.J > 1
    return Details(
        curve=curve,
        gate=gate,
        models_shape=many,
        models_noise=many or shape.scale == "environment",
        models_direct=True,
        sizes=sizes,
    )


def with_law(details: Details, evidence: Evidence) -> Details:
    """The details with what the evidence says of the law of the bias."""
    law = evidence.law
    if law and evidence.cv > SIZES_VARY:
        law = f"{law} (coefficient of variation {evidence.cv:.2f})"
    return replace(
        details,
        law=law,
        unit="clusters" if evidence.whole_clusters else "rows",
        detectable=evidence.detectable_size,
        rows_needed=rows_needed(evidence),
    )


def curve_of(
    spec: Spec, data: Data, gap: np.ndarray, cluster_sd: float, sign: float, law: WideLaw | None = None
) -> Curve:
    """The mixture around its content in the outcome's own units, over the range of `gap` (sign * own)."""
    at, below, total = residual_shares(spec, data, cluster_sd, float(gap.min()), float(gap.max()), law)
    if sign < 0:
        # What lies below -t in the mirrored outcome lies above t in its own.
        at, below = -at[::-1], total[:, None] - below[:, ::-1]
    return Curve(at, below[0], below[1])


def gate_terms(bias: ExactBias, arrays: Arrays, level: float) -> tuple[GateTerm, ...]:
    """What multiplies the odds of being biased, by encoded environment column."""
    spec = bias.bias
    rotate = spec.frame.gate.rotate
    slope = rotate @ spec.params.gamma[0, 1:]
    reach = float(ndtri(0.5 + level / 2.0)) * np.sqrt(np.diag(rotate @ bias.gate_cov[1:, 1:] @ rotate.T))
    names = zip(arrays.environment_names, arrays.environment_source, arrays.categorical, strict=True)
    terms = []
    for (name, source, categorical), b, r in zip(names, slope, reach, strict=True):
        terms.append(
            GateTerm(
                column=source,
                level=name.removeprefix(f"{source}=") if categorical else None,
                reference=_reference(arrays, source) if categorical else None,
                odds=_exp(b),
                low=_exp(b - r),
                high=_exp(b + r),
            )
        )
    return tuple(terms)


def _reference(arrays: Arrays, source: str) -> str | None:
    named = {
        name.removeprefix(f"{source}=")
        for name, of in zip(arrays.environment_names, arrays.environment_source, strict=True)
        if of == source
    }
    left = [level for level in arrays.level_names.get(source, ()) if level not in named]
    return left[0] if len(left) == 1 else None


def _exp(value: float) -> float:
    return math.exp(min(max(float(value), -700.0), 700.0)) if math.isfinite(value) else math.nan
