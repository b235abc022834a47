"""Sentences on a page: in the words of its surface, and what a reader types set as code."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from proxycal.table.surface import in_dialect

# How the exact method names its models: "BIC gain 12.0 (J=1, with bias, against plain, without)".
_MODELS = re.compile(r" \([^()]*, with bias, against [^()]*, without\)")
_COMPONENTS = re.compile(r"\bJ=(\d+)")


def without_codes(text: str) -> str:
    """A statistic or sentence without the codes by which models are told apart.

    >>> without_codes("BIC gain -15.0 (J=1, with bias, against plain, without)")
    'BIC gain -15.0'
    >>> without_codes("shape of the outcome: J=2")
    'shape of the outcome: 2 normal parts'
    """

    def parts(found: re.Match[str]) -> str:
        return "1 normal part" if found[1] == "1" else f"{found[1]} normal parts"

    return _COMPONENTS.sub(parts, _MODELS.sub("", text))


def prose(text: str) -> Markup:
    """A sentence as markup, escaped, with what stands between backticks as code.

    >>> str(prose("See `proxycal power` & more."))
    'See <code>proxycal power</code> &amp; more.'
    """
    escaped = str(escape(in_dialect(without_codes(text))))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped))  # nosec B704
