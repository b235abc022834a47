"""A table that is read in pieces.

    pass 1   every piece -> a sample of the table, its levels, gaps and weights (sample.py)

    exact    the sample -> encoder, race of the models, matching, moments, checks
    passes   every piece -> sums of the models that meet (bias/everything.py) -> alpha, interval, verdict

    paper    the sample -> encoder
    pass 2   every piece -> encoded rows on disk -> stage 1 (stage1.py)
             the sample -> stage 2, groups, matching, checks

The sums of a piece are the same function of its rows whether the table is in memory, in files or on a
cluster, so the three agree to rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any

from proxycal.bias.designs import pieces as row_blocks
from proxycal.bias.everything import fit_everything
from proxycal.bias.sums import Elsewhere
from proxycal.errors import SettingsError, TableError
from proxycal.methods.exact import answered, data_of, find
from proxycal.scale.sample import given_weights, has_rows, summarise
from proxycal.table.encode import Encoder
from proxycal.table.wording import counted, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from proxycal.bias.designs import Frame
    from proxycal.bias.mixture import Rows
    from proxycal.bias.sums import S
    from proxycal.config import Settings
    from proxycal.methods.exact import ExactFit
    from proxycal.methods.fit import FittedMethod
    from proxycal.methods.paper import PaperFit
    from proxycal.scale.pieces import Pieces
    from proxycal.scale.sample import Summary
    from proxycal.table.encode import Arrays
    from proxycal.table.roles import Roles

# Tables in memory up to this size are raced as they are; larger ones, and only those, go in pieces.
LARGE = 200_000


@dataclass(frozen=True, slots=True)
class LargeFit:
    """A fit of all rows, and the sample that stands for them wherever a reader looks at rows.

    frame, arrays : the sampled rows, as they are and encoded. n : rows in the fit.
    """

    encoder: Encoder
    fit: FittedMethod
    frame: pd.DataFrame
    arrays: Arrays
    n: int


def in_pieces(frame: Any, roles: Roles, settings: Settings) -> bool:
    """Whether a frame in memory is fitted in pieces; what is no frame at all is for others to refuse.

    Not by the paper's method: of a table that is in memory it can use all rows in every stage.
    """
    try:
        is_long = len(frame) > LARGE
    except TypeError:
        return False
    return is_long and settings.method == "exact" and not refuse_large(roles, settings)


def refuse_large(roles: Roles, settings: Settings) -> str:
    """Why a table cannot be fitted in pieces, or nothing."""
    if settings.method not in ("exact", "paper"):
        return f"method='{settings.method}' needs the whole table in memory: use method='exact'"
    if roles.cluster is not None:
        return "clusters need the whole table in memory, since their rows may be anywhere: fit a data frame"
    if settings.interval != "sandwich":
        return f"interval='{settings.interval}' needs the whole table in memory: use interval='sandwich'"
    return ""


def fit_large(pieces: Pieces, roles: Roles, settings: Settings) -> LargeFit:
    """Fit a table that is visited in pieces: all of its rows where that can be, a sample where not."""
    why = refuse_large(roles, settings)
    if why:
        raise SettingsError(why)
    seen = pieces.add_up(partial(summarise, roles=roles))
    _refuse_gaps(seen, roles, settings)
    encoder = Encoder.fit(seen.sample, roles, settings.missing)  # type: ignore[arg-type]
    encoder = replace(
        encoder,
        rows_seen=seen.rows,
        rows_kept=seen.complete if settings.missing == "drop" else seen.rows,
        gaps=tuple((name, count) for name, count in seen.gaps.items() if count),
    )
    mean_weight = 1.0 if seen.whole else seen.weight / seen.complete
    arrays = encoder.transform(seen.sample)
    weights = given_weights(seen.sample, roles, arrays.kept) / mean_weight
    arrays = replace(arrays, weights=weights * seen.count[arrays.kept])
    fit: FittedMethod = (
        _fit_paper(pieces, encoder, mean_weight, arrays, settings)
        if settings.method == "paper"
        else _fit_exact(pieces, encoder, mean_weight, arrays, settings, seen.weight / mean_weight)
    )
    return LargeFit(encoder, fit, seen.sample, arrays, encoder.rows_kept)


def _fit_exact(
    pieces: Pieces, encoder: Encoder, mean_weight: float, arrays: Arrays, settings: Settings, weight: float
) -> ExactFit:
    """The sample chooses the models, all rows fit them; `weight` is that of all rows."""
    race = find(arrays, settings, weight)
    how = _How(encoder, mean_weight, race.sign)
    seen = float(arrays.weights.sum())
    everything = fit_everything(race.bias, partial(_Chunks, pieces, how), weight, race.data)
    made = answered(replace(race, bias=everything), arrays, settings)
    # What the race paid for a parameter on the sample, it pays for all rows.
    cost = made.evidence.cost * math.log(weight) / math.log(seen)
    evidence = replace(made.evidence, n=encoder.rows_kept, cost=cost, sampled=arrays.n)
    return replace(made, evidence=evidence)


def _fit_paper(
    pieces: Pieces, encoder: Encoder, mean_weight: float, arrays: Arrays, settings: Settings
) -> PaperFit:
    """All rows train stage 1, the sample everything after it."""
    # Torch is loaded only where networks are trained.
    from proxycal.methods.paper import content_config, fit_paper_given, refuse_effects, stage_seeds
    from proxycal.scale.stage1 import fit_content_pieces

    refuse_effects(settings)
    asked = settings.paper
    content = fit_content_pieces(
        pieces, encoder, content_config(asked), stage_seeds(settings), asked.validation, mean_weight
    )
    return fit_paper_given(content, encoder.rows_kept, arrays, settings)


@dataclass(frozen=True, slots=True)
class _How:
    """What a worker needs to see raw rows as the estimator does."""

    encoder: Encoder
    mean_weight: float
    sign: float


@dataclass(frozen=True, slots=True)
class _Chunks(Elsewhere):
    """All rows of the table in the features of one frame; nothing of them is kept between sums."""

    pieces: Pieces
    how: _How
    frame: Frame

    def add_up(self, function: Callable[[Rows], S]) -> S:
        return self.pieces.add_up(partial(_sums, self.how, self.frame, function))


def _sums(how: _How, features: Frame, function: Callable[[Rows], S], frame: pd.DataFrame) -> S | None:
    """The sums of one piece, in blocks that fit the processor's cache; None where no row of it is used."""
    if not has_rows(frame, how.encoder):
        return None
    arrays = how.encoder.transform(frame)
    weights = given_weights(frame, how.encoder.roles, arrays.kept) / how.mean_weight
    data = data_of(replace(arrays, weights=weights), how.sign)
    return reduce(add, (function(features.rows(data.take(block))) for block in row_blocks(arrays.n)))


def _refuse_gaps(seen: Summary, roles: Roles, settings: Settings) -> None:
    """Missing values that the settings do not allow, counted over the whole table."""
    gaps = {name: count for name, count in seen.gaps.items() if count}
    if settings.missing == "raise" and gaps:
        name = next(iter(gaps))
        more = f" (also {', '.join(shown(other) for other in list(gaps)[1:])})" if len(gaps) > 1 else ""
        raise TableError(
            f"column {shown(name)} holds {counted(gaps[name], 'missing value')}{more}: "
            "pass missing='drop' or 'impute'"
        )
    if settings.missing == "impute" and roles.outcome in gaps:
        raise TableError(
            f"column {shown(roles.outcome)} holds {counted(gaps[roles.outcome], 'missing value')}, and the "
            "outcome is never imputed: pass missing='drop' or remove those rows"
        )
