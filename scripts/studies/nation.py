"""The case study on the simulated nation, as a page of the site: python scripts/studies/nation.py."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from proxycal.datasets.disasters import study
from proxycal.datasets.nation import YEARS, simulate_disasters
from proxycal.datasets.sheldus import read_sheldus
from proxycal.files import write_table, write_text
from proxycal.studies.case_study import POOLED, analyse
from proxycal.studies.case_study_files import LIMITS, SIMULATED
from proxycal.studies.case_study_maps import four_maps
from proxycal.studies.case_study_measures import RATIO
from proxycal.studies.figures import save
from proxycal.studies.graded import ask_graded, in_words
from proxycal.studies.pages import code_digest, machine, markdown_table

if TYPE_CHECKING:
    import pandas as pd

    from proxycal.datasets.dataset import Dataset
    from proxycal.studies.case_study import CaseStudy
    from proxycal.studies.graded import Graded

COMMAND = "python scripts/studies/nation.py"
EVERYWHERE = 3142
# Of the paper's five proxies those that are no part of one another: built_to_damage counts built land that
# turned to water too, and so on.
SEPARATE = ("bare_to_water", "built_to_damage", "vegetation_to_damage")
# The hazard whose answer is told in words: the commonest.
SHOWN = "Flooding"
_REFUSED = (
    "Of the two causes that a refusal names, the second is at work: no county reaches a proxy here, and with "
    "three proxies that share no noise these hazards are not refused. All hazards together need the five: "
    "hazards differ in damage and in water, two contents, which three proxies cannot tell apart."
)
_HOLDS = (
    "**Does the assumption hold here?** Yes, by construction: damage alone decides the true loss. In real "
    "counties it need not: what stands in a county moves its loss, and no data can tell that from a bias. "
    "The [hurricane](hurricane.md) and [tornado](tornado.md) pages show what is then left to say."
)
_NAMES = {POOLED: "all together"}


@dataclass(frozen=True, slots=True)
class Nation:
    """All that the page tells: the case study, and the gradual method with the separate proxies, by fit."""

    counties: int
    rows: int
    results: CaseStudy
    separate: dict[str, Graded]


def main() -> None:
    """Draw the nation, fit it in both ways, and write nation.md, its tables and its maps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counties", type=int, default=EVERYWHERE)
    parser.add_argument("--out", type=Path, default=Path("docs/studies"))
    given = parser.parse_args()
    print(make(given.out, given.counties))


def make(out: Path, counties: int) -> str:
    """Run the study and write it; returns the page."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = simulate_disasters(Path(folder), n_counties=counties)
        losses = read_sheldus(drawn.sheldus, years=YEARS)
        joined = study(losses, drawn.transitions, drawn.counties, YEARS)
    results = analyse(joined, drawn.truth)
    fitted = [str(name) for name in results.graded["fit"]]
    nation = Nation(counties, len(joined.dataset.table), results, ask_separate(joined.dataset, fitted))
    for part in ("tables", "figures"):
        (out / part).mkdir(parents=True, exist_ok=True)
    for name in ("fits", "totals", "check", "graded"):
        write_table(getattr(results, name), out / "tables" / f"nation-{name}.csv")
    verdicts = dict(zip(results.fits["fit"], results.fits["verdict"], strict=True))
    maps = four_maps(results.counties, YEARS[-1], verdicts, RATIO)
    maps.suptitle(f"SIMULATED losses of {YEARS[-1]}: calibrated over reported", fontsize=14)
    save(maps, out / "figures", "nation-ratio")
    text = page(nation)
    write_text(out / "nation.md", text)
    return text


def ask_separate(joined: Dataset, fits: list[str]) -> dict[str, Graded]:
    """The gradual method with proxies that are no part of one another; fits : hazards, or all together."""
    roles = replace(joined.roles, outcome="loss", proxies=SEPARATE)
    alone = replace(roles, environment=[name for name in roles.environment if name != "hazard"])
    answers = {}
    for name in fits:
        rows = joined.table if name == POOLED else joined.table[joined.table["hazard"] == name]
        asked = roles if name == POOLED else alone
        answers[name] = ask_graded(
            rows.reset_index(drop=True), asked, with_total=True, direction="under", scale="log"
        )
    return answers


def page(nation: Nation) -> str:
    """Exact and gradual on counties whose truth is known."""
    command = COMMAND if nation.counties == EVERYWHERE else f"{COMMAND} --counties {nation.counties}"
    graded = nation.results.graded.set_index("fit")
    sections = [
        "# Disaster losses of a simulated nation",
        f"Made by `{command}` with {machine(code_digest())}",
        f"{SIMULATED} The paper (*Proxy-Guided Measurement Calibration*, Vishnubhatla, Wan, Harrison, Raglin "
        "and Liu) asks how far counties under-report what disasters cost, from files that are not ours to "
        f"ship. So here is a nation of {nation.counties:,} counties and {nation.rows:,} losses over "
        f"{len(YEARS)} years, drawn with a known truth and written in the formats of those files. Damage "
        "decides the true loss and what a satellite sees of the ground; small, poor and less schooled "
        "counties report the loss too low more often, and then by one factor.",
        "## In short",
        "\n".join(f"- {point}" for point in _answer(nation)),
        "## Exact: who is biased, and by how much",
        _exact_table(nation.results),
        "Rows told right: biased or not, as they are. All together is one fit of all hazards.",
        f"![Calibrated over reported losses of {YEARS[-1]}, by county](figures/nation-ratio.png)",
        "Calibrated over reported losses, by the exact method. A county without a loss that year is blank.",
        "## Gradual: the mean bias of counties of a kind",
        '`method="gradual"` does not assume that a report is either right or biased, and does not '
        "distinguish counties of the same environment: it says how far such counties under-report on "
        "average, relative to the tenth of the rows that does so least. The truth beside is that very mean. "
        "The paper's five proxies contain one another (`built_to_damage` counts built land that turned to "
        "water, which is `built_to_water`), so that they share noise, which the equations behind the method "
        "exclude. The last fits keep three "
        f"that do not: {', '.join(f'`{name}`' for name in SEPARATE)}.",
        _gradual_table(graded, nation.separate),
        _refusals(graded),
        f"What can be said about counties, from {SHOWN.lower()} and the three proxies:",
        "\n".join(f"- {point}" for point in (*in_words(nation.separate[SHOWN]), _HOLDS)),
        "## Dollars",
        "What each method adds to the reported total. All together is the answer of the fit of all hazards, "
        "not the sum of the others: small fits are each a little high, and that adds up.",
        _totals_table(nation, graded),
        "A graded bias is a mean of logarithms. Applied to every county of a kind, it gives too much to the "
        "honest ones, which report most of the dollars: with two states, use the exact method for totals.",
        f"## Limits\n\n{LIMITS}",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _answer(nation: Nation) -> list[str]:
    check, graded = nation.results.check, nation.results.graded
    fits = nation.results.fits.set_index("fit")
    found = fits[fits["verdict"] == "bias found"]
    beside = check.set_index("fit")
    size, national = beside.loc[found.index, "alpha_true"], beside.loc[POOLED]
    held = int(((found["low"] <= size) & (size <= found["high"])).sum())
    true = graded.set_index("fit")["mean_bias_true"]
    answered = {name: own for name, own in nation.separate.items() if own.verdict == "bias found"}
    within = sum(own.low <= true[name] <= own.high for name, own in answered.items())
    five = int((graded["gradual"] == "bias found").sum())
    return [
        f"**Exact** finds the bias in {len(found)} of {len(fits)} fits; {held} of their intervals hold the "
        f"true size. The nation's loss is off by {national['reported_error']:+.1%} as reported and by "
        f"{national['calibrated_error']:+.1%} calibrated.",
        f"**Gradual** answers in {five} of {len(graded)} fits with the paper's five proxies and in "
        f"{len(answered)} of {len(nation.separate)} with three that do not contain one another; {within} of "
        f"the latter intervals hold the true mean. Where it refuses, nothing is claimed.",
        "Both know less than they seem to outside a simulation: gradual needs a county to act on its true "
        "loss only through damage, exact needs two states. Here both hold by construction.",
    ]


def _exact_table(results: CaseStudy) -> str:
    check = results.check.set_index("fit")
    rows = []
    for fit in results.fits.to_dict("records"):
        truth = check.loc[fit["fit"]]
        size = _size(fit["alpha"], fit["low"], fit["high"])
        right = "-" if np.isnan(fit["alpha"]) else f"{truth['who_right']:.0%}"
        name = _NAMES.get(fit["fit"], fit["fit"])
        rows.append([name, f"{fit['rows']:,}", fit["verdict"], size, f"{truth['alpha_true']:.2f}", right])
    names = ["hazard", "rows", "verdict", "size, log dollars (95%)", "truth", "rows told right"]
    return "\n".join(markdown_table(names, rows))


def _gradual_table(graded: pd.DataFrame, separate: dict[str, Graded]) -> str:
    rows = []
    for name, row in graded.iterrows():
        own = separate[str(name)]
        five = _size(row["mean_bias"], row["low"], row["high"])
        rows.append(
            [
                _NAMES.get(str(name), str(name)),
                row["gradual"] if five == "-" else five,
                own.verdict if own.size == "-" else own.size,
                f"{row['mean_bias_true']:.2f}",
            ]
        )
    return "\n".join(markdown_table(["hazard", "five proxies", "three proxies", "truth"], rows))


def _totals_table(nation: Nation, graded: pd.DataFrame) -> str:
    """What each method adds to the reported total, beside what is missing from it."""
    check = nation.results.check.set_index("fit")
    rows = []
    for name, row in graded.iterrows():
        own, beside = nation.separate[str(name)], check.loc[name]
        exact = (1.0 + beside["calibrated_error"]) / (1.0 + beside["reported_error"]) - 1.0
        rows.append(
            [
                _NAMES.get(str(name), str(name)),
                f"{row['change_pct_true']:+.0f}%",
                f"{100.0 * exact:+.0f}%",
                f"{own.change_pct:+.0f}%" if own.verdict == "bias found" else "-",
            ]
        )
    return "\n".join(markdown_table(["hazard", "truth", "exact", "gradual, three proxies"], rows))


def _refusals(graded: pd.DataFrame) -> str:
    refused = graded[graded["gradual"] == "not identified"]
    points = [f"- {_NAMES.get(str(name), name)}: {row['notes']}" for name, row in refused.iterrows()]
    if not points:
        return ""
    return "\n".join(["Why it refuses with five proxies:", "", *points, "", _REFUSED])


def _size(size: float, low: float, high: float) -> str:
    return "-" if np.isnan(size) else f"{size:.2f} ({low:.2f} to {high:.2f})"


if __name__ == "__main__":
    main()
