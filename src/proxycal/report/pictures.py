"""Which figures a result has, and what each says to those who see it and to those who cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxycal.questions import power_picture
from proxycal.report import plots
from proxycal.report.summary import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxycal.result import Fit


@dataclass(frozen=True, slots=True)
class Picture:
    """One figure of the page: which, what it shows for those who cannot see it, and how to read it."""

    kind: str
    title: str
    alt: str
    caption: str

    def draw(self, fit: Fit, ax: Axes | None = None) -> Axes:
        """The figure itself."""
        return plots.draw(self.kind, fit, ax)


def pictures_of(fit: Fit) -> list[Picture]:
    """The figures that this result has, in the order of the page."""
    y = fit.roles.outcome
    known = ", ".join(f"{row.name} {number(row.alpha)}" for row in fit.estimates)
    level = f"{fit.settings.level * 100:g}%"
    details = fit.method_fit.details
    curve = (
        "" if details.curve is None else " The line is the fitted mixture; the dashed one its unbiased part."
    )
    some = f" Shown: the {plots.MAX_COLUMNS} columns in which it moves most; the table has all."
    found = [
        Picture(
            "estimates",
            "Estimators side by side",
            f"Estimated size of the bias by estimator: {known}.",
            "Each estimator rests on something else. Where they agree, the answer hangs on none of them.",
        ),
        Picture(
            "residual",
            "What is left when the content is taken away",
            f"Histogram of {y} minus its content prediction, split into unbiased and biased rows.",
            "A reporting bias is the same shape a second time, moved to the dashed line. Each row counts for "
            f"both colours by its probability.{curve}",
        ),
        Picture(
            "content",
            "Reported against content",
            f"Scatter of reported {y} against its content prediction, coloured by the probability of bias.",
            "Each dot is a row. On the dotted line the report is what its content predicts.",
        ),
        Picture(
            "calibrated",
            "Reported against calibrated",
            f"Scatter of calibrated against reported {y}, coloured by the probability of bias.",
            "Rows on the dotted line were left alone; the others were moved by the bias times their "
            "probability of being biased.",
        ),
        Picture(
            "who",
            "Share of biased rows",
            f"Share of biased {y} reports by groups of the environment columns; the table has the numbers.",
            f"Mean probability of bias by level or quartile, with pointwise {level} intervals "
            f"that take the fit as given.{some if len(fit.rows.environment) > plots.MAX_COLUMNS else ''}",
        ),
        Picture(
            "gate",
            "What goes with being biased",
            "Odds ratios of being biased by environment column; the table beside it has the numbers.",
            f"The other columns held equal. Grey: the {level} interval includes 1, no difference.",
        ),
        Picture(
            "power",
            power_picture.TITLE,
            power_picture.ALT,
            power_picture.CAPTION,
        ),
    ]
    # Without a calibration its picture is the dotted line and nothing else.
    absent = {
        "calibrated": fit.verdict != "bias found",
        "gate": not details.gate,
        "power": "power" not in fit.questions,
        "who": not fit.rows.environment,
    }
    return [picture for picture in found if not absent.get(picture.kind, False)]
