"""A table as the audit sees it, and one problem found in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from proxycal.table.total_rows import TotalRows
from proxycal.table.wording import rows_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from proxycal.table.columns import Column
    from proxycal.table.roles import Roles


@dataclass(frozen=True)
class AuditTable:
    """The table as far as it can be read.

    `keys` holds the codes of id and cluster (-1 where missing), `unread` what was wrong with columns that
    are neither there nor in `columns`. scale, log_proxies, missing, total_rows : what a fit was, or will be,
    asked. totals : rows that are totals of others.
    """

    index: pd.Index
    roles: Roles
    columns: dict[str, Column]
    keys: dict[str, NDArray[np.int64]]
    unread: dict[str, str]
    scale: str = "linear"
    log_proxies: tuple[str, ...] = ()
    missing: str = "raise"
    totals: TotalRows = field(default_factory=TotalRows.none)
    total_rows: str = "raise"

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.index)

    @property
    def covariates(self) -> list[Column]:
        """The proxies and environment columns that can be read."""
        names = (*self.roles.proxies, *self.roles.environment)
        return [self.columns[name] for name in names if name in self.columns]

    def role(self, name: str) -> str:
        """The role of a column."""
        return self._role_of[name]

    @cached_property
    def _role_of(self) -> dict[str, str]:
        return {column: role for role, column in self.roles}

    def rows(self, mask: NDArray[np.bool_]) -> str:
        """The first rows of a mask, in words."""
        return rows_of(mask, self.index)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One problem: the parts of a Finding below its question. must_fix : no fit is possible with it."""

    statistic: str
    reading: str
    remedy: str
    value: float
    ok: bool = False
    must_fix: bool = False
