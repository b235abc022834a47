"""The validated method on a table that is read in pieces.

The exact fit adds up all rows; the candidates learn from every validated row and the sample of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.methods.gathered import Gathered, validated_rows
from proxycal.methods.registry import METHODS
from proxycal.methods.validated.fit import conclude, require_rows

if TYPE_CHECKING:
    from proxycal.methods.validated.record import ValidatedFit
    from proxycal.scale.fit import EncodedPieces
    from proxycal.settings import Settings


def fit_pieces(table: EncodedPieces, settings: Settings) -> ValidatedFit:
    """Fit the exact method to all rows without any truth, gather the validated rows, and learn from them."""
    known = table.add_up(validated_rows).joined()
    require_rows(known)
    exact = METHODS["exact"].fit_in_pieces(table.without_truth(), settings)
    assert table.sample.truth is not None
    others = table.sample.take(np.flatnonzero(~np.isfinite(table.sample.truth)))
    return conclude(Gathered((known, others)).joined(), exact, settings, table.n)
