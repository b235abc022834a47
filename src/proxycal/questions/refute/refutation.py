"""One attempt to break a fit: the refits run, read, and kept as a record."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from proxycal.errors import SettingsError
from proxycal.questions.refits import TOO_FEW, Refit, require_repetitions, run_trials
from proxycal.questions.refute import REFUTERS
from proxycal.result import number, plain

if TYPE_CHECKING:
    import pandas as pd

    from proxycal.questions.refits import KeptFit, Progress

BIAS_FOUND = "bias found"
# A verdict that holds, or changes, in this share of the refits is taken to do so.
MOSTLY = 0.9


@dataclass(frozen=True, slots=True)
class Reading:
    """What the refits mean: a statistic, the same as a number (or NaN), words, and whether the fit holds."""

    statistic: str
    value: float
    reading: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Refutation:
    """An attempt to break a fit, and how it ended.

    Parameters
    ----------
    kind : str
        Which refuter, such as "null" or "drop-proxy".
    refits : tuple of Refit
        The fit itself, then each refit, by what was changed.
    statistic : str
        The number that decides, in words.
    value : float
        The same as a number; NaN where there is none.
    reading : str
        What it means.
    ok : bool
        Whether nothing spoke against the fit; `state` also says where there were too few tables to tell.

    Examples
    --------
    >>> import proxycal as pc
    >>> sim = pc.simulate(n=300, n_proxies=2, alpha=5.0, random_state=0)
    >>> model = pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(sim.table)
    >>> model.refute("drop-proxy").table.index.tolist()
    ['as fitted', "without 'p_1'", "without 'p_2'"]

    """

    kind: str
    refits: tuple[Refit, ...]
    statistic: str
    value: float
    reading: str
    ok: bool

    @property
    def question(self) -> str:
        """What was asked, in words."""
        return REFUTERS[self.kind].question if self.kind in REFUTERS else self.kind

    @property
    def state(self) -> str:
        """How it ended: "survived", "REFUTED", or that there were too few tables to tell."""
        n = len(self.refits) - 1
        if not self.ok:
            return "REFUTED"
        few = n < TOO_FEW and self.kind in REFUTERS and REFUTERS[self.kind].repeats
        return f"{n} tables: too few to tell" if few else "survived"

    @property
    def table(self) -> pd.DataFrame:
        """The fit and its refits, by change: the fields of `Refit`."""
        import pandas as pd

        return pd.DataFrame(list(self.refits)).set_index("change")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; a number that is not finite becomes None."""
        values: dict[str, Any] = plain(self, infinity=None)
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Refutation:
        """The reverse of `to_dict`."""
        words = {name: str(values[name]) for name in ("kind", "statistic", "reading")}
        refits = tuple(Refit.from_dict(refit) for refit in values["refits"])
        return cls(**words, refits=refits, value=number(values["value"]), ok=bool(values["ok"]))

    def __str__(self) -> str:
        return f"{self.kind}: {self.state}. {self.reading} ({self.statistic})"

    def _repr_html_(self) -> str:
        return f"<div><p>{html.escape(str(self))}</p>{self.table.to_html()}</div>"


def refute(kind: str, kept: KeptFit, repetitions: int, progress: Progress | None = None) -> Refutation:
    """Fit changed tables and read the results."""
    if kind not in REFUTERS:
        raise SettingsError(f"refute({kind!r}) is not known: use one of {', '.join(REFUTERS)}")
    if kept.arrays.reports is not None and kind != "seed":
        raise SettingsError(
            f"refute('{kind}') does not apply to several reports of one truth: they are compared with each "
            "other, not with proxies; use 'seed'"
        )
    require_repetitions(repetitions)
    refuter, base = REFUTERS[kind], kept.base
    refits = run_trials(refuter.trials(kept, repetitions), kept.settings.n_jobs, progress)
    read = refuter.read(base, refits)
    part = kept.arrays.n < kept.n_fitted
    note = f" (on {kept.arrays.n:,} of {kept.n_fitted:,} rows)" if part else ""
    return Refutation(kind, (base, *refits), read.statistic + note, read.value, read.reading, read.ok)
