"""The page of the polls study: the success, the failure, and what both rest on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from proxycal.datasets import polls as polls_data
from proxycal.files import write_table, write_text
from proxycal.studies import polls
from proxycal.studies.figures import save
from proxycal.studies.pages import code_digest, machine, markdown_table
from proxycal.studies.polls import PARTIES, Exact, Study, rmse, run

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

NAMES = {"D": "Democratic", "R": "Republican"}
# Levels further apart than this, in standard errors of the difference, are said to be wrong.
WRONG = 2.0
_SOURCES = (Path(polls.__file__), Path(polls_data.__file__))


def perform(quick: bool, out: Path, progress: Callable[[int, int], None] | None = None) -> str:
    """Run the study and write its page, tables and figure into `out`; returns the page."""
    study = run(quick, progress)
    (out / "figures").mkdir(parents=True, exist_ok=True)
    for name in ("levels", "eras", "resampled"):
        write_table(getattr(study, name), out / f"polls-{name}.csv")
    save(figure(study.levels), out / "figures", "polls-levels")
    text = page(study, quick, code_digest(*_SOURCES))
    write_text(out / "results.md", text)
    return text


def page(study: Study, quick: bool, code: str) -> str:
    """The answer first, then its tables, the failure, and the limits."""
    levels, eras = study.levels, study.eras
    draws = study.resampled.iloc[0]
    lines = [
        "# Election polls: sponsors that lean, and what polls share"
        + (" (QUICK RUN: few draws, not evidence)" if quick else ""),
        "",
        f"Made by `proxycal experiment polls{' --quick' if quick else ''}` with {machine(code)}",
        "",
        f"{len(study.table):,} polls of US elections, 1998 to 2022, in the last three weeks before the "
        "vote. The outcome is the margin of the poll, Democrat less Republican, in points. The proxies are "
        "the mean margins in two disjoint halves of the *other* pollsters' unsponsored polls of the race. "
        "The environment is the sponsor, how people were asked, the office, the sample size and the days to "
        "the election; races are clusters. No fit sees a result. The results then say what it should have "
        "found: least squares of the true error on the same environment, errors by race.",
        "",
        "## In short", "", *_answer(study), "",
        "## The success: sponsors", "",
        *_levels_table(levels[levels["column"] == "sponsor"]), "",
        "Each era fitted alone, and the truth of that era (mean error of sponsored polls less that of the "
        "others):", "", *_eras_table(eras), "",
        "Error of sponsored polls (root mean square, points), each era corrected by a fit to the other five:",
        "",
        *markdown_table(
            ["as reported", "less the lean of its sponsor", "calibrated, unsponsored polls trusted",
             "less the true lean of the other eras"],
            [[f"{rmse(eras, name):.2f}" for name in ("reported", "sponsor", "calibrated", "true")]],
        ), "",
        f"Races drawn with replacement, {int(draws['draws'])} tables: the 95% interval holds the lean of the "
        f"whole table in {_shares(study.resampled, 'holds')} (D, R). Sponsors shuffled within races, "
        f"{int(draws['shuffles'])} tables: it excludes zero in {_shares(study.resampled, 'false')}.",
        "", "![Bias by level, without and with the results](figures/polls-levels.png)", "",
        "## The failure: what all polls of a race share", "", *_failure(study), "",
        *_levels_table(levels[levels["column"] != "sponsor"]), "",
        *_exact(study.exact),
        "## Data and limits", "", _LIMITS, "", "```", study.about.strip(), "```", "",
    ]  # fmt: skip
    return "\n".join(lines).rstrip() + "\n"


def _answer(study: Study) -> list[str]:
    levels = study.levels[study.levels["column"] == "sponsor"].set_index("level")
    said = study.sentence.removeprefix(f"{study.verdict}: ")
    lines = [f"- Verdict: **{study.verdict}** ({study.seconds:.1f} s of processor time). {said}"]
    for party in PARTIES:
        row = levels.loc[[party]].to_dict("records")[0]
        lines.append(
            f"- {NAMES[party]} sponsors: **{row['bias']:+.1f}** ± {row['se']:.1f} points without a result, "
            f"{row['truth']:+.1f} ± {row['truth_se']:.1f} with all of them: {abs(row['apart']):.1f} standard "
            f"errors apart ({'within' if abs(row['apart']) <= WRONG else 'BEYOND'} two)."
        )
    right = sum(int((study.eras[party] * sign > 0).sum()) for party, sign in (("D", 1), ("R", -1)))
    return [
        *lines,
        f"- The sign is right in {right} of {2 * len(study.eras)} fits of one party in one era.",
        f"- The error of sponsored polls, eras left out, falls from {rmse(study.eras, 'reported'):.2f} to "
        f"{rmse(study.eras, 'sponsor'):.2f} points; with the true lean it would be "
        f"{rmse(study.eras, 'true'):.2f}.",
        f"- What all polls of a race share, {study.shared:.0%} of the variance of their errors, cannot be "
        "seen, and ways of asking that differ in it come out wrong (below).",
    ]


def _levels_table(levels: pd.DataFrame) -> list[str]:
    names = ["level", "polls", "without results", "with results", "standard errors apart"]
    rows = [
        [
            f"{row['column']}: {row['level']}, not {row['against']}",
            f"{row['polls']:,}",
            f"{row['bias']:+.2f} ± {row['se']:.2f}",
            f"{row['truth']:+.2f} ± {row['truth_se']:.2f}",
            f"{abs(row['apart']):.1f}" if abs(row["apart"]) <= WRONG else f"**{abs(row['apart']):.1f}**",
        ]
        for row in levels.to_dict("records")
    ]
    return markdown_table(names, rows)


def _eras_table(eras: pd.DataFrame) -> list[str]:
    names = ["era", "sponsored polls", "D", "D, truth", "R", "R, truth"]
    rows = [
        [
            str(row["era"]),
            f"{row['polls']}",
            *(
                cell
                for party in PARTIES
                for cell in (f"{row[party]:+.1f} ± {row[f'{party}_se']:.1f}", f"{row[f'{party}_true']:+.1f}")
            ),
        ]
        for row in eras.to_dict("records")
    ]
    return markdown_table(names, rows)


def _shares(resampled: pd.DataFrame, name: str) -> str:
    return " and ".join(f"{value:.0%}" for value in resampled[name])


def _failure(study: Study) -> list[str]:
    methods = study.levels[study.levels["column"] == "method"]
    wrong = methods[methods["apart"].abs() > WRONG]
    named = ", ".join(wrong["level"]) or "none"
    return [
        "The proxies are polls too. When all polls of a race, or of a year, err together, the proxies err "
        "with them: to the fit that is content. It is "
        f"{study.shared:.0%} of the variance of the errors here. Ways of asking came and went with the "
        "years: a method that was common when all polls leaned one way differs from the others in the truth, "
        f"and not beside its neighbours. {len(wrong)} of {len(methods)} methods are off by more than "
        f"{WRONG:.0f} standard errors ({named}); the intervals do not know it. No data without results "
        "could: the assumption that fails is that the proxies never share the error of the report.",
        "",
        "A sponsor is different. It leans against the other polls of its own race, which is what these "
        "proxies can see. So read from such a fit what differs *within* a race, and nothing of what its "
        "polls share.",
    ]


def _exact(exact: Exact | None) -> list[str]:
    if exact is None:
        return []
    return [
        "## What the default method says",
        "",
        f'`method="exact"` on the same polls: **{exact.verdict}** ({exact.seconds:.1f} s of processor time). '
        f"{exact.reason}",
        "",
        "It looks for two kinds of report, right and off by one size (or by sizes that vary). A sponsor "
        "leans instead by a few points, less than the polls of one race scatter, and in a direction that "
        "depends on the party: such polls are no group that stands apart, and only what the environment does "
        "beyond content shows them. That is why the answer above comes from the gradual method, and why "
        "it carries a condition.",
        "",
    ]


_LIMITS = (
    "The lean is relative to unsponsored polls, which err too. Polls of parties that were not published are "
    "not in the file, so that this is the lean of published polls. Rows with fewer than two other "
    "unsponsored pollsters in their race are left out. The results of elections are the truth about the "
    "vote, not about what people would have said weeks before."
)


def figure(levels: pd.DataFrame) -> Figure:
    """Bias by level without results beside that with them, two standard errors to each side."""
    made = Figure(figsize=(6.4, 0.34 * len(levels) + 1.1), layout="constrained")
    FigureCanvasAgg(made)
    panel = made.subplots()
    series = (("bias", "se", "#D55E00", "o", -0.13), ("truth", "truth_se", "#0072B2", "s", 0.13))
    for name, se, colour, marker, away in series:
        at = [place + away for place in range(len(levels))]
        label = "without results (gradual)" if name == "bias" else "with results"
        panel.errorbar(
            levels[name], at, xerr=2.0 * levels[se], fmt=marker, color=colour, label=label, markersize=5
        )
    panel.axvline(0.0, color="#555555", linewidth=0.8, linestyle=":")
    panel.set_yticks(range(len(levels)), [f"{row.column}: {row.level}" for row in levels.itertuples()])
    panel.invert_yaxis()
    panel.set_xlabel("lean towards the Democrat, points")
    panel.legend(fontsize=8)
    return made
