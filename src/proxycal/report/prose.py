"""Sentences on a page: in the words of its surface, and what a reader types set as code."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from proxycal.table.surface import in_dialect


def prose(text: str) -> Markup:
    """A sentence as markup, escaped, with what stands between backticks as code.

    >>> str(prose("See `proxycal power` & more."))
    'See <code>proxycal power</code> &amp; more.'
    """
    escaped = str(escape(in_dialect(text)))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped))  # nosec B704
