"""The questions of the audit, one function each: the problem, where it is, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.table.audited import Trouble
from proxycal.table.checked import rows_needed
from proxycal.table.copied_rows import copied
from proxycal.table.family import yes_no
from proxycal.table.number_text import number_codes, number_text, two_readings
from proxycal.table.outcome_question import explained
from proxycal.table.outcome_type import outcome_type
from proxycal.table.relations import collinear_sets, copies, duplicates
from proxycal.table.require import (
    LARGEST,
    encoded_width,
    fewer_columns,
)
from proxycal.table.scale import outlying, varies
from proxycal.table.surface import choose, convert
from proxycal.table.total_rows import WHY, named, way_out
from proxycal.table.width import costly
from proxycal.table.wording import columns_named, counted, listed, shown

if TYPE_CHECKING:
    from proxycal.table.audited import AuditTable

# A value held by this share of the rows is told to the user. Higher than the share from which models with a
# spike are tried (modelled_spike in mixture/thresholds): this one is a warning and decides no verdict.
REPORTED_SPIKE = 0.05
RARE_ROWS = 5
FEW_CLUSTERS = 30
# Gaps in this share of the rows hardly change a population, whatever they are related to.
FEW_GAPS = 0.05
# Interquartile ranges from the median: no heavy tail reaches there, a code for missing or a slip does.
FAR = 1e6
LARGE, SMALL = 1e15, 1e-15
# Roles whose columns are blank in rows of which nothing is known, or whose gaps have a question of their own.
_NUMERIC = (
    "outcome",
    "reports",
    "weights",
    "counts",
    "truth",
    "inclusion",
    "exposure",
    "checked",
    "confirmed",
)
_MAY_BE_BLANK = ("reports", "truth", "inclusion", "trusted", "weights", "counts", "checked", "confirmed")


def few_rows(table: AuditTable) -> list[Trouble]:
    """Rows against encoded columns, too few of the first or too many of the second; rows that are copies."""
    everywhere = np.ones(table.n, dtype=bool)
    # Numbers that were read as text are a finding of their own, not a thousand categories.
    widths = {
        column.name: encoded_width(column, everywhere)
        for column in table.covariates
        if not number_text(column)
    }
    width = sum(widths.values())
    need = rows_needed(width, table.roles)
    if table.n >= need:
        return costly(table.n, width) + copied(table)
    return [
        Trouble(
            f"{counted(table.n, 'row')} for {counted(width, 'encoded column')}",
            f"A fit with {counted(width, 'encoded column')} needs at least {need} rows.",
            _sentence(fewer_columns(*max(widths.items(), key=lambda pair: pair[1], default=("", 0)), width)),
            float(table.n),
            must_fix=True,
        )
    ]


def totals(table: AuditTable) -> list[Trouble]:
    """Rows that are totals of other rows."""
    if not table.totals:
        return []
    keep = table.total_rows == "keep"
    remedy = "Nothing to do: they are kept as you said." if keep else f"{way_out(table.totals, table.index)}."
    found = named(table.totals, table.index)
    return [Trouble(found, WHY, remedy, float(len(table.totals.rows)), ok=keep, must_fix=not keep)]


def missing(table: AuditTable) -> list[Trouble]:
    """Rows with a gap in what is measured; gaps in weights and counts. Validated truth may have them."""
    holed = {name: column.missing for name, column in table.columns.items() if column.missing.any()}
    roles = {name: table.role(name) for name in holed}
    design = [name for name in holed if roles[name] in ("weights", "counts")]
    measured = [name for name in holed if roles[name] not in _MAY_BE_BLANK]
    troubles = [
        Trouble(
            f"column {shown(name)}: {int(holed[name].sum())} of {table.n} missing, {table.rows(holed[name])}",
            f"Missing values of {shown(name)} ({roles[name]}) are never filled in.",
            _fill_or_drop(roles[name]),
            float(holed[name].sum()),
            must_fix=True,
        )
        for name in design
    ]
    if not measured:
        return troubles
    rows = np.any([holed[name] for name in measured], axis=0)
    if len(measured) == 1:
        where = f"column {shown(measured[0])}: {int(rows.sum())} of {table.n} missing, {table.rows(rows)}"
    else:
        worst = sorted(measured, key=lambda name: -int(holed[name].sum()))
        each = ", ".join(f"{shown(name)} {int(holed[name].sum())}" for name in worst[:5])
        more = f" and {len(worst) - 5} more columns" if len(worst) > 5 else ""
        where = f"{int(rows.sum())} of {counted(table.n, 'row')}: {each}{more}; {table.rows(rows)}"
    outcome = next((name for name in measured if roles[name] == "outcome"), None)
    reading = f"{int(rows.sum())} of {counted(table.n, 'row')} have a gap in {columns_named(measured)}"
    related = "If missingness is related to the bias, dropping rows changes the population."
    remedy = _fill_or_drop("outcome" if outcome is not None else "proxies")
    settled = table.missing == "drop" or (table.missing == "impute" and outcome is None)
    if table.missing == "drop":
        reading, remedy = f"{reading} and are left out", "Compare with missing='impute'."
    elif settled:
        reading, remedy = f"{reading}, which is filled in and marked", "Compare with missing='drop'."
    few = settled and float(rows.mean()) <= FEW_GAPS
    return [Trouble(where, f"{reading}. {related}", remedy, float(rows.sum()), ok=few), *troubles]


def _fill_or_drop(role: str) -> str:
    if role in ("weights", "counts"):
        return "Correct or remove those rows."
    if role == "outcome":
        return _sentence(f"{choose('missing', 'drop')}: the outcome is never imputed")
    return _sentence(choose("missing", "drop", "impute"))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def infinite(table: AuditTable) -> list[Trouble]:
    """Infinite numbers."""
    return [
        Trouble(
            f"column {shown(name)}: {counted(int(bad.sum()), 'infinite value')}, {table.rows(bad)}",
            f"Infinite values in {shown(name)} cannot be used; the usual cause is a division by zero.",
            "Correct them or replace them with missing values.",
            float(bad.sum()),
            must_fix=True,
        )
        for name, column in table.columns.items()
        if column.numbers is not None and (bad := np.isinf(column.numbers)).any()
    ]


def not_numeric(table: AuditTable) -> list[Trouble]:
    """Columns that cannot be read, or not as their role needs."""
    troubles = [
        Trouble(
            message,
            f"Column {shown(name)} cannot be read.",
            "Convert it as described, or leave it out.",
            float(table.n),
            must_fix=True,
        )
        for name, message in table.unread.items()
    ]
    for name, column in table.columns.items():
        role = table.role(name)
        must_be_numeric = role in _NUMERIC
        if role in ("outcome", "reports", "truth") and yes_no(column) is not None:
            continue
        if number_text(column):
            odd = [level for level in column.levels if level not in set(column.looks_numeric())]
            then = f", beside {listed(odd)}" if odd else ""
            then += "." if must_be_numeric else "; each would become a category."
            reading = f"Column {shown(name)} holds numbers written as text{then}"
            remedy = _sentence(two_readings(column) or convert())
        elif must_be_numeric and column.numbers is None:
            reading = f"The {role} must be numeric, and {shown(name)} is not."
            remedy = "Choose a numeric column, or convert this one."
        else:
            continue
        troubles.append(
            Trouble(
                f"column {shown(name)} ({role}): {column.kind}, {counted(len(column.levels), 'value')} such "
                f"as {listed(column.levels)}, {table.rows(~column.missing)}",
                reading,
                remedy,
                float(len(column.levels)),
                must_fix=role != "environment" or number_codes(column),
            )
        )
    return troubles


def levels(table: AuditTable) -> list[Trouble]:
    """Categories with levels that hardly occur."""
    troubles = []
    for column in table.covariates:
        if column.codes is None or number_text(column):
            continue
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))
        rare = np.flatnonzero(counts < RARE_ROWS)
        if len(rare) and len(column.levels) > 1:
            names = listed([column.levels[code] for code in rare])
            statistic = f"{counted(len(rare), 'level')} with fewer than {RARE_ROWS} rows ({names}), "
            statistic += table.rows(np.isin(column.codes, rare))
            reading = f"The rare levels of {shown(column.name)} have too few rows to be estimated."
            where = f"column {shown(column.name)}: {statistic}"
            troubles.append(Trouble(where, reading, "Group them with others.", float(len(rare))))
    return troubles


def constant(table: AuditTable) -> list[Trouble]:
    """Columns with one value."""
    troubles = []
    for name, column in table.columns.items():
        role = table.role(name)
        if (
            role in ("truth", "inclusion", "trusted", "exposure", "checked", "confirmed")
            or (role in ("weights", "counts") and column.numbers is not None)
            or column.missing.all()
        ):
            continue
        if column.numbers is None:
            still = len(column.levels) == 1
        else:
            still = not varies(column.numbers[np.isfinite(column.numbers)])
        if still:
            value = column.levels[0] if column.numbers is None else float(column.numbers[~column.missing][0])
            troubles.append(
                Trouble(
                    f"column {shown(name)} ({role}): {shown(value)} in all {np.sum(~column.missing)} rows",
                    f"Column {shown(name)} is constant, so "
                    + ("there is nothing to calibrate." if role == "outcome" else "a fit leaves it out."),
                    "Remove it from the roles.",
                    1.0,
                    must_fix=role == "outcome",
                )
            )
    return troubles


def duplicated(table: AuditTable) -> list[Trouble]:
    """Proxies or environment columns that are the same column."""
    return [
        Trouble(
            f"{columns_named(names)}: the same in all {counted(table.n, 'row')}",
            f"{listed(names, limit=5)} hold the same values, so all but one add nothing.",
            f"Keep {shown(names[0])} only.",
            float(len(names)),
        )
        for names in duplicates(table.covariates)
    ]


def collinear(table: AuditTable) -> list[Trouble]:
    """Sets of proxies and environment columns that nearly add up."""
    twice = {name for names in duplicates(table.covariates) for name in names[1:]}
    single = [c for c in table.covariates if c.name not in twice]
    usable = np.ones(table.n, dtype=bool)
    for column in single:
        usable &= ~column.missing if column.numbers is None else np.isfinite(column.numbers)
    sets = collinear_sets(single, usable) if usable.any() else None
    if sets is None:
        few = f"{int(usable.sum())} complete rows"
        return [
            Trouble(
                few,
                "Too few complete rows to check for collinearity.",
                "Add rows or fill in missing values.",
                0.0,
                ok=True,
            )
        ]
    return [
        Trouble(
            f"{columns_named(names)}: smallest eigenvalue of the correlations {value:.2g}",
            f"{listed(names, limit=5)} nearly determine each other, so their separate effects cannot be "
            "estimated.",
            "Leave one of them out.",
            value,
        )
        for names, value in sets
    ]


def copy(table: AuditTable) -> list[Trouble]:
    """Proxies or environment columns made from the outcome."""
    outcome = table.columns.get(table.roles.outcome)
    return [
        Trouble(
            f"column {shown(name)} ({table.role(name)}) {how}",
            f"{shown(name)} was computed from the reported outcome, so it has the same bias.",
            "Leave it out; use a measurement that did not involve the reporter.",
            1.0,
        )
        for name, how in (copies(outcome, table.covariates) if outcome is not None else [])
    ]


def atom(table: AuditTable) -> list[Trouble]:
    """Outcome values that many rows share (REPORTED_SPIKE), unless a grid or a cap explains them."""
    outcome = table.columns.get(table.roles.outcome)
    if outcome is None or outcome.numbers is None or outcome.missing.all():
        return []
    seen = outcome.numbers[~outcome.missing]
    # Where the bias is a factor, a zero is no spike: it is immune, and set aside.
    values, counts = np.unique(seen[seen != 0.0] if table.scale == "log" else seen, return_counts=True)
    shares = counts / counts.sum()
    if len(values) <= 1:
        return []
    kind = outcome_type(outcome.numbers[np.isfinite(outcome.numbers)])
    big = [
        i
        for i in np.argsort(-counts, kind="stable")
        if shares[i] >= REPORTED_SPIKE and counts[i] > 1 and not explained(float(values[i]), kind)
    ]
    return [
        Trouble(
            f"column {shown(table.roles.outcome)}: {values[i]:g} in {counts[i]} of {int(counts.sum())} rows "
            f"({shares[i]:.0%}), {table.rows(outcome.numbers == values[i])}",
            f"Many rows share the value {values[i]:g} of {shown(table.roles.outcome)}: a spike, which the "
            "default method allows for, and which others may mistake for a group without bias.",
            _sentence(
                f"keep the default method, or {choose('method', 'exact')}; read the matched estimate with "
                "care"
            ),
            float(shares[i]),
        )
        for i in big[:3]
    ]


def id(table: AuditTable) -> list[Trouble]:
    """Ids that are repeated or missing."""
    name = table.roles.id
    if name is None or name not in table.keys:
        return []
    codes = table.keys[name]
    again = pd.Series(codes).duplicated(keep="first").to_numpy() & (codes >= 0)
    troubles = []
    for bad, what in ((again, "repeated"), (codes < 0, "missing")):
        if bad.any():
            troubles.append(
                Trouble(
                    f"column {shown(name)}: {int(bad.sum())} {what}, {table.rows(bad)}",
                    f"Matched rows are shown by id, and {int(bad.sum())} rows have no unique one in "
                    f"{shown(name)}.",
                    "Use a column with one value per row; rows that belong together are a cluster.",
                    float(bad.sum()),
                )
            )
    return troubles


def cluster(table: AuditTable) -> list[Trouble]:
    """Clusters that are missing or few."""
    name = table.roles.cluster
    if name is None or name not in table.keys:
        return []
    codes = table.keys[name]
    gone, clusters = codes < 0, int(codes.max()) + 1
    if gone.any():
        statistic = f"column {shown(name)}: {int(gone.sum())} missing, {table.rows(gone)}"
        return [
            Trouble(
                statistic,
                f"{int(gone.sum())} of {counted(table.n, 'row')} have no cluster in {shown(name)}; every row "
                "needs one.",
                "Fill them in or remove the rows.",
                float(gone.sum()),
            )
        ]
    if clusters >= FEW_CLUSTERS:
        return []
    return [
        Trouble(
            f"column {shown(name)}: {counted(clusters, 'cluster')} in {counted(table.n, 'row')}",
            f"With {counted(clusters, 'cluster')} in {shown(name)} (fewer than {FEW_CLUSTERS}), intervals "
            "are too narrow.",
            "Use a finer grouping if it is justified, or treat the intervals as too narrow.",
            float(clusters),
        )
    ]


def scale(table: AuditTable) -> list[Trouble]:
    """Sizes that no real measurement has."""
    troubles = []
    for name, column in table.columns.items():
        finite = None if column.numbers is None else np.isfinite(column.numbers)
        if column.numbers is None or finite is None or not finite.any():
            continue
        x = np.where(finite, column.numbers, np.nan)
        top = float(np.abs(x[finite]).max())
        small = x / (top or 1.0)
        far = outlying(small, FAR)
        if far.any():
            middle = np.median(small[finite]) * top
            what = f"{counted(int(far.sum()), 'value')} up to {top:g} against a median of {middle:g}"
            where = table.rows(far)
        elif top > LARGE or 0 < top < SMALL:
            what, where = f"largest magnitude {top:g}", table.rows(np.abs(x) == top)
        else:
            continue
        limit = f" Outcome and weights beyond {LARGEST:g} are refused." if top > LARGEST else ""
        troubles.append(
            Trouble(
                f"column {shown(name)}: {what}, {where}",
                f"Values of this size in {shown(name)} are usually codes for missing values, misplaced "
                f"decimal points or wrong units.{limit}",
                "Correct them, replace codes with missing values, or change the units.",
                float(top),
            )
        )
    return troubles
