"""The errors and warnings of the package: one base class each, and every message says what to do.

The command line turns any `ProxycalError` into exit code 2 and one line; anything else is a bug.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


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


class NumbersError(ProxycalError):
    """The arithmetic of a method came to no number. The message says which, and what usually helps."""


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


@contextmanager
def arithmetic(doing: str) -> Iterator[None]:
    """Arithmetic that fails within the block is an error with what to do."""
    try:
        yield
    except (ValueError, ArithmeticError) as error:
        ours = failed_arithmetic(error, doing)
        if ours is None:
            raise
        raise ours from error


def failed_arithmetic(error: Exception, doing: str) -> NumbersError | None:
    """What to say of an error of arithmetic; None of any other.

    >>> failed_arithmetic(ValueError("array must not contain infs or NaNs"), "the fit") is None
    False
    >>> failed_arithmetic(ValueError("invalid literal for int()"), "the fit") is None
    True
    """
    # By its name, so that what needs no numpy does not load it.
    singular = any(kind.__name__ == "LinAlgError" for kind in type(error).__mro__)
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    # How numpy, scipy and scikit-learn name numbers that are none.
    no_number = isinstance(error, ValueError) and ("NaN" in said or "infs" in said)
    if not (singular or no_number or isinstance(error, ArithmeticError)):
        return None
    return NumbersError(
        f"{doing} came to no number ({said}). Columns that say the same, values that are many orders of "
        "magnitude apart, or too few rows for so many columns do that: leave out a column or group its "
        "levels, bring columns to like units, or choose another method. If none of it explains this, please "
        "report it"
    )
