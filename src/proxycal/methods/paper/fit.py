"""The paper's method, end to end: two VAE stages, groups, matching.

The model, for every unit, with m, s2, g and h networks and v a learned variance:

    z | E ~ N(m_z(E), s2_z(E))      content, which the environment E may drive
    a | E ~ N(m_a(E), s2_a(E))      score of the reporting bias
    P | z ~ N(g(z), v_P)            proxies see the content, not the bias
    y | z, a ~ N(h(z, a), v_y)      the reported outcome sees both

The fit, in four steps:

    1. content.py   (P, E) -> z_hat            the content VAE, then frozen
    2. score.py     (y, z_hat, E) -> a_hat     the bias VAE, best of its starts
    3. groups.py    a_hat -> biased or not     a cut, chosen on validation rows
    4. matching     alpha = mean over the biased of y - mean(y of the k nearest unbiased in z_hat)

Everything inside speaks of over-reporting; direction="under" negates the outcome on the way in and every
signed answer on the way out, so that the two mirror each other exactly.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import ndtri

from proxycal.effect.calibrate import calibrate_turned
from proxycal.effect.match import Controls, Matches, MatchFit, match_effect, match_new
from proxycal.errors import TableError
from proxycal.methods.moments.estimate import fit_moments
from proxycal.methods.packing import pack, unpack
from proxycal.methods.paper.content import ContentFit, fit_content
from proxycal.methods.paper.findings import Evidence, findings, rows_seen, verdict
from proxycal.methods.paper.groups import Split, content_residual, split
from proxycal.methods.paper.score import BiasVaeFit, fit_bias_vae
from proxycal.methods.paper.settings import PaperSettings
from proxycal.methods.parts import controls_from, controls_tensors, hold_out, outcome_of
from proxycal.result import Details, Effects, Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.result import Finding, Prediction, Verdict
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

_NO_NULL = "splits the outcome by a score made from it: without any bias it still reports about 1.5 noise sd"


@dataclass(frozen=True, slots=True)
class PaperFit:
    """Both stages, the rule for the groups and the unbiased rows to match with, all frozen.

    sign : +1 for over-, -1 for under-reporting. level : of the intervals.
    content, bias, split, controls : the frozen parts; controls hold the outcome times `sign`.
    match, moments : the two estimates. share_biased : weighted mean of p_biased.
    evidence : what the verdict rests on. rows : that stage 1 and everything after it were fitted on, where
    those differ; zeros where all saw all rows.
    """

    sign: float
    level: float
    content: ContentFit
    bias: BiasVaeFit
    split: Split
    controls: Controls
    match: Estimate
    moments: Estimate
    share_biased: float
    evidence: Evidence
    rows: tuple[int, int] = (0, 0)

    @property
    def estimate(self) -> Estimate:
        """The matched estimate."""
        return self.match

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Rows of the summary."""
        return Estimate.missing("exact", "not run: fit with method='exact'"), self.moments, self.match

    @property
    def verdict(self) -> Verdict:
        """Found where the score is not empty and has two groups, the interval excludes 0, moments agree."""
        return verdict(self.evidence, self.match, self.moments)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The reasons for the verdict and the cross-checks."""
        return (*findings(self.evidence, self.match, self.moments), *rows_seen(*self.rows))

    @property
    def details(self) -> Details:
        """Every term of both losses by epoch."""
        stages = {"content": self.content.history, "bias": self.bias.history}
        history = {f"{stage}.{name}": curve for stage, part in stages.items() for name, curve in part.items()}
        return Details(history=history)

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer for rows encoded like the fitted ones."""
        y, z, a = self._latents(arrays)
        p_biased = self.split.probability(a)
        matches = self._matches(y, z, a)
        return calibrate_turned(
            self.sign, y, p_biased, self.match.alpha, self.match.se, self.level,
            mu=self._mu(y, matches), z=z, a=self.split.sign * a,
        )  # fmt: skip

    def effects(self, arrays: Arrays) -> Effects:
        """Local effects, each row against its nearest unbiased fitted rows."""
        matches = self._matches(*self._latents(arrays))
        return Effects(self.sign * matches.tau, matches.n_matched, matches.neighbours, matches.distances)

    def alpha_among(self, arrays: Arrays) -> float:
        """The matched size among these rows alone, by the frozen networks and the frozen cut."""
        y, z, a = self._latents(arrays)
        adjust = self.content.settings.adjust
        content, biased = z[:, _matched_on(self.content)], self.split.biased(a)
        return match_effect(y, content, biased, self.controls.k, arrays.weights, adjust=adjust).alpha

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly."""
        values = {
            "sign": self.sign,
            "level": self.level,
            "settings": self.content.settings,
            "dims": {
                "content": [self.content.n_proxies, self.content.n_environment],
                "bias": [self.bias.n_content, self.bias.n_environment],
            },
            "split": self.split,
            "k": self.controls.k,
            "match": self.match,
            "moments": self.moments,
            "share_biased": self.share_biased,
            "evidence": self.evidence,
            "rows": self.rows,
        }
        parts = {
            "content": self.content.tensors,
            "bias": self.bias.tensors,
            "controls": controls_tensors(self.controls),
        }
        return values, pack(parts)

    @classmethod
    def from_state(cls, values: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """The reverse of `state`."""
        settings, dims = PaperSettings(**values["settings"]), values["dims"]
        return cls(
            sign=float(values["sign"]),
            level=float(values["level"]),
            content=ContentFit.from_tensors(settings, tuple(dims["content"]), unpack(tensors, "content")),
            bias=BiasVaeFit.from_tensors(settings, tuple(dims["bias"]), unpack(tensors, "bias")),
            split=_split_from(values["split"]),
            controls=controls_from(unpack(tensors, "controls"), int(values["k"])),
            match=Estimate.from_dict(values["match"]),
            moments=Estimate.from_dict(values["moments"]),
            share_biased=float(values["share_biased"]),
            evidence=Evidence.from_dict(values["evidence"]),
            rows=tuple(values.get("rows", (0, 0))),
        )

    def _latents(self, arrays: Arrays) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The outcome as over-reported (n,), z_hat (n, d) and a_hat (n,)."""
        y = self.sign * outcome_of(arrays)
        z = self.content.encode(arrays.P, arrays.E)
        return y, z, self.bias.score(y, z, arrays.E)

    def _mu(self, y: np.ndarray, matches: Matches) -> np.ndarray:
        """Matched mean of each row; the mean of all controls for a row that has no match but itself."""
        overall = np.average(self.controls.mean_y, weights=self.controls.weight)
        return np.where(matches.n_matched > 0, y - matches.tau, overall)

    def _matches(self, y: np.ndarray, z: np.ndarray, a: np.ndarray) -> Matches:
        return match_new(self.controls, y, z[:, _matched_on(self.content)], self.split.biased(a))


def fit_paper(arrays: Arrays, settings: Settings) -> PaperFit:
    """Fit both stages, cut the groups on validation rows, match, and cross-check with the moments."""
    return fit_paper_together([arrays], [np.arange(arrays.n)], settings)[0]


def fit_paper_together(
    parts: Sequence[Arrays], rows: Sequence[np.ndarray], settings: Settings
) -> list[PaperFit]:
    """One fit per fold, the networks of all folds trained as one batched model.

    parts : the same rows of one table, encoded for each fold; rows : the positions that each fold is fitted
    on. No fold sees another's rows: the answer is that of `fit_paper` on each fold alone, up to rounding.
    """
    paper, first = paper_section(settings), parts[0]
    sign = settings.sign
    y, w = sign * outcome_of(first), first.weights
    seeds = stage_seeds(settings)
    held = [
        hold_out(len(own), paper.validation, seeds[0], None if first.cluster is None else first.cluster[own])
        for own in rows
    ]
    train = [own[kept] for own, (kept, _) in zip(rows, held, strict=True)]
    validation = [own[out] for own, (_, out) in zip(rows, held, strict=True)]
    P, E = (np.stack([getattr(part, name) for part in parts]) for name in ("P", "E"))
    names = (*first.proxy_names, *first.environment_names)
    content = fit_content(P, E, w, train, validation, paper, seeds[1], names=names)
    z = np.stack([stage_1.encode(part.P, part.E) for stage_1, part in zip(content, parts, strict=True)])
    bias = fit_bias_vae(y, z, E, w, train, validation, paper, seeds[2], names=first.environment_names)
    return [
        _finish(part.take(own), settings, stage_1, stage_2, out)
        for part, own, stage_1, stage_2, (_, out) in zip(parts, rows, content, bias, held, strict=True)
    ]


def fit_paper_given(content: ContentFit, n: int, arrays: Arrays, settings: Settings) -> PaperFit:
    """Everything after stage 1, which was trained on n rows, on a sample of them."""
    paper, E = paper_section(settings), arrays.E
    y = outcome_of(arrays) * settings.sign
    seeds = stage_seeds(settings)
    train, validation = hold_out(arrays.n, paper.validation, seeds[0], arrays.cluster)
    z = content.encode(arrays.P, E)
    bias = fit_bias_vae(
        y, z, E, arrays.weights, [train], [validation], paper, seeds[2], names=arrays.environment_names
    )[0]
    return replace(_finish(arrays, settings, content, bias, validation), rows=(n, arrays.n))


def paper_section(settings: Settings) -> PaperSettings:
    """The settings of this method."""
    section: PaperSettings = settings.section("paper")
    return section


def stage_seeds(settings: Settings) -> list[int]:
    """Seeds of the rows held out, of stage 1 and of stage 2."""
    return [int(seed) for seed in np.random.SeedSequence(settings.random_state).generate_state(3)]


def _finish(
    arrays: Arrays, settings: Settings, content: ContentFit, bias: BiasVaeFit, validation: np.ndarray
) -> PaperFit:
    """Cut the groups on validation rows, match, and cross-check with the moments."""
    paper, E, w = paper_section(settings), arrays.E, arrays.weights
    sign = settings.sign
    y = sign * outcome_of(arrays)
    z = content.encode(arrays.P, E)
    a = bias.score(y, z, E)
    rule, matched = _grouped_and_matched(arrays, y, z[:, _matched_on(content)], a, validation, paper)
    moments = fit_moments(y, arrays.P, E, w, arrays.cluster, level=settings.level)
    return PaperFit(
        sign=sign,
        level=settings.level,
        content=content,
        bias=bias,
        split=rule,
        controls=matched.controls,
        match=_match_estimate(matched, settings.level),
        moments=Estimate("moments", moments.alpha, moments.se, moments.low, moments.high, moments.note),
        share_biased=float(np.average(rule.probability(a), weights=w)),
        evidence=Evidence(
            collapsed=bias.collapsed,
            kl=bias.kl,
            score_share=bias.score_share,
            active_units=content.active_units,
            d_z=paper.d_z,
            two_groups=rule.two_groups,
            bic_gain=rule.bic_gain,
            first_stage_f=moments.first_stage_f_robust,
            best_epochs=(content.best_epoch, bias.best_epoch),
            stopped=(content.stopped, bias.stopped),
            recall=matched.recall,
        ),
    )


def _grouped_and_matched(
    arrays: Arrays, y: np.ndarray, z: np.ndarray, a: np.ndarray, validation: np.ndarray, paper: PaperSettings
) -> tuple[Split, MatchFit]:
    """The rule for the groups, oriented so that alpha >= 0 if it can be, and the matched estimate."""
    w = arrays.weights
    left = content_residual(y, z, w)

    def matched(rule: Split) -> MatchFit:
        return match_effect(y, z, rule.biased(a), paper.k, w, arrays.cluster, paper.adjust)

    rule = split(a[validation], left[validation], paper.cut, "over", w[validation], paper.quantile)
    try:
        match = matched(rule)
    except TableError:
        # The cut that suits the validation rows leaves no two groups among all rows. Halves always exist; the
        # size is then still shown, but never as a finding.
        rule = replace(split(a, left, "median", "over", w), two_groups=False)
        match = matched(rule)
    if match.alpha < 0:
        turned = replace(rule, sign=-rule.sign)
        turned_match = matched(turned)
        if turned_match.alpha > match.alpha:
            return turned, turned_match
    return rule, match


def _match_estimate(matched: MatchFit, level: float) -> Estimate:
    reach = float(ndtri(0.5 + level / 2)) * matched.se
    # alpha >= 0 by definition; what falls below is no bias of the stated direction.
    alpha = max(matched.alpha, 0.0)
    note = " ".join(part for part in (_NO_NULL, matched.note) if part)
    return Estimate(
        "match", alpha, matched.se, matched.alpha - reach, max(matched.alpha + reach, alpha), note
    )


def _matched_on(content: ContentFit) -> np.ndarray:
    """The latents to match on: whitening would blow an empty one up to the size of a full one."""
    return content.active if content.active.any() else np.ones_like(content.active)


def _split_from(values: dict[str, Any]) -> Split:
    return Split(**values | {"mean": tuple(values["mean"]), "sd": tuple(values["sd"])})
