"""Results on a terminal: one compact table, the findings that matter, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from proxycal.report.numbers import amount, band_text, change, rows_as_reported, size_text, total_text
from proxycal.report.prose import without_codes
from proxycal.report.shell import visible
from proxycal.report.summary import formula, ratio_between, ratio_text, sentence
from proxycal.table.surface import in_dialect

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from proxycal.report.differences import Difference
    from proxycal.report.helps import Help
    from proxycal.result import Finding, Fit

_STYLE = {"bias found": "bold red", "no bias found": "bold blue", "not identified": "bold yellow"}


def output() -> Console:
    """Standard output. Column names are text: no markup, no emoji codes."""
    return Console(markup=False, emoji=False, highlight=False, soft_wrap=True)


def show_result(fit: Fit, console: Console | None = None) -> None:
    """Verdict, answer, estimators side by side, and the findings that ask for something."""
    console = output() if console is None else console
    console.print(Text(fit.verdict, style=_STYLE.get(fit.verdict, "bold")))
    console.print(visible(in_dialect(sentence(fit))))
    console.print(Text(visible(formula(fit)), style="dim"))
    console.print()
    established = fit.verdict == "bias found"
    if not established:
        console.print(Text("sizes if there were a bias (do not quote them):", style="dim"))
    console.print(estimate_table(fit), style="" if established else "dim")
    show_findings(console, fit.findings)


def show_helps(listed: Sequence[Help]) -> None:
    """What would help where the data do not answer, most helpful first."""
    if not listed:
        return
    console = output()
    console.print()
    console.print("what would help, most helpful first:")
    for place, item in enumerate(listed, start=1):
        console.print(visible(in_dialect(f"  {place}. {item.text}")))
        if item.command:
            console.print(visible(f"     {item.command}"))


def estimate_table(fit: Fit) -> Table:
    """A row per estimator; the one that the answer uses is marked."""
    estimates, main, level = fit.estimates, fit.estimate.name, fit.settings.level
    log = fit.settings.factor
    headings: tuple[str, ...] = ("size", "std. error", f"{level * 100:g}% interval")
    if log:
        headings = ("log size", "std. error", "biased rows report", f"{level * 100:g}% interval")
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("estimator")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    noted = any(row.note for row in estimates)
    if noted:
        table.add_column("note", style="dim")
    for row in estimates:
        used = row.name == main
        size, se, interval = size_text(row)
        numbers = (size, se, ratio_text(fit, row), ratio_between(fit, row)) if log else (size, se, interval)
        note = (Text(visible(row.note)),) if noted else ()
        name = Text(f"{row.name} *" if used else row.name)
        table.add_row(name, *numbers, *note, style="bold" if used else "")
    return table


def show_totals(totals: pd.DataFrame, by: str | None, level: float) -> None:
    """Totals or means, a row per group; the columns of `ProxyCalibrator.totals`."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    if by is not None:
        # Groups keep their names however long the numbers are.
        table.add_column(Text(visible(by)), min_width=12)
    for heading in ("rows", "reported", "calibrated", f"{level * 100:g}% interval", "change"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in totals.to_dict("records"):
        values = (
            f"{row['rows']:,}",
            *total_text({str(name): value for name, value in row.items()}),
            change(row["change_pct"]),
        )
        table.add_row(*(() if by is None else (Text(visible(str(row[by]))),)), *values)
    output().print(table)
    if said := rows_as_reported({str(name): value for name, value in totals.iloc[-1].items() if name != by}):
        output().print(Text(said, style="dim"))


def show_band(band: pd.DataFrame, by: str | None) -> None:
    """Totals under an assumption, a row per group; the columns of `ProxyCalibrator.band`."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    if by is not None:
        table.add_column(Text(visible(by)), min_width=12)
    for heading in ("rows", "reported", "then the truth is", "whichever rows they are"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in band.to_dict("records"):
        texts = (amount(row["reported"]), *band_text({str(name): value for name, value in row.items()}))
        table.add_row(*(() if by is None else (Text(visible(str(row[by]))),)), f"{row['rows']:,}", *texts)
    output().print(table)


def show_findings(console: Console, findings: Sequence[Finding], every: bool = False) -> None:
    """Those to act on with their remedies; the others in one line each if `every`, else only counted."""
    fine = sum(finding.ok for finding in findings)
    must_fix = sum(finding.must_fix for finding in findings)
    first = f"{must_fix} to fix before a fit, " if must_fix else ""
    console.print()
    console.print(f"findings: {first}{fine} ok, {len(findings) - fine - must_fix} to look at")
    for finding in findings:
        if finding.ok:
            if every:
                console.print(
                    Text("  ok  ", style="green")
                    + Text(visible(in_dialect(without_codes(f"{finding.question} {finding.reading}"))))
                )
            continue
        mark = " FIX  " if finding.must_fix else "   !  "
        asked = visible(without_codes(f"{finding.question} {finding.statistic}"))
        console.print(Text(mark, style="bold red") + Text(asked))
        console.print(visible(in_dialect(without_codes(f"      {finding.reading}"))))
        if finding.remedy:
            console.print(visible(in_dialect(f"      -> {finding.remedy}")))


def show_differences(found: Sequence[Difference], first: str, second: str) -> None:
    """What two runs do not share, a line each."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("", "", first, second):
        table.add_column(Text(visible(heading)))
    part = ""
    for row in found:
        named = row.part if row.part != part else ""
        part = row.part
        texts = [Text(visible(text)) for text in (row.what, row.first, row.second)]
        table.add_row(Text(named, style="dim"), *texts)
    output().print(table)
