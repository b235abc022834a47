"""When no answer is given, why, and what would help."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.methods.gradual.thresholds import LEAST_INFORMATION, OVER_P, RELEVANT_P, WEAK_F
from proxycal.result import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proxycal.methods.gradual.direct import DirectEffect
    from proxycal.methods.gradual.mimic import MimicFit
    from proxycal.methods.gradual.tsls import TslsFit


def refusals(
    fit: MimicFit,
    tsls: TslsFit | None,
    direct: DirectEffect | None,
    proxies: Sequence[str],
    largest: int,
    relevance_p: float,
) -> Iterator[Finding]:
    """All reasons against the answer of this fit; none when it may be given."""
    d, n_proxies = fit.structure.dimension, len(proxies)
    if d == 0:
        yield _no_content(n_proxies)
        return
    if relevance_p >= RELEVANT_P:
        yield _irrelevant(relevance_p)
    if fit.over_df > 0 and fit.over_p < OVER_P:
        yield _rejected(fit, n_proxies, d, largest)
    elif direct is not None and direct.p < OVER_P:
        yield _reached(direct, proxies[direct.proxy])
    if fit.contents.flat > 0:
        yield Finding(
            "Is the likelihood determined?",
            f"{fit.contents.flat} flat directions",
            f"{n_proxies} proxies leave {fit.contents.flat} directions of the model undetermined: "
            "different biases fit equally well.",
            "Add a proxy that measures the same content with an error of its own.",
            ok=False,
            topic="flat-likelihood",
            value=float(fit.contents.flat),
        )
    weak = _weak(fit, tsls)
    if weak is not None:
        yield weak


def too_few_proxies(n_proxies: int) -> Finding:
    """The finding for a table whose proxies cannot show even one content."""
    return Finding(
        "Are there enough proxies?",
        f"K = {n_proxies}",
        f"With {n_proxies} proxy, content cannot be distinguished from the error of the proxy, nor from the "
        "bias.",
        "Add a second proxy with an error of its own: 2d proxies show d dimensions of content, or d + 1 "
        "where the environment moves content in d directions.",
        ok=False,
        topic="too-few-proxies",
        value=float(n_proxies),
    )


def _no_content(n_proxies: int) -> Finding:
    return Finding(
        "Do the proxies measure content?",
        "d = 0",
        f"The {n_proxies} proxies share no more than chance would produce: they measure no common content.",
        "Use proxies that measure what the outcome measures.",
        ok=False,
        topic="weak-instruments",
        value=0.0,
    )


def _irrelevant(p: float) -> Finding:
    return Finding(
        "Are the proxies related to the outcome?",
        f"p = {p:.2g}",
        "Given the environment, the proxies are not related to the outcome "
        f"(p = {p:.2g}): the effect of the environment on its content cannot be removed.",
        "Use proxies that measure what the outcome measures.",
        ok=False,
        topic="relevance",
        value=p,
    )


def _rejected(fit: MimicFit, n_proxies: int, d: int, largest: int) -> Finding:
    statistic = f"p = {fit.over_p:.2g}"
    contents = "one dimension of content" if d == 1 else f"{d} dimensions of content"
    reading = (
        f"Over-identification is rejected (p = {fit.over_p:.2g}): {contents} cannot explain how the "
        f"environment moves the {n_proxies} proxies."
    )
    if d == largest:
        return Finding(
            "Are there enough proxies for the content?",
            statistic,
            f"{reading} Either content has more dimensions than {n_proxies} proxies can show, or the "
            "environment affects a proxy directly.",
            f"Add proxies: d dimensions of content need 2d of them, or d + 1 where the environment moves "
            f"content in d directions, so {n_proxies} show at most {largest}. Or leave out a proxy that the "
            "environment affects directly.",
            ok=False,
            topic="too-few-proxies",
            value=fit.over_p,
        )
    return Finding(
        "Does the environment affect the proxies only through content?",
        statistic,
        f"{reading} The environment affects a proxy directly, or proxies share noise, as where one is part "
        "of another.",
        "Leave out the proxy that the environment can influence or that another contains, or the environment "
        "column that affects it.",
        ok=False,
        topic="over-identification",
        value=fit.over_p,
    )


def _reached(direct: DirectEffect, proxy: str) -> Finding:
    return Finding(
        "Does the environment affect the proxies only through content?",
        f"p = {direct.p:.2g}",
        f"Environment column {direct.column!r} moves proxy {proxy!r} beyond content "
        f"(p = {direct.p:.2g}): a proxy that the environment affects directly cannot stand for content.",
        f"Leave out proxy {proxy!r}, or {direct.column!r} if it cannot be a cause of the bias.",
        ok=False,
        topic="over-identification",
        value=direct.p,
    )


def _weak(fit: MimicFit, tsls: TslsFit | None) -> Finding | None:
    """Weak where neither the proxies among themselves nor the environment determine content well."""
    if fit.contents.flat > 0:
        return None
    strong_first_stage = tsls is not None and tsls.strength >= WEAK_F
    if fit.contents.least_information >= LEAST_INFORMATION or strong_first_stage:
        return None
    strength = fit.contents.least_information if tsls is None else tsls.strength
    shown = f"information {strength:.1f}" if tsls is None else f"F = {strength:.1f}"
    return Finding(
        "Do the proxies determine the content?",
        shown,
        f"The proxies predict each other too weakly ({shown}) to correct for their errors.",
        "Add proxies that measure the same content, or more rows.",
        ok=False,
        topic="weak-instruments",
        value=float(strength),
    )
