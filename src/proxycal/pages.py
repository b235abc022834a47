"""What a fitted model writes: its page, its memo, and its run folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.files import write_bytes
from proxycal.store import save_fit

if TYPE_CHECKING:
    import os

    from proxycal.result import Fit


class Pages:
    """Pages and files of a fitted model; a part of ProxyCalibrator."""

    if TYPE_CHECKING:

        def _fitted(self) -> Fit: ...

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write the page about this fit: one self-contained HTML file, or a PDF where the name ends so."""
        from proxycal.report.page import page_bytes, page_kind

        write_bytes(path, page_bytes(self._fitted(), pdf=page_kind(path) == "pdf"))

    def memo(self, path: str | os.PathLike[str], language: str = "en") -> None:
        """Write one to two pages as a Word document: question, answer, totals, what it rests on.

        language : "en", "de" (German) or "es" (Spanish).
        """
        from proxycal.report.memo import check_memo, memo_bytes

        check_memo(path)
        write_bytes(path, memo_bytes(self._fitted(), language))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write a run folder, whole or not at all; `proxycal.load` reads it."""
        save_fit(folder, self._fitted())
