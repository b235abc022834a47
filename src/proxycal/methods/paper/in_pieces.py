"""Stage 1 of the paper's method on a table that is read in pieces.

    every piece -> encoded rows (P, E, weight) -> one temporary file -> mini-batches of random rows

The file is what the networks are trained from, so the fit does not depend on where the table was.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from proxycal.errors import TableError
from proxycal.methods.paper.content import fit_content_file
from proxycal.methods.paper.fit import fit_paper_given, paper_section, stage_seeds
from proxycal.methods.paper.networks.device import device_named
from proxycal.methods.paper.networks.rows import write_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxycal.methods.paper.content import ContentFit
    from proxycal.methods.paper.fit import PaperFit
    from proxycal.methods.paper.settings import PaperSettings
    from proxycal.scale.fit import EncodedPieces
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays

# Held out at most, all in memory: the mean loss of so many rows is known to about a hundredth of a nat.
VALIDATION_ROWS = 50_000


def fit_pieces(table: EncodedPieces, settings: Settings) -> PaperFit:
    """All rows train stage 1, the sample everything after it."""
    content = fit_content_pieces(table, paper_section(settings), stage_seeds(settings))
    return fit_paper_given(content, table.n, table.sample, settings)


def fit_content_pieces(table: EncodedPieces, settings: PaperSettings, seeds: Sequence[int]) -> ContentFit:
    """Train the content VAE on all rows of a table, none of which stay in memory.

    seeds : of the rows held out and of the training. At most VALIDATION_ROWS rows are held out.
    The temporary file takes 4 bytes for each row and encoded column; TMPDIR says where.
    """
    # A device that is not available is named before the table is read.
    device_named(settings.device)
    proxies, environment = table.sample.proxy_names, table.sample.environment_names
    with tempfile.TemporaryDirectory(prefix="proxycal-") as folder:
        path = Path(folder) / "rows"
        n = write_rows(path, table.in_turn(_rows))
        if n != table.n:
            raise TableError(
                f"the table had {table.n} rows when it was looked at and {n} when it was read again: fit it "
                "when nothing changes it"
            )
        train, held_out = hold_out_rows(n, settings.validation, seeds[0])
        dims = len(proxies), len(environment)
        return fit_content_file(
            path, dims, train, held_out, settings, seeds[1], names=[*proxies, *environment]
        )


def _rows(arrays: Arrays) -> np.ndarray:
    """The rows of a piece, (m, p + q + 1) in single precision: P, E and the weight."""
    # What is beyond single precision becomes infinite, which the loss finds and names.
    with np.errstate(over="ignore"):
        return np.column_stack([arrays.P, arrays.E, arrays.weights]).astype(np.float32)


def hold_out_rows(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows held out, as sorted positions."""
    held_out = min(max(round(share * n), 10), n // 2, VALIDATION_ROWS)
    rng = np.random.default_rng(seed)
    validation = np.sort(rng.choice(n, size=held_out, replace=False, shuffle=False))
    return np.delete(np.arange(n), validation), validation
