"""What the real studies share: fit a table in several ways, question the fit, write it all down."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import proxycal as pc
from proxycal.datasets.account import Entry, lines
from proxycal.datasets.cpi import price_ratio
from proxycal.files import write_table, write_text
from proxycal.questions.refits import TOO_FEW
from proxycal.reading.table import read_table
from proxycal.studies.figures import save
from proxycal.studies.graded import Graded, along_grid, ask_graded, beside_grid, in_words, why
from proxycal.studies.pages import code_digest, machine
from proxycal.studies.tables import Grid, to_frame, to_markdown

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from proxycal.questions.answers import Power, Refutation

BASE_YEAR = 2020
# Of what a county is like, the columns that say how much can be lost there and who writes it down.
COUNTY = (
    "log_population", "log_density", "median_household_income", "poverty_rate", "pct_bachelors",
    "median_age", "homeownership_2010",
)  # fmt: skip
# Sizes of a bias to look for, in sds of the outcome: a factor of two to a factor of a hundred or so.
POWER_SIZES = (0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class Question:
    """One way to ask a table for a bias; label says how it differs from the others."""

    label: str
    table: pd.DataFrame
    roles: pc.Roles


@dataclass(frozen=True, slots=True)
class RealStudy:
    """A study of real data: the main question first, what was said before it, and what limits it.

    command : how to make the page. intro, limits : paragraphs, and points. account : of every row lost.
    exclusion : whether the environment can act on the true loss only through content, as gradual assumes.
    """

    name: str
    title: str
    command: str
    intro: tuple[str, ...]
    questions: tuple[Question, ...]
    account: tuple[Entry, ...]
    limits: tuple[str, ...]
    exclusion: str


def read_counties(folder: Path) -> pd.DataFrame:
    """County covariates by FIPS, people and density in logs."""
    counties = read_table(folder / "county_covariates.csv.gz", text=["fips"])
    with np.errstate(divide="ignore"):
        counties["log_population"] = np.log(counties["population"])
        counties["log_density"] = np.log(counties["population"] / counties["area_sq_mi"])
    return counties[["fips", "state", *COUNTY]]


def constant_dollars(loss: pd.Series, year: pd.Series) -> np.ndarray:
    """Dollars of each year as dollars of BASE_YEAR."""
    return loss.to_numpy(dtype=float) * price_ratio(year.to_numpy(), BASE_YEAR)


def run(study: Callable[[Path], RealStudy], about: str | None, repetitions: int) -> None:
    """The command line of a study: the folder of the data, where to write, how often to refit."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("data", type=Path, help="folder with the losses, the proxies and the counties")
    parser.add_argument("--out", type=Path, default=Path("docs/studies"))
    parser.add_argument("--repetitions", type=int, default=repetitions, help="refits per test")
    given = parser.parse_args()
    print(make(study(given.data), given.out, given.repetitions))


def make(study: RealStudy, out: Path, repetitions: int) -> str:
    """Fit every question, put the first to the test, and write NAME.md, tables/ and figures/ in `out`."""
    for part in ("tables", "figures"):
        (out / part).mkdir(parents=True, exist_ok=True)
    models = [pc.ProxyCalibrator(one.roles, direction="under").fit(one.table) for one in study.questions]
    main = models[0]
    graded = [ask_graded(one.table, one.roles, direction="under") for one in study.questions]
    placebo = main.refute("placebo", repetitions=repetitions)
    power = main.power(alphas=POWER_SIZES, repetitions=repetitions)
    grids = {
        "answers": answers_table(study.questions, models),
        "estimates": estimates_table(main),
        "gradual": graded_table(study.questions, models, graded),
        "findings": findings_table(main),
        "power": power_table(power.table),
    }
    if graded[0].verdict == "bias found":
        grids["along"] = _clean(along_grid(graded[0], "The graded bias along each column, main question"))
    for name, grid in grids.items():
        write_table(to_frame(grid), out / "tables" / f"{study.name}-{name}.csv")
    save(figure(study.questions[0], main), out / "figures", f"{study.name}-fit")
    reasons = [
        f"{question.label}: {why(model)}" for question, model in zip(study.questions, models, strict=True)
    ]
    text = page(study, main, graded[0], grids, reasons, placebo, power)
    write_text(out / f"{study.name}.md", text)
    return text


def answers_table(questions: tuple[Question, ...], models: list[pc.ProxyCalibrator]) -> Grid:
    """The verdict of every question, a row each."""
    rows = []
    for question, model in zip(questions, models, strict=True):
        low, high = model.alpha_interval_
        gains = [one.value for one in model.findings_ if one.topic == "comparison"]
        rows.append(
            (
                question.label,
                f"{len(question.table):,}",
                model.verdict_,
                f"{model.alpha_:.2f} ({low:.2f} to {high:.2f})",
                f"{model.share_biased_:.0%}",
                f"{gains[0]:.0f}" if gains and gains[0] is not None else "-",
            )
        )
    columns = ("asked how", "rows", "verdict", "alpha, log dollars (95%)", "share biased", "BIC gain")
    return _grid("answers", "The same losses, asked in several ways", columns, rows)


def estimates_table(model: pc.ProxyCalibrator) -> Grid:
    """The estimators of the main fit."""
    rows = [
        (str(name), *[_number(row[key]) for key in ("alpha", "se", "low", "high")], str(row["note"]))
        for name, row in model.summary().iterrows()
    ]
    columns = ("estimator", "alpha", "se", "low", "high", "note")
    return _grid("estimates", "The estimators of the main fit side by side", columns, rows)


def graded_table(
    questions: tuple[Question, ...], models: list[pc.ProxyCalibrator], graded: list[Graded]
) -> Grid:
    """What the exact and the gradual method say of every question."""
    rows = [
        (question.label, model.verdict_, own)
        for question, model, own in zip(questions, models, graded, strict=True)
    ]
    return _clean(beside_grid(rows, "Exact and gradual side by side"))


def findings_table(model: pc.ProxyCalibrator) -> Grid:
    """`model.check()`, a row per question."""
    rows = [("yes" if one.ok else "NO", one.question, one.statistic, one.reading) for one in model.check()]
    return _grid(
        "findings", "What the checks say (`model.check()`)", ("ok", "", "statistic", "reading"), rows
    )


def power_table(table: pd.DataFrame) -> Grid:
    """What size of bias these rows could have shown."""
    rows = [
        (f"{alpha:g}", f"{row['size']:.2f}", f"{np.exp(row['size']):.1f}", f"{row['chance']:.0%}")
        for alpha, row in table.iterrows()
    ]
    columns = ("size, sds of the outcome", "log dollars", "as a factor", "found in")
    return _grid("power", "Known biases injected into these rows: how often they are found", columns, rows)


def _number(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "-"


def _grid(name: str, title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> Grid:
    return _clean(Grid(name, title, tuple(("", column) for column in columns), tuple(rows)))


def _clean(grid: Grid) -> Grid:
    # A bar inside a cell would end it.
    return replace(grid, rows=tuple(tuple(cell.replace("|", "/") for cell in row) for row in grid.rows))


def figure(question: Question, model: pc.ProxyCalibrator) -> Figure:
    """Reported losses against what content says, and against the first two proxies."""
    with warnings.catch_warnings():
        # The page says in words that the losses are left as reported.
        warnings.simplefilter("ignore", pc.ProxycalWarning)
        made = model.calibrate(question.table)
    y = question.table[question.roles.outcome].to_numpy(dtype=float)
    drawn = Figure(figsize=(10.2, 3.5), layout="constrained")
    FigureCanvasAgg(drawn)
    panels = drawn.subplots(1, 3, sharey=True)
    shown = [("expected if nobody under-reports, log dollars", made["mu"].to_numpy())]
    shown += [(name, question.table[name].to_numpy(dtype=float)) for name in question.roles.proxies[:2]]
    for panel, (name, x) in zip(panels, shown, strict=True):
        points = panel.scatter(
            x, y, c=made["p_biased"], s=5, alpha=0.6, linewidths=0, cmap="cividis", vmin=0.0, vmax=1.0
        )
        panel.set_xlabel(name.replace("_", " "), fontsize=8)
    panels[0].axline((float(y.mean()), float(y.mean())), slope=1.0, color="0.4", linewidth=1.0)
    panels[0].set_ylabel(f"reported loss, log dollars of {BASE_YEAR}", fontsize=8)
    drawn.colorbar(points, ax=panels[-1]).set_label("P(under-reported), by the fit", fontsize=8)
    return drawn


def page(
    study: RealStudy,
    model: pc.ProxyCalibrator,
    graded: Graded,
    grids: dict[str, Grid],
    reasons: list[str],
    placebo: Refutation,
    power: Power,
) -> str:
    """The page: the verdict first, then what it rests on, then every limit."""
    verdicts = {row[2] for row in grids["answers"].rows}
    sections = [
        f"# {study.title}",
        f"Made by `{study.command}` with {machine(code_digest())}",
        *study.intro,
        "## The answer",
        f"**{model.verdict_}** ({study.questions[0].label}). {_meaning(model, power)}",
        _agreement(verdicts),
        to_markdown(grids["answers"]).rstrip(),
        "Why, in the words of each fit:\n\n" + "\n".join(f"- {reason}" for reason in reasons),
        "![Reported losses against what content predicts and against both proxies, coloured by the "
        f"probability of under-reporting](figures/{study.name}-fit.png)",
        "The line is what would be reported if nobody under-reported."
        + (
            ""
            if model.verdict_ == "bias found"
            else f" The colours are those of a shift for which the verdict is '{model.verdict_}': no result."
        ),
        to_markdown(grids["estimates"]).rstrip(),
        "## If the bias varies gradually with the county",
        '`method="gradual"` does not assume that a report is either right or biased. It takes for a bias '
        "whatever the county moves in the reported loss beyond content, *if* the county acts on the true "
        "loss only through content.",
        to_markdown(grids["gradual"]).rstrip(),
        "\n".join(f"- {point}" for point in (*in_words(graded), study.exclusion)),
        *([to_markdown(grids["along"]).rstrip()] if "along" in grids else []),
        "## Put to the test",
        f"- {placebo}\n- power: {power}",
        to_markdown(grids["power"]).rstrip(),
        to_markdown(grids["findings"]).rstrip(),
        "## Limits",
        "\n".join(f"- {one}" for one in study.limits),
        "## Rows",
        lines(study.account),
    ]
    return "\n\n".join(sections) + "\n"


def _meaning(model: pc.ProxyCalibrator, power: Power) -> str:
    if model.verdict_ == "bias found":
        return (
            f"The fit says that {model.share_biased_:.0%} of the losses are reported {model.alpha_:.2f} "
            f"log points too low, a factor of {np.exp(model.alpha_):.1f}. Read the limits before "
            "believing it."
        )
    return (
        "The losses are left as reported; the size in the table is what a shift would be if one were "
        f"forced on the data, and is no result. It is no proof of honest figures either: {_seen(power)} "
        "(section Put to the test)."
    )


def _seen(power: Power) -> str:
    """Which shifts would have been found; with few tables, which were."""
    tried = [point for point in power.points if point.alpha > 0.0]
    tables = max(point.repetitions for point in tried)
    if tables < TOO_FEW:
        sizes = [f"{np.exp(point.alpha * power.sd):.1f}" for point in tried]
        found = [f"{point.chance:.0%}" for point in tried]
        others = "".join(f", of {size} in {share}" for size, share in zip(sizes[1:], found[1:], strict=True))
        return (
            f"of shifts put into these rows, {tables} tables for each size, a factor of {sizes[0]} was found "
            f"in {found[0]}{others}"
        )
    factor = np.exp(power.detectable * power.sd)
    if np.isfinite(factor):
        return f"a shift would be found in nine cases of ten only from a factor of about {factor:.0f} on"
    return "no size that was tried would be found in nine cases of ten"


def _agreement(verdicts: set[str]) -> str:
    if len(verdicts) == 1:
        return "All ways of asking get the same verdict."
    return (
        f"The verdict depends on how the table is asked ({'; '.join(sorted(verdicts))}). Whoever could "
        "choose the declaration could choose the answer: no number here should be used as the size of "
        "under-reporting."
    )
