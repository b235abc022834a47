"""Attempts to break a finished fit: its rows are changed in one way, fitted again, and the refits read.

Each refuter is a file of this folder, with two functions,

    trials(kept, repetitions) -> list[Trial]    the changed tables
    read(base, refits) -> Reading               what their fits mean

and one entry of REFUTERS, which names it and asks its question. The command line, the report and the types
read that table; it loads a file on first use.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.questions.refits import KeptFit, Refit, Trial
    from proxycal.questions.refute.refutation import Reading

RefuterName = Literal["null", "placebo", "drop-proxy", "leak", "seed"]


@dataclass(frozen=True, slots=True)
class Refuter:
    """One way to try to break a fit.

    Parameters
    ----------
    name : str
        Its name in `refute(kind)`; its file is called the same, with "_" for "-".
    question : str
        What it asks, for a reader.
    change : str
        What it does to the rows.
    repeats : bool, default True
        Whether it does the same by chance again and again, so that few refits say little.

    """

    name: RefuterName
    question: str
    change: str
    repeats: bool = True

    def trials(self, kept: KeptFit, repetitions: int) -> list[Trial]:
        """The changed tables to fit."""
        trials: list[Trial] = self._module().trials(kept, repetitions)
        return trials

    def read(self, base: Refit, refits: Sequence[Refit]) -> Reading:
        """What the refits mean, beside the fit itself."""
        reading: Reading = self._module().read(base, refits)
        return reading

    def _module(self) -> Any:
        return importlib.import_module(f"{__name__}.{self.name.replace('-', '_')}")


_REFUTERS = (
    Refuter(
        "null",
        "Does the method claim a bias in tables drawn without one?",
        "draws the outcome from the best model without a bias",
    ),
    Refuter(
        "placebo",
        "Is a bias still found when the proxies say nothing?",
        "shuffles the proxies among the rows",
    ),
    Refuter(
        "drop-proxy",
        "Does the result depend on a single proxy?",
        "leaves out one proxy at a time",
        repeats=False,
    ),
    Refuter(
        "leak",
        "How much of the bias would a proxy have to carry to change the verdict?",
        "adds a share of the bias to one proxy",
        repeats=False,
    ),
    Refuter(
        "seed",
        "Do other seeds and parts of the rows give the same result?",
        "uses other seeds, and four fifths of the rows",
    ),
)
REFUTERS: dict[str, Refuter] = {refuter.name: refuter for refuter in _REFUTERS}
