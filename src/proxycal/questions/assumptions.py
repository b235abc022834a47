"""The further checks of a finished fit, put to its own rows: what `ProxyCalibrator.check` adds.

Each question is one function on arrays that computes its statistic and words its finding; `further_findings`
calls them all. A new question is a function here and a call there, and a statistic of its own in
methods/checks. A row's bias is known as p_biased = P(A=1|data) only; every test here holds for probabilities
as for labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from proxycal.methods.checks.instruments import any_moved, direct_p, moved_proxies
from proxycal.methods.checks.outcome import content_gap, normality
from proxycal.methods.checks.slopes import row_influence, size_of_noise_p, slope_test
from proxycal.methods.crosschecks import attempted
from proxycal.methods.log_scale import LogFit, positive_logs
from proxycal.methods.parts import outcome_of
from proxycal.mixture.compare import fit_exact
from proxycal.mixture.designs import Data
from proxycal.mixture.thresholds import THRESHOLDS
from proxycal.result import Finding
from proxycal.table.small_counts import are_small_counts
from proxycal.table.surface import choose
from proxycal.tails import t_sf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from proxycal.methods.registry import MethodFit
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

    Array = NDArray[np.float64]
    Cluster = NDArray[np.int64] | None

NOTHING = "Nothing to do."
EXCLUSION = "Do the proxies see the report?"
EVEN_NOISE = "Is the noise equally large in every environment?"
DIRECT = "Does the environment move the outcome itself?"
SHAPE = "Is the noise normal?"
GAP = "Do the groups that the environment separates overlap in content?"
LEVERAGE = "Does a single row or cluster decide the result?"


def further_findings(
    fit: MethodFit, arrays: Arrays, settings: Settings, before: tuple[Finding, ...]
) -> list[Finding]:
    """Findings that take more work than a fit should; before : those of the fit."""
    if arrays.reports is not None:  # differences of reports do not depend on content
        return [multiplicity(before)]
    # Where the log scale is taken already, or would be refused, nobody is sent there.
    no_logs = isinstance(fit, LogFit) or are_small_counts(outcome_of(arrays))
    if isinstance(fit, LogFit):
        # What the method assumes, it assumes of the logarithms of the positive rows.
        fit, arrays = fit.inner, positive_logs(arrays)
    y, predicted = outcome_of(arrays), fit.predict(arrays)
    P, E, weights, cluster = arrays.P, arrays.E, arrays.weights, arrays.cluster
    p, noise, details = predicted.p_biased, y - predicted.mu, fit.details
    # The bias that each row has if it has one, signed: calibration takes off p * bias.
    bias = predicted.shift / p.clip(1e-12)
    square = (1.0 - p) * noise**2 + p * (noise - bias) ** 2
    claimed = fit.verdict == "bias found"
    alpha, se = (fit.estimate.alpha, fit.estimate.se) if claimed else (0.0, 0.0)
    asked: list[tuple[str, str, Callable[[], Finding]]] = [
        (
            EXCLUSION,
            "exclusion",
            lambda: exclusion(
                P,
                arrays.proxy_names,
                E,
                p,
                own_bias(arrays, settings),
                moved_proxies(P, E, weights, cluster),
                weights,
                cluster,
            ),
        ),
        (
            EVEN_NOISE,
            "heteroscedasticity",
            lambda: even_noise(square, E, weights, details.models_noise, cluster, no_logs),
        ),
        # Where no bias is claimed, what was reported is taken as it is.
        (
            DIRECT,
            "direct",
            lambda: direct_environment(
                y - predicted.shift if claimed else y,
                P,
                E,
                p,
                alpha,
                se,
                weights,
                details.models_direct,
                cluster,
            ),
        ),
        (
            SHAPE,
            "shape",
            lambda: noise_shape(noise, p, bias, weights, details.models_shape, cluster, no_logs),
        ),
        (GAP, "gap", lambda: gap_in_content(predicted.mu, E, weights)),
        (
            LEVERAGE,
            "leverage",
            lambda: leverage(y, P, E, p, weights, cluster, asked=fit.verdict != "no bias found"),
        ),
    ]
    findings = [attempted(question, topic, answer) for question, topic, answer in asked]
    if details.sizes and claimed:
        findings.append(agreement_of_models(details.sizes, se))
    return [*findings, multiplicity([*before, *findings])]


# --- the questions ---


def exclusion(
    P: Array,
    names: Sequence[str],
    E: Array,
    p_biased: Array,
    gains: Array,
    moved: Array,
    weights: Array,
    cluster: Cluster = None,
) -> Finding:
    """Whether a proxy sees the report; the most suspicious one by name.

    Three looks at each. Given the environment and the other proxies, a clean one does not depend on who is
    biased. Taken as an outcome, with the others as its proxies, it has no bias of its own: gains (p,), the
    BIC gain of one. And the environment moves it through content only: moved (p,), p-values. The last two,
    NaN where not tried, need no p_biased, which a large leak spoils; the last cannot say which proxy it is.
    """
    ones = np.ones((len(P), 1))
    tests = []
    for k in range(P.shape[1]):
        controls = np.hstack([ones, E, E**2, np.delete(P, k, axis=1)])
        tests.append(slope_test(P[:, k], p_biased, controls, weights, cluster)[1])
    t, gain = np.abs(tests), np.nan_to_num(gains, nan=-np.inf)
    beyond = ndtr(-t.max()) if cluster is None else t_sf(t.max(), len(np.unique(cluster)) - 1)
    sees = min(2.0 * float(beyond) * len(t), 1.0)
    some = any_moved(moved)
    own = gain.max() > THRESHOLDS.own_bias_gain
    worst = int(np.argmax(gain)) if own else int(np.argmax(t))
    name, named = names[worst], own or sees < THRESHOLDS.proxy_p
    ok = not named and not some < THRESHOLDS.proxy_p
    evidence = f"t = {t[worst]:.1f} for who is biased"
    if np.isfinite(gain[worst]):
        evidence += f", BIC gain of a bias of its own {gain[worst]:.1f}"
    wrong = "it may carry a part of the bias, and alpha, or the lack of a finding, is then wrong."
    if ok:
        reading = (
            "No proxy is related to the bias beyond what the environment and the other proxies explain; "
            f"'{name}' comes closest (t = {t[worst]:.1f})."
        )
        remedy = NOTHING
    elif named:
        reading = f"Proxy '{name}' is related to the bias ({evidence}): {wrong}"
        remedy = f"Leave '{name}' out and fit again; `refute('drop-proxy')` compares."
    else:
        reading = f"The environment moves some proxy beyond content (p = {some:.2g}): {wrong}"
        remedy = "Find out without which proxy the result changes: `refute('drop-proxy')`."
    return Finding(
        question=EXCLUSION,
        statistic=f"most suspicious: '{name}', {evidence}"
        + (f"; any of them moved by the environment, p = {some:.2g}" if np.isfinite(some) else ""),
        reading=reading,
        remedy=remedy,
        ok=ok,
        topic="exclusion",
        value=float(np.fmin(sees, some)),
    )


def own_bias(arrays: Arrays, settings: Settings) -> Array:
    """BIC gain of a bias in each numeric proxy, with the proxies of other columns as its own, (p,).

    Where normal noise shows no sign of one, other shapes, which take it for noise, are not compared.
    """
    gains = np.full(arrays.P.shape[1], np.nan)
    for k, source in enumerate(arrays.proxy_source):
        others = [j for j, other in enumerate(arrays.proxy_source) if other != source]
        if arrays.proxy_categorical[k] or not others:
            continue
        numeric = [not arrays.proxy_categorical[j] for j in others]
        curved = np.array([*numeric, *(not flag for flag in arrays.categorical)])
        proxy = Data(arrays.P[:, k], arrays.P[:, others], arrays.E, arrays.weights, curved, arrays.cluster)
        gains[k] = fit_exact(proxy, max_j=1, seed=settings.random_state).gain
        if gains[k] > 0.0:
            gains[k] = fit_exact(proxy, seed=settings.random_state).gain
    return gains


def even_noise(
    square: Array, E: Array, weights: Array, modelled: bool, cluster: Cluster = None, no_logs: bool = False
) -> Finding:
    """Whether the noise is equally large in every environment.

    square : (n,) expected squared noise. modelled : whether the fitted shape lets it differ, by E or by
    component. no_logs : whether the log scale is no remedy.
    """
    p = size_of_noise_p(square, E, weights, cluster)
    even = p >= THRESHOLDS.noise_p
    depends = f"The size of the noise depends on the environment (p = {p:.2g})"
    if even:
        reading = f"The size of the noise does not depend on the environment (p = {p:.2g})."
        remedy = NOTHING
    elif modelled:
        reading, remedy = f"{depends}; the fitted model allows for it.", NOTHING
    else:
        reading = f"{depends}: where it is larger, p_biased is more certain than it should be."
        remedy = _other_scale(no_logs, "compare with method='moments'")
    return Finding(
        question=EVEN_NOISE,
        statistic=f"Wald test of the size of the noise on the environment, p = {p:.2g}",
        reading=reading,
        remedy=remedy,
        ok=even or modelled,
        topic="heteroscedasticity",
        value=p,
    )


def direct_environment(
    y_cal: Array,
    P: Array,
    E: Array,
    p_biased: Array,
    bias: float,
    se: float,
    weights: Array,
    modelled: bool,
    cluster: Cluster = None,
) -> Finding:
    """Whether E moves the true outcome other than through content.

    y_cal : outcome without its bias, each row by its probability. bias, se : alpha and its error, 0 where
    no bias is claimed. Noisy proxies leave some content to E, so some of them stand for content with the
    others as instruments.
    """
    p = direct_p(y_cal, P, E, p_biased, bias, se, weights, cluster)
    tested = np.isfinite(p)
    clean = not tested or p >= THRESHOLDS.outcome_p
    moves = f"The environment moves the outcome beyond content (p = {p:.2g})"
    remedy = NOTHING
    if not tested:
        reading = "Not tested: this takes more proxies than content has dimensions, and a clear bias."
    elif clean:
        reading = f"The environment does not move the outcome beyond content (p = {p:.2g})."
    elif not bias:
        reading = f"{moves}: by an effect of its own, or by a bias too small to be seen beside the noise."
        remedy = "Better proxies, or 30 validated rows (role truth), would tell these apart."
    elif modelled:
        reading = f"{moves}. The fitted model allows for it; the moments do not, so disregard them."
    else:
        reading = f"{moves}, and this method takes that for a bias that the environment drives."
        remedy = "Use method='exact', which lets the environment move the outcome."
    return Finding(
        question=DIRECT,
        statistic=f"Wald test beside instrumented content, p = {p:.2g}" if tested else "not tested",
        reading=reading,
        remedy=remedy,
        ok=clean or modelled,
        topic="direct",
        value=p if tested else None,
    )


def noise_shape(
    noise: Array,
    p_biased: Array,
    bias: Array,
    weights: Array,
    modelled: bool,
    cluster: Cluster = None,
    no_logs: bool = False,
) -> Finding:
    """Whether the noise is normal: skewness and kurtosis, over who may be biased (Jarque and Bera).

    noise : of each row if unbiased; bias : what it has less if biased, both in the outcome's units.
    modelled : whether the fitted shape has more than one normal component.
    """
    p, skew = normality(noise, p_biased, bias, weights, cluster)
    normal = p >= THRESHOLDS.outcome_p
    numbers = f"(skewness {skew:.2f}, p = {p:.2g})"
    if normal:
        reading, remedy = f"The noise is close to normal {numbers}.", NOTHING
    elif modelled:
        reading, remedy = f"The noise is not normal {numbers}; the fitted model allows for it.", NOTHING
    else:
        reading = f"The noise is not normal {numbers}: a skew or an outlier may pass for a bias, or hide one."
        remedy = _other_scale(no_logs, "compare with method='exact', which compares shapes")
    return Finding(
        question=SHAPE,
        statistic=f"skewness {skew:.2f}; skewness and kurtosis together, p = {p:.2g}",
        reading=reading,
        remedy=remedy,
        ok=normal or modelled,
        topic="shape",
        value=p,
    )


def _other_scale(no_logs: bool, otherwise: str) -> str:
    advice = otherwise if no_logs else f"{choose('scale', 'log')} if the outcome is a size, or {otherwise}"
    return f"{advice[0].upper()}{advice[1:]}."


def gap_in_content(content: Array, E: Array, weights: Array) -> Finding:
    """Whether content falls into two groups with nothing between, which the environment tells apart.

    A bias of one of them may then as well be a part of its content, and the reverse.
    """
    apart, told = content_gap(content, E, weights)
    ok = apart < THRESHOLDS.gap or told < THRESHOLDS.told
    groups = f"gap of {apart:.2f} standard deviations, the environment explains {told:.0%} of who is where"
    return Finding(
        question=GAP,
        statistic=f"gap of {apart:.2f} sd within groups; the environment explains {told:.0%} of who is where",
        reading=(
            f"Content has no two groups that are far apart and that the environment separates ({groups})."
            if ok
            else f"Content falls into two groups with nothing between ({groups}): a bias of one group cannot "
            "be distinguished from its content, so these rows show neither a bias nor the lack of one."
        ),
        remedy=NOTHING if ok else "Fit each group alone, or add rows with content in between.",
        ok=ok,
        topic="gap",
        value=apart,
    )


def leverage(
    y: Array,
    P: Array,
    E: Array,
    p_biased: Array,
    weights: Array,
    cluster: Cluster = None,
    asked: bool = True,
) -> Finding:
    """How far one row, or cluster, moves the difference of biased and unbiased rows of like content.

    asked : False where no bias is claimed, so that it does not matter who carries it.
    """
    influence, se = row_influence(y, np.column_stack([np.ones(len(y)), P, E]), p_biased, weights, cluster)
    rows = np.abs(influence) / se if se > 0.0 else np.zeros(len(y))
    what, most, heavy = "row", float(rows.max()), THRESHOLDS.heavy_row
    if cluster is not None:
        sums = np.abs(np.bincount(cluster, influence)) / se if se > 0.0 else np.zeros(1)
        if sums.max() / THRESHOLDS.heavy_cluster > most / THRESHOLDS.heavy_row:
            what, most, heavy = "cluster", float(sums.max()), THRESHOLDS.heavy_cluster
    remedy = NOTHING
    if most <= heavy:
        reading = f"No single {what} decides alpha: the heaviest moves it by {most:.2f} standard errors."
    elif not asked:
        reading = "Not applicable: no bias is claimed, so no row or cluster decides its size."
    else:
        reading = f"A single {what} moves alpha by {most:.2f} standard errors: alpha would change without it."
        remedy = f"Look at that {what}; `refute('seed')` shows how alpha changes with the rows."
    return Finding(
        question=LEVERAGE,
        statistic=f"the heaviest {what} moves alpha by {most:.2f} standard errors",
        reading=reading,
        remedy=remedy,
        ok=most <= heavy or not asked,
        topic="leverage",
        value=most,
    )


def agreement_of_models(models: Sequence[tuple[float, float]], se: float) -> Finding:
    """Whether the models with a bias that fit about as well give the same size; models: (bic, alpha)."""
    best = min(bic for bic, _ in models)
    close = [alpha for bic, alpha in models if bic <= best + THRESHOLDS.close_bic]
    main = next(alpha for bic, alpha in models if bic == best)
    gap = max(abs(alpha - main) for alpha in close)
    ok = gap <= max(THRESHOLDS.close_se * se, THRESHOLDS.close_part * abs(main))
    alike = f"{len(close)} of {len(models)} models"
    if len(close) == 1:
        agreed = f"Of {len(models)} models with a bias only the best fits this well; its alpha is {main:.4g}."
    else:
        agreed = f"The {alike} that fit about equally well agree on alpha within {gap:.3g} of {main:.4g}."
    return Finding(
        question="Do all starts and shapes lead to the same size?",
        statistic=f"{alike} fit alike, alpha within {gap:.3g} of {main:.4g}",
        reading=agreed
        if ok
        else f"The {alike} that fit about equally well differ in alpha by up to {gap:.3g} from {main:.4g}: "
        "alpha is less certain than its standard error says.",
        remedy=NOTHING if ok else "More rows or better proxies would decide between them.",
        ok=ok,
        topic="starts",
        value=gap,
    )


def multiplicity(findings: Sequence[Finding]) -> Finding:
    """How many checks were made, since one of many may fail by chance."""
    failed = sum(not finding.ok for finding in findings)
    counts = f"Checks that need attention: {failed} of {len(findings)}"
    return Finding(
        question="How many questions were asked?",
        statistic=counts,
        reading=f"{counts}. One of so many may fail by chance; several that point the same way hardly do.",
        remedy="Read those that failed together, the verdict's reasons first.",
        ok=True,
        topic="multiplicity",
        value=float(failed),
    )
