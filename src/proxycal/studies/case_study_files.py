"""`proxycal experiment case-study`: from the user's files, or a simulated nation, to a folder of results.

DIR/counties.csv, .parquet   the county table
DIR/fits.csv, totals.csv     estimates and dollars; check.csv beside the truth where it is known
DIR/gradual.csv              what the gradual method says of the same rows
DIR/account.csv              how many rows of each source were kept or dropped, and why
DIR/figures/                 maps and bars, .png and .pdf
DIR/map.html                 the interactive map
DIR/results.md               all of it on one page
DIR/simulated/               the files of the simulated nation
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxycal.datasets.account import frame, lines
from proxycal.datasets.disasters import study
from proxycal.datasets.nation import YEARS, simulate_disasters
from proxycal.datasets.sheldus import read_sheldus
from proxycal.datasets.storm_events import read_storm_events
from proxycal.errors import SettingsError
from proxycal.files import write_table, write_text
from proxycal.studies.case_study import POOLED, CaseStudy, analyse
from proxycal.studies.case_study_maps import bar_chart, four_maps
from proxycal.studies.case_study_measures import MEASURES, PER_HEAD, RATIO, TAU
from proxycal.studies.case_study_page import render
from proxycal.studies.figures import save
from proxycal.studies.pages import markdown_table

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from proxycal.datasets.disasters import Study

QUICK_COUNTIES = 700
_REAL = "Property losses in dollars of 2023, calibrated by land-cover change."
SIMULATED = "SIMULATED counties and losses: nothing here is a fact about a real place."
_QUICK = " QUICK RUN: a smoke test on part of the counties, not evidence."
LIMITS = (
    "A reported loss of zero has no logarithm and is left unchanged; a bias of one size per hazard "
    "is a simplification; land cover shows damage that changed the ground and misses the rest (wind damage "
    "to roofs, flooded cellars); intervals of totals are valid only if the model is, and there is none for "
    "all hazards where neither their common fit has a finding nor every one of them."
)
_OVERALL = (
    "All hazards: the answer of one fit of all of them, where it finds a bias; otherwise their sum. Hazards "
    "with few rows are each a little high, within their intervals, and that adds up in a sum."
)
_GRADUAL = (
    "The same rows by method='gradual', which does not assume that a report is either right or "
    "biased: what the county moves in the reported loss beyond content is the bias, if the county acts on "
    "the true loss only through content. Its size is "
    "a mean over all counties but the least biased tenth, relative to that tenth, in log dollars "
    "(mean_bias_true is the same mean of the truth); change_pct is what it adds to the reported total. The "
    "simulated nation keeps that assumption, real counties need not: what stands in a county moves its true "
    "loss. The notes say how strong such an effect would have to be, in terms of the strongest measured "
    "column."
)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of the study: the user's files, or none and `simulated`."""

    sheldus: Path | None = None
    storm_events: Path | None = None
    zones: Path | None = None
    transitions: Path | None = None
    counties: Path | None = None
    simulated: bool = False


def check_inputs(inputs: Inputs) -> None:
    """Refuse inputs that do not fit together, before anything is written.

    >>> check_inputs(Inputs(simulated=True))
    >>> check_inputs(Inputs())
    Traceback (most recent call last):
        ...
    proxycal.errors.SettingsError: --sheldus or --storm-events is required, or --simulated
    """
    own = [inputs.sheldus, inputs.storm_events, inputs.zones, inputs.transitions, inputs.counties]
    if inputs.simulated:
        if any(path is not None for path in own):
            raise SettingsError(
                "--simulated generates all of its files: leave out your own files, or leave out --simulated"
            )
        return
    if inputs.sheldus is None and inputs.storm_events is None:
        raise SettingsError("--sheldus or --storm-events is required, or --simulated")
    if inputs.sheldus is not None and inputs.storm_events is not None:
        raise SettingsError("--sheldus and --storm-events exclude each other: pass one of them")
    if inputs.zones is not None and inputs.storm_events is None:
        raise SettingsError("--zones is used with --storm-events only: leave it out")
    if inputs.transitions is None or inputs.counties is None:
        raise SettingsError("--transitions (land cover) and --counties (ACS table) are required as well")


def perform(inputs: Inputs, out: Path, year: int | None = None, quick: bool = False, jobs: int = 1) -> str:
    """Run the study and write its folder; returns the page."""
    check_inputs(inputs)
    out.mkdir(parents=True, exist_ok=True)
    truth = None
    if inputs.simulated:
        nation = simulate_disasters(out / "simulated", n_counties=QUICK_COUNTIES if quick else 3142)
        inputs = Inputs(nation.sheldus, None, None, nation.transitions, nation.counties)
        truth = nation.truth
        write_table(truth, out / "simulated" / "truth.csv")
    joined = _join(inputs)
    shown = _shown_year(joined.dataset.table, year)
    results = analyse(joined, truth, jobs)
    note = _REAL if truth is None else SIMULATED + (_QUICK if quick else "")
    return _write(results, joined, out, shown, note)


def _join(inputs: Inputs) -> Study:
    if inputs.sheldus is not None:
        losses = read_sheldus(inputs.sheldus, years=YEARS)
    elif inputs.storm_events is not None:
        losses = read_storm_events(inputs.storm_events, inputs.zones, years=YEARS)
    return study(losses, inputs.transitions, inputs.counties, YEARS)


def _shown_year(table: pd.DataFrame, year: int | None) -> int:
    years = sorted(int(value) for value in table["year"].unique())
    if year is not None and year not in years:
        raise SettingsError(f"--year {year} is not in the data: choose one of {', '.join(map(str, years))}")
    return years[-1] if year is None else year


def _write(results: CaseStudy, joined: Study, out: Path, year: int, note: str) -> str:
    for ending in ("csv", "parquet"):
        write_table(results.counties, out / f"counties.{ending}")
    write_table(results.fits, out / "fits.csv")
    write_table(results.totals, out / "totals.csv")
    write_table(results.bars, out / "bars.csv")
    write_table(results.graded, out / "gradual.csv")
    write_table(frame(joined.account), out / "account.csv")
    true_alpha = None
    if results.check is not None:
        write_table(results.check, out / "check.csv")
        true_alpha = dict(zip(results.check["fit"], results.check["alpha_true"], strict=True))
    (out / "figures").mkdir(exist_ok=True)
    verdicts = dict(zip(results.fits["fit"], results.fits["verdict"], strict=True))
    for measure in MEASURES:
        figure = four_maps(results.counties, year, verdicts, measure)
        save(figure, out / "figures", f"maps-{measure.name}-{year}")
    save(bar_chart(results.bars, true_alpha), out / "figures", "hazards")
    write_text(out / "map.html", render(results.counties, year, note))
    text = page(results, joined, year, note)
    write_text(out / "results.md", text)
    return text


def page(results: CaseStudy, joined: Study, year: int, note: str) -> str:
    """The page: estimates, dollars, truth where it is known, and the account."""
    parts = [
        "# Disaster losses by county", "", note, "", *numbers(results),
        f"![calibrated over reported](figures/maps-{RATIO.name}-{year}.png)", "",
        f"![difference per head](figures/maps-{PER_HEAD.name}-{year}.png)", "",
        "![hazards](figures/hazards.png)", "",
        f"The maps of the mean |tau|, the paper's own, are in figures/maps-{TAU.name}-{year}.png.", "",
        "Interactive map: map.html. County table: counties.csv.", "", "## Limits", "", LIMITS, "",
        "## Rows kept and dropped, by source", "", lines(joined.account), "",
    ]  # fmt: skip
    return "\n".join(parts)


def numbers(results: CaseStudy) -> list[str]:
    """The lines of the page that hold numbers: sizes, dollars, the truth, and the gradual method beside."""
    parts = [
        "## Size of the bias (alpha, log dollars)", "", _markdown(results.fits.drop(columns="notes")), "",
        *[f"- {row['fit']}: {row['notes']}" for row in results.fits.to_dict("records") if row["notes"]], "",
        "## Losses in dollars of 2023", "", _markdown(results.totals), "", _OVERALL, "",
    ]  # fmt: skip
    if results.check is not None:
        national = results.check[results.check["fit"] == POOLED].iloc[0]
        parts += [
            "## Compared with the truth", "", _markdown(results.check), "",
            f"National loss: reported {national['reported_error']:+.1%}, "
            f"calibrated {national['calibrated_error']:+.1%} of the truth.", "",
        ]  # fmt: skip
    return parts + _graded_lines(results.graded)


def _graded_lines(graded: pd.DataFrame) -> list[str]:
    """The section on a bias that grades with the county, none where nothing was fitted."""
    if graded.empty:
        return []
    notes = [f"- {row['fit']}: {row['notes']}" for row in graded.to_dict("records")]
    table = _markdown(graded.drop(columns="notes"))
    return ["## If the bias varies gradually with the county", "", _GRADUAL, "", table, "", *notes, ""]


def _markdown(table: pd.DataFrame) -> str:
    def cell(value: object) -> str:
        if isinstance(value, float):
            return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3f}"
        return str(value)

    rows = [[cell(value) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(markdown_table(list(map(str, table.columns)), rows))
