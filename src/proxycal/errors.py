"""The errors and warnings of the package: one base class each, and every message says what to do.

The command line turns any `ProxycalError` into exit code 2 and one line; anything else is a bug.
"""

from __future__ import annotations


class ProxycalError(Exception):
    """Base class of all errors that a user can do something about."""


class RolesError(ProxycalError):
    """The roles are inconsistent. The message names the column and the roles."""


class TableError(ProxycalError):
    """The table cannot be used. The message names the column, the rows and a remedy."""


class UnitsError(TableError):
    """A column is in other units than when the model was fitted. The message names it and the factor."""


class SettingsError(ProxycalError):
    """An argument or a value of a settings file is not allowed. The message lists what is."""


class TrainingError(ProxycalError):
    """A fit failed. The message names the stage, the epoch, the term and the likely column."""


class StoreError(ProxycalError):
    """A file or run folder cannot be read or written. The message says which, why, and what to do."""


class EngineError(ProxycalError):
    """A worker of a parallel run was lost. The message gives the likely reason and how to resume."""


class UnavailableError(ProxycalError):
    """A feature is not installed or not available. The message says what to install or use instead."""


class AnswerError(ProxycalError):
    """An answer that nothing supports: a bug in proxycal. The message says what to send."""


class ProxycalWarning(UserWarning):
    """Base class of all warnings: the result is valid, but the reader should know this."""


class ReadingNote(ProxycalWarning):
    """What had to be understood of a file to read it. The message says it in one line, with an example."""
