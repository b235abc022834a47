"""Stage 1 of the paper's method on a table that is read in pieces.

    every piece -> encoded rows (P, E, weight) -> one temporary file -> mini-batches of random rows

The file is what the networks are trained from, so the fit does not depend on where the table was.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError
from proxycal.methods.paper.content import fit_content_file
from proxycal.methods.paper.networks.device import device_named
from proxycal.methods.paper.networks.rows import write_rows
from proxycal.scale.sample import given_weights, has_rows
from proxycal.table.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from proxycal.methods.paper.content import ContentFit
    from proxycal.methods.paper.content_config import ContentConfig
    from proxycal.scale.pieces import Pieces
    from proxycal.table.encode import Encoder

# Held out at most, all in memory: the mean loss of so many rows is known to about a hundredth of a nat.
VALIDATION_ROWS = 50_000


def fit_content_pieces(
    pieces: Pieces,
    encoder: Encoder,
    config: ContentConfig,
    seeds: Sequence[int],
    validation: float = 1 / 9,
    unit: float = 1.0,
) -> ContentFit:
    """Train the content VAE on all rows of a table, none of which stay in memory.

    encoder : fitted to the table or a sample of it, its `rows_kept` those of the whole table.
    seeds : of the rows held out and of the training. validation : share of the rows held out, up to
    VALIDATION_ROWS. unit : of the weights.
    The temporary file takes 4 bytes for each row and encoded column; TMPDIR says where.
    """
    # A device that is not there is said before the table is read.
    device_named(config.device)
    proxies, environment = (
        [code.name + suffix for code in codes for suffix in code.suffixes]
        for codes in (encoder.proxies, encoder.environment)
    )
    with tempfile.TemporaryDirectory(prefix="proxycal-") as folder:
        path = Path(folder) / "rows"
        n = write_rows(path, pieces.in_turn(partial(_encoded, encoder, unit)))
        if n != encoder.rows_kept:
            raise TableError(
                f"the table had {counted(encoder.rows_kept, 'row')} when it was looked at and {n} when it "
                "was read again: fit it when nothing changes it"
            )
        train, held_out = _split(n, validation, seeds[0])
        dims = len(proxies), len(environment)
        names = [*proxies, *environment]
        return fit_content_file(path, dims, train, held_out, config, seeds[1], names=names)


def _encoded(encoder: Encoder, unit: float, frame: pd.DataFrame) -> np.ndarray:
    """The rows of a piece, (m, p + q + 1) in single precision: P, E and the weight."""
    if not has_rows(frame, encoder):
        width = sum(len(code.suffixes) for code in (*encoder.proxies, *encoder.environment)) + 1
        return np.empty((0, width), dtype=np.float32)
    arrays = encoder.transform(frame)
    weights = given_weights(frame, encoder.roles, arrays.kept) / unit
    # What is beyond single precision becomes infinite, which the loss finds and names.
    with np.errstate(over="ignore"):
        return np.column_stack([arrays.P, arrays.E, weights]).astype(np.float32)


def _split(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows held out, as sorted positions."""
    held_out = min(max(round(share * n), 10), n // 2, VALIDATION_ROWS)
    rng = np.random.default_rng(seed)
    validation = np.sort(rng.choice(n, size=held_out, replace=False, shuffle=False))
    return np.delete(np.arange(n), validation), validation
