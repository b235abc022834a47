"""Short docstrings as Markdown: examples become code, "name : meaning" lines become a list.

Docstrings with numpy sections are left to griffe.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from griffe import Extension

if TYPE_CHECKING:
    from griffe import Object

# "alpha, se : size of the bias" at the start of a line or sentence; other colons have no space before them.
_MEANING = re.compile(r"(?:^|(?<=\. ))(?P<names>[a-z]\w*(?:, \w+)*) : ", flags=re.MULTILINE)
# The same as two columns; every line of the paragraph is one.
_COLUMNS = re.compile(r"^(?P<names>[a-z]\w*) {2,}", flags=re.MULTILINE)
_SECTION = re.compile(r"^[A-Z][a-z]+\n-{3,}$", flags=re.MULTILINE)


class Markdown(Extension):
    """Rewrites each docstring once, when its object is read."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Called by griffe for every module, class, function and attribute."""
        if obj.docstring is not None and not _SECTION.search(obj.docstring.value):
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """Paragraph by paragraph."""
    parts = re.split(r"\n{2,}", text)
    return "\n\n".join(_example(part) if part.startswith(">>>") else _listed(part) for part in parts)


def _example(part: str) -> str:
    return f"```pycon\n{part}\n```"


def _listed(part: str) -> str:
    if part.startswith(" "):
        return part
    for pattern in (_MEANING, _COLUMNS):
        if pattern.search(part):
            return pattern.sub(lambda match: f"\n- `{match['names']}`: ", part).strip()
    return part
