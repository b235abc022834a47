"""A sheet that an auditor filled in, brought back into the table of a finished run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from proxycal.app.tables import Table
from proxycal.errors import ProxycalError
from proxycal.files import write_table
from proxycal.reading.table import read_table
from proxycal.table.audit_sheet import PROBABILITY, take_back, truth_name

if TYPE_CHECKING:
    from pathlib import Path

    from proxycal.app.state import Finished
    from proxycal.table.roles import Roles

AUDITED = "audited.parquet"


def with_checked(finished: Finished, path: Path, name: str, place: Path) -> tuple[Table, Roles]:
    """The table with the true values, written to `place`, and the roles that say where they are.

    path, name : our copy of the sheet, and what its owner calls it.
    """
    roles = finished.request.roles
    try:
        audited = take_back(finished.table.frame, roles, read_table(path, text=roles.text))
    except ProxycalError as error:
        raise type(error)(str(error).replace(str(path), name)) from error
    audited = audited.reset_index(drop=True)
    write_table(audited, place)
    return Table(AUDITED, place, audited), replace(roles, truth=truth_name(roles), inclusion=PROBABILITY)
