"""What the terms of a predictor look at: proxies, environment, levels and content of n rows."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from proxycal.engine.terms import Kind
    from proxycal.table.encode import Arrays


@dataclass(frozen=True, slots=True)
class Covariates:
    """Columns of n rows, standardised as the encoder made them.

    P : (n, p) proxies, levels as 0/1. E : (n, e) numeric environment columns. levels : {column: (n,) codes}
    of the categorical ones. level_counts : {column: number of levels}. m : (n, d) content. names : of the
    columns of P and E. numeric : where the columns of E stand among all encoded ones.
    """

    P: np.ndarray
    E: np.ndarray
    m: np.ndarray
    levels: dict[str, np.ndarray] = field(default_factory=dict)
    level_counts: dict[str, int] = field(default_factory=dict)
    proxy_names: tuple[str, ...] = ()
    environment_names: tuple[str, ...] = ()
    numeric: tuple[int, ...] = ()

    @classmethod
    def of(cls, arrays: Arrays, m: np.ndarray | None = None) -> Covariates:
        """The columns of encoded rows, with content m (n, d) where it is known."""
        numeric = ~np.array(arrays.categorical, dtype=bool)
        return cls(
            P=arrays.P,
            E=arrays.E[:, numeric] if arrays.E.shape[1] else arrays.E,
            m=np.zeros((arrays.n, 0)) if m is None else m,
            levels=dict(arrays.levels),
            level_counts={name: len(names) for name, names in arrays.level_names.items()},
            proxy_names=arrays.proxy_names,
            environment_names=tuple(np.array(arrays.environment_names, dtype=object)[numeric]),
            numeric=tuple(int(at) for at in np.flatnonzero(numeric)),
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.P)

    def numbers(self, of: Kind) -> np.ndarray:
        """The numeric columns of proxies "P", environment "E" or content "m"."""
        return {"P": self.P, "E": self.E, "m": self.m}[of]

    def name(self, of: Kind, at: int) -> str:
        """What a column is called."""
        names = {"P": self.proxy_names, "E": self.environment_names, "m": ()}[of]
        return names[at] if at < len(names) else "content" if of == "m" else f"column {at + 1}"

    def with_content(self, m: np.ndarray) -> Covariates:
        """The same rows with content m (n, d)."""
        return replace(self, m=m)

    def take(self, rows: np.ndarray) -> Covariates:
        """Some of the rows, by position."""
        return replace(
            self,
            P=self.P[rows],
            E=self.E[rows],
            m=self.m[rows],
            levels={name: codes[rows] for name, codes in self.levels.items()},
        )
