"""Questions of the audit about sizes: outcomes and proxies that are spread over decades."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from proxycal.table.audited import Trouble
from proxycal.table.small_counts import are_small_counts
from proxycal.table.surface import choose, choose_columns
from proxycal.table.wording import counted, listed, shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from proxycal.table.audited import AuditTable
    from proxycal.table.columns import Column

# A size this skewed, whose logarithm is much less so, is better seen as a logarithm: an exponential
# distribution has skewness 2, a lognormal one of log sd 1 has 6. Tables of fewer sizes show it by chance.
SKEWED, FEW = 3.0, 20


def is_skewed_size(x: NDArray[np.float64]) -> bool:
    """Whether numbers are sizes, 0 or more, that are skewed as they are and not as logarithms.

    >>> r = np.random.default_rng(0).normal(size=500)
    >>> is_skewed_size(np.exp(1.5 * r)), is_skewed_size(r), is_skewed_size(r + 10.0)
    (True, False, False)
    """
    x = x[np.isfinite(x)]
    positive = x[x > 0.0]
    if (x < 0.0).any() or len(positive) < FEW or len(np.unique(positive)) < FEW:
        return False
    as_is = skewness(positive / positive.max())
    return as_is > SKEWED and abs(skewness(np.log(positive))) < 0.5 * as_is


def skewness(x: NDArray[np.float64]) -> float:
    """The third moment about the mean in units of the sd; `import scipy.stats` for it takes half a second.

    >>> round(skewness(np.array([0.0, 0.0, 0.0, 1.0])), 6)
    1.154701
    """
    centred = x - x.mean()
    return float((centred**3).mean() / (centred**2).mean() ** 1.5)


def advised(table: AuditTable) -> tuple[bool, tuple[str, ...]]:
    """Whether the log scale is advised for the outcome, and the proxies whose logarithm is."""
    outcome = table.columns.get(table.roles.outcome)
    sizes = tuple(
        name
        for name in table.roles.proxies
        if name in table.columns and name not in table.log_proxies and _skewed(table.columns[name])
    )
    as_factor = table.scale != "log" and outcome is not None and _skewed(outcome) and not _small(outcome)
    return as_factor, sizes


def skewed(table: AuditTable) -> list[Trouble]:
    """An outcome, or proxies, over several decades."""
    troubles = []
    as_factor, names = advised(table)
    if as_factor:
        outcome = table.columns[table.roles.outcome]
        troubles.append(
            Trouble(
                _decades(outcome),
                f"The values of {shown(outcome.name)} span several decades: its few largest rows decide a "
                "fit, and a biased report of such a size is more often a share of the truth than the truth "
                "less a fixed amount.",
                _sentence(
                    f"{choose('scale', 'log')}: the bias is then a factor, zeros stay zero, and calibrated "
                    "values stay in the outcome's own units"
                ),
                _ratio(outcome),
            )
        )
    if names:
        sizes = [table.columns[name] for name in names]
        troubles.append(
            Trouble(
                "; ".join(_decades(column) for column in sizes[:3]),
                f"The values of {listed(names, limit=5)} span several decades, so that the few largest rows "
                "decide how these proxies relate to the outcome.",
                _sentence(f"{choose_columns('log_proxies', names)} to use their logarithms"),
                max(_ratio(column) for column in sizes),
            )
        )
    return troubles


def negative(table: AuditTable) -> list[Trouble]:
    """An outcome below 0 where the bias is a factor."""
    outcome = table.columns.get(table.roles.outcome)
    if outcome is None or outcome.numbers is None or not (bad := outcome.numbers < 0.0).any():
        return []
    return [
        Trouble(
            f"column {shown(outcome.name)}: {counted(int(bad.sum()), 'negative value')}, {table.rows(bad)}",
            f"{shown(outcome.name)} is below 0 in {counted(int(bad.sum()), 'row')}, and no factor makes a "
            "number negative.",
            _sentence(f"correct them or leave those rows out, or {choose('scale', 'linear')}"),
            float(bad.sum()),
            must_fix=True,
        )
    ]


def _skewed(column: Column) -> bool:
    return column.numbers is not None and is_skewed_size(column.numbers)


def _small(column: Column) -> bool:
    return column.numbers is not None and are_small_counts(column.numbers)


def _ratio(column: Column) -> float:
    assert column.numbers is not None
    positive = column.numbers[column.numbers > 0.0]
    return float(np.nanmax(positive) / np.nanmedian(positive))


def _decades(column: Column) -> str:
    assert column.numbers is not None
    positive = column.numbers[column.numbers > 0.0]
    low, middle, high = np.nanmin(positive), np.nanmedian(positive), np.nanmax(positive)
    return (
        f"column {shown(column.name)}: from {_three(low)} to {_three(high)} above 0, the largest "
        f"{high / middle:,.0f} times the median"
    )


def _three(value: float) -> str:
    """Three digits, without an exponent where there is room for none."""
    return f"{float(f'{value:.3g}'):,.0f}" if 1e3 <= value < 1e15 else f"{value:.3g}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
