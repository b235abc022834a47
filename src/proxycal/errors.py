"""Everything the package raises or warns: one root each, and every message says the remedy.

The command line turns any `ProxycalError` into exit code 2 and one line; anything else is a defect.
"""

from __future__ import annotations


class ProxycalError(Exception):
    """Root of all errors that a user can do something about."""


class RolesError(ProxycalError):
    """The columns were declared inconsistently: say which column and which two roles."""


class TableError(ProxycalError):
    """The table cannot be used as it is: say the column, how many rows, the first of them, the remedy."""


class SettingsError(ProxycalError):
    """An argument or a configuration value is outside what is allowed: list what is."""


class TrainingError(ProxycalError):
    """A fit could not go on: say the stage, the epoch, the term and the likely column."""


class StoreError(ProxycalError):
    """A file or a run folder cannot be read or written: say which, why, and what to do."""


class EngineError(ProxycalError):
    """A worker of a parallel run was lost: say what it most likely lacked and how to go on."""


class UnavailableError(ProxycalError):
    """A part is not installed or not in this release: say what to use or install instead."""


class ProxycalWarning(UserWarning):
    """Root of all warnings: the answer stands, but the reader should know this."""
