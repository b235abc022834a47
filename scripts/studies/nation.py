"""The case study on the simulated nation, as a page of the site: python scripts/studies/nation.py."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from proxycal.datasets.disasters import study
from proxycal.datasets.nation import YEARS, simulate_disasters
from proxycal.datasets.sheldus import read_sheldus
from proxycal.files import write_table, write_text
from proxycal.studies.case_study import analyse
from proxycal.studies.case_study_files import LIMITS, SIMULATED, numbers
from proxycal.studies.pages import code_digest, machine

if TYPE_CHECKING:
    from proxycal.studies.case_study import CaseStudy

COMMAND = "python scripts/studies/nation.py"
EVERYWHERE = 3142


def main() -> None:
    """Draw the nation, fit it in both ways, and write nation.md and its tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--counties", type=int, default=EVERYWHERE)
    parser.add_argument("--out", type=Path, default=Path("docs/studies"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        nation = simulate_disasters(Path(folder), n_counties=given.counties)
        losses = read_sheldus(nation.sheldus, years=YEARS)
        results = analyse(study(losses, nation.transitions, nation.counties, YEARS), nation.truth)
    (given.out / "tables").mkdir(parents=True, exist_ok=True)
    for name in ("fits", "totals", "check", "graded"):
        write_table(getattr(results, name), given.out / "tables" / f"nation-{name}.csv")
    text = page(results, given.counties)
    write_text(given.out / "nation.md", text)
    print(text)


def page(results: CaseStudy, counties: int) -> str:
    """Exact and gradual on counties whose truth is known."""
    command = COMMAND if counties == EVERYWHERE else f"{COMMAND} --counties {counties}"
    return "\n".join(
        [
            "# Disaster losses of a simulated nation",
            "",
            f"Made by `{command}` with {machine(code_digest())}",
            "",
            f"{SIMULATED} {counties:,} counties. In every hazard some of them, small, poor and less schooled "
            "ones more often, report their losses too low by one factor: the bias has two states, and who is "
            "biased grades with the county. The exact method answers who and by how much; the gradual method "
            "answers the mean bias of counties like it.",
            "",
            *numbers(results),
            LIMITS,
            "",
        ]
    )


if __name__ == "__main__":
    main()
