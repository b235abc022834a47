"""What must hold of every answer, whatever the table: each check yields a line for all that is wrong."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import proxycal
from benchmarks.invariant_changes import CHANGES
from proxycal.errors import ProxycalError, ProxycalWarning
from proxycal.result import OUTPUT_COLUMNS
from proxycal.scale.calibrate import calibrate_files
from proxycal.scale.totals import totals_files

if TYPE_CHECKING:
    from benchmarks.invariant_tables import Case

Check = Callable[["Answered"], Iterator[str]]
# Sums in another order differ in the last digits: of values of this size, more is a difference.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Answered:
    """A fitted model, and what it says of a table; warned : what it warned of."""

    case: Case
    model: Any
    table: Any
    rows: Any
    warned: tuple[str, ...] = field(default=())

    @cached_property
    def y(self) -> np.ndarray:
        """The reports, (n,)."""
        return self.table["y"].to_numpy(dtype=float)

    @cached_property
    def truth(self) -> np.ndarray:
        """Validated values, (n,), NaN elsewhere."""
        role = self.case.roles.truth
        return np.full(len(self.table), np.nan) if role is None else self.table[role].to_numpy(dtype=float)

    @cached_property
    def trusted(self) -> np.ndarray:
        """Rows whose report is free of the bias, (n,)."""
        role = self.case.roles.trusted
        if role is None:
            return np.zeros(len(self.table), dtype=bool)
        return self.table[role].to_numpy(dtype=float, na_value=0.0) == 1.0

    @cached_property
    def complete(self) -> np.ndarray:
        """Rows without a gap in a column that an answer needs, (n,)."""
        roles = self.case.roles
        return self.table[[roles.outcome, *roles.proxies, *roles.environment]].notna().all(axis=1).to_numpy()

    @cached_property
    def size(self) -> float:
        """How large the numbers are that a value is compared with."""
        return float(np.nanmax(np.abs(np.concatenate([self.y, self.truth, [1e-300]]))))

    @cached_property
    def learned(self) -> bool:
        """Whether validated rows decide the answer, on either side of the report."""
        return bool(self.model.result_.method_fit.details.by_validation)

    def column(self, name: str) -> np.ndarray:
        """A column of the answer, (n,)."""
        return self.rows[name].to_numpy(dtype=float)


def ask(case: Case, model: Any, table: Any) -> Answered:
    """Calibrate a table."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ProxycalWarning)
        rows = model.calibrate(table)
    return Answered(case, model, table, rows, tuple(str(warning.message) for warning in caught))


def shape(said: Answered) -> Iterator[str]:
    """The columns that are declared, on the index of the table; numbers where there is an answer."""
    if list(said.rows.columns) != [column.name for column in OUTPUT_COLUMNS]:
        yield f"columns {list(said.rows.columns)}"
    if not said.rows.index.equals(said.table.index):
        yield "another index"
    missing = said.case.recipe["missing"]
    wanted = said.complete if missing == "drop" else np.ones(len(said.table), dtype=bool)
    for name in ("y_cal", "p_biased", "shift", "mu"):
        finite = np.isfinite(said.column(name))
        if (finite != wanted).any():
            none, some = int((~finite & wanted).sum()), int((finite & ~wanted).sum())
            yield f"{name} is not finite in {none} rows, and is in {some} with gaps"
    if not wanted.all() and not any("got no answer" in text for text in said.warned):
        yield "rows without an answer, and no warning"


def intervals(said: Answered) -> Iterator[str]:
    """A value lies within its interval; where there is none, a warning says why."""
    y_cal, low, high = (said.column(name) for name in ("y_cal", "y_cal_low", "y_cal_high"))
    known = np.isfinite(y_cal)
    if (np.isnan(low) != np.isnan(high)).any():
        yield "one end of an interval is missing"
    none = known & np.isnan(low)
    if none.any() and not said.model.result_.why_left_alone:
        yield f"{int(none.sum())} rows have a value and no interval, and nothing says why"
    slack = ROUNDING * said.size
    outside = known & ~np.isnan(low) & ~((low <= y_cal + slack) & (y_cal <= high + slack))
    if outside.any():
        yield f"y_cal outside of its interval in {int(outside.sum())} rows: {_row(said, outside)}"
    endless = known & (np.isinf(low) | np.isinf(high))
    if endless.any():
        yield f"an interval without end in {int(endless.sum())} rows: {_row(said, endless)}"
    p = said.column("p_biased")[known]
    if ((p < 0.0) | (p > 1.0)).any():
        yield f"p_biased from {p.min()} to {p.max()}"


def shifts(said: Answered) -> Iterator[str]:
    """y_cal = y_obs - shift, on the side of the direction, and no further than a size of the fit."""
    y_cal, shift = said.column("y_cal"), said.column("shift")
    known = np.isfinite(y_cal)
    slack = 1e-7 * said.size
    wrong = known & (np.abs(said.y - shift - y_cal) > ROUNDING * 10.0 * said.size)
    if wrong.any():
        yield f"y_cal is not y_obs - shift in {int(wrong.sum())} rows: {_row(said, wrong)}"
    free = known & np.isnan(said.truth) & ~said.trusted
    fit = said.model.result_
    if fit.why_left_alone and (shift[free] != 0.0).any():
        yield "not left alone, though it says so"
    against = free & (said.case.sign * shift < -slack)
    if against.any() and not said.learned:
        yield f"{int(against.sum())} rows calibrated against the direction: {_row(said, against)}"
    if (shift[said.trusted & known & np.isnan(said.truth)] != 0.0).any():
        yield "a trusted report was changed"
    validated = known & np.isfinite(said.truth)
    if (y_cal[validated] != said.truth[validated]).any():
        yield "the answer of a validated row is not its truth"


def reach(said: Answered) -> Iterator[str]:
    """No answer is further from its report than the largest size of the fit, or than its reports reach."""
    free = np.isfinite(said.column("y_cal")) & np.isnan(said.truth)
    fit = said.model.result_
    y, y_cal = said.y[free], said.column("y_cal")[free]
    if not len(y):
        return
    log = fit.settings.scale == "log"
    known = np.concatenate([fit.training.y, *([] if fit.training.truth is None else [fit.training.truth])])
    known = np.concatenate([known[np.isfinite(known)], y])
    if log:
        moved = np.abs(np.log(np.maximum(y_cal[y > 0.0], 1e-300) / y[y > 0.0]))
        most = float(np.ptp(np.log(known[known > 0.0]))) if (known > 0.0).any() else 0.0
    else:
        moved, most = np.abs(y - y_cal), float(np.ptp(known))
    furthest = float(moved.max(initial=0.0))
    if furthest > most * (1.0 + 1e-9):
        yield f"moved by {furthest:.6g}, where reports and truths span {most:.6g}{' (logs)' if log else ''}"
    details = fit.method_fit.details
    alike = fit.settings.effect == "constant" and not (details.law or details.claim or said.learned)
    # A law may have found by itself that sizes differ between levels.
    alike = alike and "mean over" not in fit.estimate.note
    if alike and fit.settings.method != "gradual" and furthest > fit.estimate.alpha * (1.0 + 1e-6):
        yield f"moved by {furthest:.6g}, where the one size is {fit.estimate.alpha:.6g}"


def totals(said: Answered) -> Iterator[str]:
    """Totals are sums of y_cal, groups add up to all rows, and each lies within its interval."""
    if said.table["y"].isna().any() or (said.case.recipe["missing"] == "drop" and not said.complete.all()):
        return
    table, by = said.table, "kind" if "kind" in said.table and said.table["kind"].notna().all() else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        done = said.model.totals(table, by=by)
        mean = said.model.totals(table, statistic="mean").iloc[-1]
    roles = said.case.roles
    every = np.ones(len(table))
    for role in (roles.weights, roles.counts):
        every = every * (1.0 if role is None else table[role].to_numpy(dtype=float))
    last = done.iloc[-1]
    largest = float((every * np.maximum(np.abs(said.y), np.abs(said.column("y_cal")))).sum()) or 1.0
    yield from _near("reported total", last["reported"], float((every * said.y).sum()), largest)
    if not said.learned:
        # Validated rows correct a total beyond the values of its rows (prediction-powered inference).
        summed = float((every * said.column("y_cal")).sum())
        yield from _near("calibrated total", last["calibrated"], summed, largest)
    yield from _near("mean", mean["calibrated"] * float(every.sum()), last["calibrated"], largest)
    if by is not None:
        for name in ("rows", "reported", "calibrated"):
            yield from _near(f"groups: {name}", float(done[name].iloc[:-1].sum()), float(last[name]), largest)
    known = done["low"].notna()
    if (done["low"].isna() != done["high"].isna()).any():
        yield "one end of the interval of a total is missing"
    slack = ROUNDING * largest
    inside = (done["low"] <= done["calibrated"] + slack) & (done["calibrated"] <= done["high"] + slack)
    if not inside[known].all():
        yield f"a total outside of its interval: {done[known & ~inside].iloc[0].to_dict()}"


def _near(what: str, value: float, wanted: float, size: float) -> Iterator[str]:
    if not abs(value - wanted) <= 1e-8 * size:
        yield f"{what} {value:.10g}, expected {wanted:.10g}"


def rows_alone(said: Answered) -> Iterator[str]:
    """The answer for a row does not depend on the rows beside it."""
    part = said.table.iloc[::3]
    try:
        rows = ask(said.case, said.model, part).rows
    except ProxycalError as error:
        # Every third row may hold no complete one.
        if said.complete[::3].any():
            yield f"every third row: {error}"
        return
    yield from _same("every third row", rows, said.rows.iloc[::3], said.size)


def saved(said: Answered) -> Iterator[str]:
    """Saved, loaded and asked again, the answer is the same to the bit."""
    with tempfile.TemporaryDirectory() as folder:
        said.model.save(f"{folder}/run")
        again = proxycal.load(f"{folder}/run")
    first, second = said.model.result_, again.result_
    if not ask(said.case, again, said.table).rows.equals(said.rows):
        yield "loaded, it calibrates otherwise"
    for name in ("verdict", "n", "settings", "roles", "versions"):
        if getattr(first, name) != getattr(second, name):
            yield f"loaded, {name} is {getattr(second, name)}, not {getattr(first, name)}"
    if repr(first.findings) != repr(second.findings) or repr(first.estimates) != repr(second.estimates):
        yield "loaded, findings or estimates differ"
    if [done.to_dict() for done in first.totals] != [done.to_dict() for done in second.totals]:
        yield "loaded, totals differ"


def words(said: Answered) -> Iterator[str]:
    """Findings are made of what they declare, and pass through JSON."""
    for finding in said.model.findings_:
        kinds = {
            "ok": bool,
            "must_fix": bool,
            "question": str,
            "statistic": str,
            "reading": str,
            "remedy": str,
        }
        for name, kind in kinds.items():
            if type(getattr(finding, name)) is not kind:
                yield f"finding {finding.topic!r}: {name} is a {type(getattr(finding, name)).__name__}"
        if not finding.reading.strip() or "nan" in finding.reading.split():
            yield f"finding {finding.topic!r} reads {finding.reading!r}"
    json.dumps([finding.to_dict() for finding in said.model.findings_], allow_nan=False)
    estimate = said.model.result_.estimate
    if estimate.alpha < 0.0 or estimate.low > estimate.alpha or estimate.alpha > estimate.high:
        yield f"alpha {estimate.alpha} in [{estimate.low}, {estimate.high}]"
    if said.model.verdict_ == "bias found" and not np.isfinite([estimate.alpha, estimate.se]).all():
        yield f"bias found, and its size is {estimate.alpha} with a standard error of {estimate.se}"
    if not (0.0 <= said.model.share_biased_ <= 1.0 + ROUNDING or estimate.note):
        yield f"share of biased rows {said.model.share_biased_}"
    said.model.summary()
    repr(said.model)


def asked(said: Answered) -> Iterator[str]:
    """Whatever else can be asked has an answer or one error of ours."""
    question, model = said.case.recipe["ask"], said.model
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder, suppress(ProxycalError):
        warnings.simplefilter("ignore", ProxycalWarning)
        if question == "report":
            model.report(f"{folder}/report.html")
        elif question == "check":
            model.check()
        elif question == "audit":
            plan = model.plan_audit(said.table, n=5)
            if not (len(plan) <= 5 and plan["inclusion_probability"].between(0.0, 1.0).all()):
                yield f"audit plan of {len(plan)} rows"
        elif question == "effects":
            effects = model.effects(said.table)
            if not effects.index.equals(said.table.index):
                yield "effects have another index"


def containers(said: Answered) -> Iterator[str]:
    """A polars frame, and files, are answered as the pandas frame was."""
    kind = said.case.recipe["container"]
    if kind == "pandas":
        return
    if kind == "polars":
        import polars

        rows = ask(said.case, said.model, polars.from_pandas(said.table)).rows.to_pandas()
        yield from _same("polars", rows, said.rows, said.size)
        return
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        said.model.save(f"{folder}/run")
        path, out = f"{folder}/table.{kind}", f"{folder}/out.parquet"
        if kind == "csv":
            said.table.to_csv(path, index=False)
        else:
            said.table.to_parquet(path, index=False, row_group_size=50)
        calibrate_files(f"{folder}/run", [path], out, part_rows=50 if kind == "parquet" else None)
        rows = pd.read_parquet(out)[list(said.rows.columns)]
        yield from _same(kind, rows, said.rows, said.size)
        first = said.model.totals(said.table)
        second = totals_files(said.model.result_, [path])
        yield from _same(f"totals of {kind}", second, first, float(np.abs(first["reported"]).max()) or 1.0)


def _same(what: str, rows: Any, wanted: Any, size: float) -> Iterator[str]:
    for name in wanted.columns:
        one, other = (frame[name].to_numpy(dtype=float) for frame in (rows, wanted))
        scale = 1.0 if name == "p_biased" else size
        if one.shape != other.shape or not np.allclose(
            one, other, rtol=1e-7, atol=1e-7 * scale, equal_nan=True
        ):
            yield f"{what}: {name} differs"


def strangers(said: Answered) -> Iterator[str]:
    """A level, gap or text never seen in the fit is an error of ours, or a row with a finite answer."""
    roles = said.case.roles
    for what, column, value in (
        ("an unseen level", "kind", "never seen"),
        ("a gap", roles.environment[0], None),
        ("a gap in a proxy", roles.proxies[0], None),
        ("text for a number", roles.environment[0], "n/a?"),
        ("an endless number", roles.proxies[0], np.inf),
    ):
        if column not in said.table:
            continue
        table = said.table.iloc[:5].copy()
        table[column] = table[column].astype(object)
        table.iloc[0, table.columns.get_loc(column)] = value
        try:
            answered = ask(said.case, said.model, table)
        except ProxycalError:
            continue
        if np.isfinite(answered.column("y_cal")[0]):
            yield from (f"{what}: {text}" for text in reach(replace(answered, table=said.table.iloc[:5])))
        elif not answered.warned:
            yield f"{what}: no answer and no warning"


def next_table(said: Answered) -> Iterator[str]:
    """Rows of the same world that were not fitted, without truth, are answered under the same rules."""
    fresh = said.case.fresh.drop(columns=[name for name in (said.case.roles.truth,) if name is not None])
    fresh = fresh.drop(columns=[name for name in ("inclusion",) if name in fresh])
    try:
        answered = ask(
            replace(said.case, roles=replace(said.case.roles, truth=None, inclusion=None)), said.model, fresh
        )
    except ProxycalError:
        return
    for check in (shape, intervals, shifts, reach, totals):
        yield from (f"new rows: {check.__name__}: {text}" for text in check(answered))


def changed(said: Answered) -> Iterator[str]:
    """What should not matter does not: fitted again, the verdict, the size and the values are the same."""
    change = CHANGES.get(said.case.recipe["change"])
    other = None if change is None else change(said.case)
    if other is None:
        return
    case, unit = other
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        again = proxycal.ProxyCalibrator(case.roles, **case.arguments).fit(case.table)
    first, second = said.model.result_.estimate, again.result_.estimate
    if again.verdict_ != said.model.verdict_:
        sizes = f"alpha {first.alpha:.6g}, {second.alpha / unit:.6g}"
        yield f"the verdict was '{said.model.verdict_}' and is '{again.verdict_}' ({sizes})"
        return
    if said.model.verdict_ != "bias found" and not said.learned:
        # What is not identified has many sizes that are as good, and no value rests on it.
        return
    moved = abs(second.alpha / unit - first.alpha)
    # A thousandth of a standard error is what two ways to a sum may differ by.
    if moved > 1e-3 * first.se + 1e-6 * abs(first.alpha):
        apart = f"{moved / first.se:.2g} standard errors"
        yield f"alpha was {first.alpha:.8g} and is {second.alpha / unit:.8g}, {apart}"
    rows = ask(case, again, case.table).rows.loc[:, ["y_cal", "p_biased"]]
    order = case.table["_row"].to_numpy() if "_row" in case.table else np.arange(len(rows))
    back = np.argsort(order)
    y_cal = rows["y_cal"].to_numpy()[back] / unit
    spread = float(np.nanstd(said.column("y_cal")))
    allowed = 1e-3 * spread + 1e-9 * said.size
    if said.learned:
        # Which candidate is shown which row is drawn by the values of the rows: answers may differ within
        # their intervals.
        allowed = float(np.nanmax(said.column("y_cal_high") - said.column("y_cal_low"), initial=allowed))
    furthest = float(np.nanmax(np.abs(y_cal - said.column("y_cal")), initial=0.0))
    if furthest > allowed:
        yield f"a calibrated value is another by {furthest / spread:.2g} sd"


def _row(said: Answered, chosen: np.ndarray) -> str:
    at = int(np.flatnonzero(chosen)[0])
    return ", ".join(f"{name} {value:.6g}" for name, value in {"y": said.y[at], **said.rows.iloc[at]}.items())


CHECKS: tuple[Check, ...] = (
    shape, intervals, shifts, reach, totals, words, rows_alone, saved, strangers, next_table, asked,
    containers, changed,
)  # fmt: skip
