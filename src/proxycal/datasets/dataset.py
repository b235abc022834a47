"""What every loader returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from proxycal.table.roles import Roles


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table, the roles of its columns, and where it comes from.

    table : pandas frame, one row per unit
    roles : which column is the outcome, which are proxies, which are environment
    about : source, meaning of the columns, terms and citation, in plain text
    """

    table: pd.DataFrame
    roles: Roles
    about: str
