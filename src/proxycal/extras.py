"""Networks are an extra: whether torch is installed, and what to say where it is not."""

from __future__ import annotations

from importlib.util import find_spec

from proxycal.errors import UnavailableError

INSTALL_TORCH = "pip install 'proxycal[paper]'"


def is_installed(package: str) -> bool:
    """Whether a package can be imported; nothing is loaded to find out."""
    return find_spec(package) is not None


def require_torch(what: str, instead: str) -> None:
    """Refuse what needs networks where torch is missing, before any work is done.

    Parameters
    ----------
    what
        What was asked for, as the reader wrote it.
    instead
        What works without torch, as the end of the sentence "or ...".

    Raises
    ------
    UnavailableError
        If torch is not installed.

    """
    if not is_installed("torch"):
        raise UnavailableError(f"{what} needs torch: {INSTALL_TORCH}, or {instead}")
