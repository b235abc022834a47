"""The least that the steps of the paper's two networks cost: their products of matrices alone.

A step of one network on B rows, hidden width w, is these products (`methods/paper/networks/hidden.py`):

    forward     folded (w, in+1) (in+1, B)      out (out, w) (w, B)
    backward    the first again                 weights of out (out, B) (B, w)     hidden (w, out) (out, B)
                weights (w, B) (B, in+1)        inputs (in+1, w) (w, B), of a decoder only

Each is timed by itself, again and again in the same memory, which stays in the cache: nothing that calls them
can be faster on this machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from benchmarks.measure import cpu
from proxycal.methods.paper.networks.batches import batch_bounds
from proxycal.methods.paper.networks.train import n_epochs

if TYPE_CHECKING:
    from proxycal.methods.paper.settings import PaperSettings

# Long enough for a clock of CPU time, short beside a fit.
REPEATS = 200

Product = tuple[int, int, int]


def products(n_in: int, n_out: int, width: int, rows: int, decoder: bool) -> list[Product]:
    """The products (a, b) (b, c) of one step of a network with one hidden layer, as (a, b, c).

    >>> len(products(5, 10, 256, 512, decoder=True)), len(products(5, 10, 256, 512, decoder=False))
    (7, 6)
    """
    first, out = (width, n_in + 1, rows), (n_out, width, rows)
    back = [(n_out, rows, width), (width, n_out, rows), (width, rows, n_in + 1)]
    return [first, out, first, *back, *([(n_in + 1, width, rows)] if decoder else [])]


def of_a_fit(n: int, n_proxies: int, n_environment: int, settings: PaperSettings) -> float:
    """CPU seconds of the products of all steps of both stages, for one model trained on n rows."""
    bounds = batch_bounds(n, settings.batch_size)
    steps = n_epochs(n, settings) * (len(bounds) - 1)
    rows, width, d_z = n // (len(bounds) - 1), settings.width, settings.d_z
    extra = n_environment if settings.encode_environment else 0
    content = [
        *products(n_proxies + extra, 2 * d_z, width, rows, decoder=False),
        *products(d_z, n_proxies, width, rows, decoder=True),
    ]
    bias = [
        *products(1 + d_z + n_environment, 2, width, rows, decoder=False),
        *products(d_z + 1, 1, width, rows, decoder=True),
    ]
    one_step = sum(map(_seconds, content)) + settings.restarts * sum(map(_seconds, bias))
    return steps * one_step


def _seconds(product: Product) -> float:
    a, b, c = product
    left, right, out = torch.randn(a, b), torch.randn(b, c), torch.empty(a, c)

    def again() -> None:
        for _ in range(REPEATS):
            torch.mm(left, right, out=out)

    return min(cpu(again)[0] for _ in range(3)) / REPEATS
