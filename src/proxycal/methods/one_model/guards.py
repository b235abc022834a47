"""What may make a bias that leads untrustworthy, in words: one finding for each guard of the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.methods.one_model.evidence import depends
from proxycal.result import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxycal.methods.one_model.evidence import Evidence

NOTHING = "Nothing to do."
VALIDATE = "Validate some rows (role truth)"


def guard_findings(e: Evidence, doubt: Iterable[str]) -> tuple[Finding, ...]:
    """Every guard as a finding: those that hold in one sentence, those that do not with what to do."""
    doubt = set(doubt)
    return (
        _gate_alone(e, "gate-alone" in doubt),
        _dependence(e, "dependence" in doubt),
        *(finding for finding in (_proxies(e), _rare(e), _vague(e), _rounding(e)) if finding.topic in doubt),
    )


def _gate_alone(e: Evidence, doubtful: bool) -> Finding:
    decided = f"the environment alone determines {e.alone:.0%} of who is biased"
    return Finding(
        question="Does the outcome itself show who is biased?",
        statistic=decided,
        reading=(
            f"The outcome adds little: {decided}, so that a bias cannot be distinguished from an effect of "
            "the environment on the true outcome."
            if doubtful
            else f"The outcome shows who is biased: {decided}, the outcome the rest."
        ),
        remedy=(
            f"{VALIDATE}, or fit with method='gradual' if the environment acts on the true outcome only "
            "through content."
            if doubtful
            else NOTHING
        ),
        ok=not doubtful,
        topic="gate-alone",
        value=e.alone,
    )


def _dependence(e: Evidence, doubtful: bool) -> Finding:
    seen = f"autocorrelation of the residual along the rows {e.autocorrelation:.2f}"
    dependent = depends(e)
    if not dependent:
        reading = f"Neighbouring rows are not alike beyond content ({seen})."
    elif doubtful:
        reading = (
            "Neighbouring rows are alike beyond content, and over blocks of rows a model with a bias does "
            f"not fit better (z = {e.block_z:.1f}): what they share may look like a bias."
        )
    else:
        reading = (
            "Neighbouring rows are alike beyond content; a model with a bias fits better over blocks of rows "
            f"too (z = {e.block_z:.1f})."
        )
    return Finding(
        question="Do neighbouring rows of the table depend on each other?",
        statistic=seen,
        reading=reading,
        remedy="Name the column of what neighbouring rows share (role cluster)." if dependent else NOTHING,
        ok=not dependent,
        topic="dependence",
        value=e.autocorrelation,
    )


def _proxies(e: Evidence) -> Finding:
    return Finding(
        question="Do the proxies predict who is biased?",
        statistic=f"score test of the proxies in who is biased, p = {e.proxies_p:.2g}",
        reading=(
            "The proxies predict who is biased, beyond the environment and the content index "
            f"(p = {e.proxies_p:.2g}): the two groups may be two kinds of content."
        ),
        remedy=f"{VALIDATE}, or add proxies that measure how the two groups differ.",
        ok=False,
        topic="proxies",
        value=e.proxies_p,
    )


def _rare(e: Evidence) -> Finding:
    return Finding(
        question="Are enough rows biased to distinguish them from outliers?",
        statistic=f"{e.share:.1%} of the rows are biased",
        reading=(
            f"So few rows are called biased ({e.share:.1%}) that they may equally be outliers among "
            "unbiased reports."
        ),
        remedy="Inspect these rows, or validate them (role truth); more rows would help.",
        ok=False,
        topic="rare",
        value=e.share,
    )


def _vague(e: Evidence) -> Finding:
    interval = f"{e.exact.low:.4g} to {e.exact.high:.4g}"
    return Finding(
        question="Is the size of the bias known well enough?",
        statistic=f"interval {interval} around {e.exact.alpha:.4g}",
        reading=f"A model with a bias fits better, but its size is hardly known (interval {interval}).",
        remedy="More rows, better proxies, or 30 validated rows (role truth) would decide.",
        ok=False,
        topic="vague",
        value=e.exact.se,
    )


def _rounding(e: Evidence) -> Finding:
    return Finding(
        question="Does the environment predict who rounds?",
        statistic=f"test of the environment in who reports round numbers, p = {e.rounding_p:.2g}",
        reading=(
            "Round numbers are more common in some environments than the proxies explain "
            f"(p = {e.rounding_p:.2g}): reporters who round down, or up, have a bias that no shift describes."
        ),
        remedy=f"{VALIDATE}, or ask for unrounded numbers.",
        ok=False,
        topic="rounding",
        value=e.rounding_p,
    )
