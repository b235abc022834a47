"""What validation says: rows whose truth is known, and sums of so many confirmed of so many checked.

With enough of it nothing has to be assumed of what the environment does to the truth: what is reported of
known truths shows the share that is reported, and the likelihood of all rows does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from proxycal.errors import TableError
from proxycal.methods.rates.thresholds import LEAST_VALIDATED, LEAST_WRONG
from proxycal.result import number

if TYPE_CHECKING:
    from proxycal.table.encode import Arrays


@dataclass(frozen=True, slots=True)
class Validated:
    """Validation of a table.

    rows, wrong : rows whose truth is known, and those of them whose report differs. against : those that
    differ against the stated direction. checked, confirmed : events, or answers, of rows' kinds.
    """

    rows: int = 0
    wrong: int = 0
    against: int = 0
    checked: float = 0.0
    confirmed: float = 0.0

    @classmethod
    def of(cls, arrays: Arrays, sign: float) -> Self:
        """What a table has of it."""
        checked, confirmed = (
            0.0 if part is None else float(part.sum()) for part in (arrays.checked, arrays.confirmed)
        )
        if arrays.truth is None or arrays.y is None:
            return cls(checked=checked, confirmed=confirmed)
        known = np.isfinite(arrays.truth)
        off = arrays.y[known] - arrays.truth[known]
        wrong, against = int((off != 0.0).sum()), int((sign * off < 0.0).sum())
        return cls(int(known.sum()), wrong, against, checked, confirmed)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Rebuild it from what JSON keeps of its fields."""
        rows, wrong, against = (int(values[name]) for name in ("rows", "wrong", "against"))
        return cls(rows, wrong, against, number(values["checked"]), number(values["confirmed"]))

    @property
    def enough(self) -> bool:
        """Whether there is enough of it to learn from."""
        return self.rows + self.checked >= LEAST_VALIDATED

    @property
    def errors(self) -> float:
        """How many reports of known truths are wrong."""
        return self.wrong + self.checked - self.confirmed

    @property
    def shows_bias(self) -> bool:
        """Whether more of them are than slips of a pen."""
        return self.errors >= LEAST_WRONG


def refuse_impossible(arrays: Arrays, validated: Validated, sign: float) -> None:
    """Raise where known truths are no counts, or differ from reports as no such bias can."""
    assert arrays.truth is not None
    known = arrays.truth[np.isfinite(arrays.truth)]
    if ((known < 0.0) | (known != np.rint(known))).any():
        raise TableError(
            "the role truth holds values that are no counts: with family='counts' a true value is a whole "
            "number of at least 0; correct them"
        )
    if validated.against:
        way, other = ("more", "over") if sign < 0.0 else ("less", "under")
        raise TableError(
            f"{validated.against} of {validated.rows} validated rows report {way} than is true, and with "
            f"direction='{'under' if sign < 0.0 else 'over'}' a count cannot: correct them, set "
            f"direction='{other}' if most do, or use method='validated', which takes errors of both signs"
        )
