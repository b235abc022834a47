"""The one table of methods: what the rest of the package knows of an estimator.

A method is a folder with a function `fit(arrays, settings)` that returns a frozen record with the members of
`MethodFit`, and one entry of METHODS. Settings, command line, app, large tables and docs read the entry; its
modules are imported on first use, so that listing methods loads nothing.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

from proxycal.errors import SettingsError, UnavailableError
from proxycal.extras import is_installed

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from proxycal.result import Details, Effects, Estimate, Finding, Prediction, Verdict
    from proxycal.scale.fit import EncodedPieces
    from proxycal.settings import Settings
    from proxycal.table.encode import Arrays


class MethodFit(Protocol):
    """What the package asks of a finished fit of a method. Implementations are frozen dataclasses.

    Totals (`effect.totals`) are sums of `predict`, with the error of alpha, unless the record has some of

        row_bias(arrays) -> RowBias         who is biased and by how much, and how both move with the k
                                            parameters that all rows share, on the scale of the fit
        row_truth(arrays) -> RowTruth       in place of row_bias: mean, variance and slopes of each row's true
                                            outcome in the units of `arrays.y`; `extra` (n, m) is added up too
        draw_truth(arrays, draws, places, outside) -> (m, n)
                                            draws of the true outcome, in place of those that `effect.draws`
                                            makes of row_bias and shared_cov
        coefficients(arrays) -> Coefficients
                                            for tables: who is biased, by how much, content, with their errors
        shared_cov -> (k, k)                covariance of those parameters: an attribute or property
        finish_totals(sums: TotalSums) -> (calibrated (G,), variance (G,))
                                            in place of "sum of the means; sum of the variances + slope' cov
                                            slope": totals of G groups from the sums over their rows, the last
                                            group being all rows. A record that has it is asked whatever the
                                            verdict.
    """

    @property
    def estimate(self) -> Estimate:
        """The main estimate; its alpha is never negative."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Rows of the summary: exact, moments, match."""

    @property
    def share_biased(self) -> float:
        """Mean of P(A = 1 | data) over the fitted rows."""

    @property
    def verdict(self) -> Verdict:
        """What may be said."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The reasons for the verdict and what else the reader should know."""

    @property
    def details(self) -> Details:
        """What pages and questions may ask beyond the answer; Details() where there is nothing."""

    def predict(self, arrays: Arrays) -> Prediction:
        """Answer for rows encoded like the fitted ones."""

    def effects(self, arrays: Arrays) -> Effects:
        """Local effects for rows encoded like the fitted ones."""

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Everything needed to rebuild the fit exactly: values for `result.plain`, and arrays."""

    @classmethod
    def from_state(cls, values: dict[str, Any], tensors: dict[str, np.ndarray]) -> Self:
        """The reverse of `state`, from what JSON keeps of its values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One estimator, as the rest of the package knows it. Places are "module:name", imported on first use.

    Parameters
    ----------
    name, label, summary : str
        Its name in `method=`, a few words for a list of choices, and one line for the docs.
    home, record : str
        Places of the function that fits arrays and of the record that it returns.
    pieces : str, default ""
        Place of the function that fits a table read in pieces; none if empty.
    pieces_in_memory : bool, default False
        Whether a large table goes in pieces even where it is in memory.
    section : str, default ""
        Place of the class of its own settings, a section of the settings file; none if empty.
    effects : tuple of str, default ("constant",)
        How alpha may vary: "constant", "linear", "by:".
    libraries, needs : tuple of str and str, default () and ""
        Packages that it needs beside the package's own, and the extra that installs them, such as "paper".
    cost : (float, float)
        Seconds that every run costs, and what a thousand rows of ten columns add.
    allows : tuple of str, default ()
        Topics of findings about a table that its models allow for, and so are not reported.
    row : str, default ""
        Place of a function like `home` that only estimates, for a row in the summary of another method.
    chooser : str, default ""
        Place of the function that names another method by the number of validated rows; none if empty.
    family : str, default "normal"
        The kind of outcome that it is for; "normal" is any number, "reports" several of one truth.

    """

    name: str
    label: str
    summary: str
    home: str
    record: str
    cost: tuple[float, float]
    pieces: str = ""
    pieces_in_memory: bool = False
    section: str = ""
    effects: tuple[str, ...] = ("constant",)
    libraries: tuple[str, ...] = ()
    needs: str = ""
    allows: tuple[str, ...] = ()
    row: str = ""
    chooser: str = ""
    family: str = "normal"

    def choose(self, validated: int) -> str:
        """The method for a table with so many validated rows: itself, unless it stands for others."""
        return str(self._load(self.chooser)(validated)) if self.chooser else self.name

    def fit(self, arrays: Arrays, settings: Settings) -> MethodFit:
        """Fit arrays."""
        return self._fit(self.home, arrays, settings)

    def fit_row(self, arrays: Arrays, settings: Settings) -> MethodFit:
        """The same, with no more than a row in the summary of another method needs."""
        return self._fit(self.row or self.home, arrays, settings)

    def _fit(self, place: str, arrays: Arrays, settings: Settings) -> MethodFit:
        self.require_installed()
        self.require_effect(settings.effect)
        if settings.scale == "log":
            return self._log_scale().fit_logs(self._load(place), arrays, settings)
        fitted: MethodFit = self._load(place)(arrays, settings)
        return fitted

    def fit_in_pieces(self, table: EncodedPieces, settings: Settings) -> MethodFit:
        """Fit a table that is read in pieces."""
        self.require_installed()
        self.require_effect(settings.effect)
        if settings.scale == "log":
            return self._log_scale("_pieces").fit_logs_in_pieces(self._load(self.pieces), table, settings)
        fitted: MethodFit = self._load(self.pieces)(table, settings)
        return fitted

    def restore(self, values: dict[str, Any], tensors: dict[str, np.ndarray]) -> MethodFit:
        """The fit that `MethodFit.state` described."""
        self.require_installed()
        if "log" in values:
            return self._log_scale().from_log_state(values, tensors, self.restore)
        fitted: MethodFit = self._load(self.record).from_state(values, tensors)
        return fitted

    def section_class(self) -> Any:
        """The class of its own settings."""
        return self._load(self.section)

    def why_not(self) -> str:
        """What to install before this method can be used; empty where nothing is missing."""
        missing = [package for package in self.libraries if not is_installed(package)]
        return f"needs {missing[0]}: pip install 'proxycal[{self.needs}]'" if missing else ""

    def require_installed(self) -> None:
        """Refuse to go on without the packages that this method needs, before any work is done."""
        if self.why_not():
            raise UnavailableError(f"method='{self.name}' {self.why_not()}, or use method='exact'")

    def require_effect(self, effect: str) -> None:
        """Refuse a way of varying that this method does not have."""
        kind = "by:" if effect.startswith("by:") else effect
        if kind not in self.effects:
            others = [f"method='{m.name}'" for m in METHODS.values() if kind in m.effects and not m.chooser]
            allowed = " or ".join(f"effect='{name}'" for name in self.effects)
            raise UnavailableError(
                f"effect='{effect}' is not available with method='{self.name}': use {allowed}"
                + (f", or {' or '.join(others)}" if others else "")
            )

    def _log_scale(self, part: str = "") -> Any:
        """Where every method is taken to the log scale and back."""
        return importlib.import_module(f"proxycal.methods.log_scale{part}")

    def _load(self, place: str) -> Any:
        module, _, name = place.partition(":")
        return getattr(importlib.import_module(module), name)


METHODS: dict[str, Method] = {}


@contextmanager
def register(method: Method) -> Iterator[Method]:
    """A further method, for as long as the block lasts.

    A package that brings a method of its own enters it once: `register(method).__enter__()`.
    """
    if method.name in METHODS:
        raise SettingsError(f"there is a method '{method.name}' already: choose another name")
    METHODS[method.name] = method
    try:
        yield method
    finally:
        del METHODS[method.name]


_RATES = "proxycal.methods.rates"
_OURS = (
    Method(
        name="auto",
        label="automatic (validated rows where there are 30 or more, else exact)",
        summary="validated where 30 rows or more have a truth, else exact",
        home="proxycal.methods.auto:fit_auto",
        record="proxycal.methods.exact.record:ExactFit",
        pieces="proxycal.methods.exact.in_pieces:fit_pieces",
        pieces_in_memory=True,
        effects=("constant", "linear", "by:"),
        cost=(5.0, 0.12),
        allows=("atom",),
        chooser="proxycal.methods.auto:choose",
    ),
    Method(
        name="exact",
        label="exact (nearly always)",
        summary="mixtures with and without a bias are compared, and the bias is averaged over exactly",
        home="proxycal.methods.exact.fit:fit_exact_method",
        record="proxycal.methods.exact.record:ExactFit",
        pieces="proxycal.methods.exact.in_pieces:fit_pieces",
        pieces_in_memory=True,
        effects=("constant", "linear", "by:"),
        cost=(5.0, 0.12),
        allows=("atom",),
    ),
    Method(
        name="validated",
        label="validated (30 or more rows with their truth)",
        summary="candidates compared on validated rows that they were not shown, and combined",
        home="proxycal.methods.validated.fit:fit_validated_method",
        record="proxycal.methods.validated.record:ValidatedFit",
        pieces="proxycal.methods.validated.in_pieces:fit_pieces",
        pieces_in_memory=True,
        effects=("constant", "linear", "by:"),
        cost=(7.0, 0.3),
        allows=("atom",),
    ),
    Method(
        name="moments",
        label="moments (a cross-check)",
        summary="three moments of what the proxies leave of the outcome; no shape is assumed",
        home="proxycal.methods.moments.fit:fit_moments_method",
        record="proxycal.methods.moments.fit:MomentsMethod",
        cost=(4.5, 0.05),
    ),
    Method(
        name="gradual",
        label="gradual (a bias that changes gradually with the environment)",
        summary="the part of the outcome that the environment moves beyond content, whatever its shape",
        home="proxycal.methods.gradual.fit:fit_gradual_method",
        row="proxycal.methods.gradual.fit:fit_gradual_row",
        record="proxycal.methods.gradual.fit:GradualFit",
        pieces="proxycal.methods.gradual.in_pieces:fit_pieces",
        pieces_in_memory=True,
        effects=("constant", "by:"),
        cost=(4.5, 0.2),
    ),
    Method(
        name="counts",
        label="counts (family='counts')",
        summary="a share of what happened is reported: who reports less, or how much less, by evidence",
        home=f"{_RATES}.fit:fit_counts",
        record=f"{_RATES}.record:RatesFit",
        pieces=f"{_RATES}.fit:fit_counts_in_pieces",
        cost=(4.5, 0.2),
        allows=("atom",),
        family="counts",
    ),
    Method(
        name="binary",
        label="binary (family='binary')",
        summary="a share of the yes, or of the no, is denied: how much, by environment, by evidence",
        home=f"{_RATES}.fit:fit_binary",
        record=f"{_RATES}.record:RatesFit",
        pieces=f"{_RATES}.fit:fit_binary_in_pieces",
        cost=(4.5, 0.2),
        allows=("atom",),
        family="binary",
    ),
    Method(
        name="reporters",
        label="reporters (several reports of one truth)",
        summary="reports of the same rows are compared: whose are biased, in which rows, by how much",
        home="proxycal.methods.reporters.fit:fit_reports",
        record="proxycal.methods.reporters.record:ReportsFit",
        pieces="proxycal.methods.reporters.fit:fit_reports_in_pieces",
        cost=(4.5, 0.5),
        allows=("atom",),
        family="reports",
    ),
    Method(
        name="paper",
        label="paper (two neural networks)",
        summary="the method of the paper: a network for content, one for the bias score, then matching",
        home="proxycal.methods.paper.fit:fit_paper",
        record="proxycal.methods.paper.fit:PaperFit",
        pieces="proxycal.methods.paper.in_pieces:fit_pieces",
        section="proxycal.methods.paper.settings:PaperSettings",
        libraries=("torch",),
        needs="paper",
        cost=(9.0, 2.6),
    ),
)
METHODS.update({method.name: method for method in _OURS})
