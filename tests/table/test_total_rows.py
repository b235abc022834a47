"""Totals among the rows are found by label or by sums, and rows like the others are left in peace."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from proxycal.errors import TableError
from proxycal.fitting import fit_table
from proxycal.settings import Settings
from proxycal.table.audit import audit
from proxycal.table.gate import gate
from proxycal.table.roles import Roles
from proxycal.table.surface import speaking
from proxycal.table.total_rows import refuse_total_rows, total_rows, total_rows_of

STATES, EACH = 6, 10
SUBTOTALS = [(EACH + 1) * (k + 1) - 1 for k in range(STATES)]
GRAND = (EACH + 1) * STATES


def counties(seed: int = 0) -> pd.DataFrame:
    """Sixty counties in six states: two amounts, a rate, and a place that names the county."""
    rng = np.random.default_rng(seed)
    n = STATES * EACH
    return pd.DataFrame(
        {
            "state": np.repeat([f"State {k}" for k in range(STATES)], EACH),
            "county": [f"County {i}" for i in range(n)],
            "loss": np.round(np.exp(10.0 + rng.normal(size=n))),
            "area": np.round(np.exp(3.0 + rng.normal(size=n)), 1),
            "rate": np.round(rng.random(n), 3),
        }
    )


def with_totals(label: str, grand: str, first: bool = False) -> pd.DataFrame:
    """The counties with a subtotal below (or above) each state, and a grand total at the end (or start)."""
    table = counties()

    def total(part: pd.DataFrame, state: str, called: str) -> dict:
        return {"state": state, "county": called, "loss": part["loss"].sum(),
                "area": round(part["area"].sum(), 1), "rate": round(part["rate"].mean(), 3)}  # fmt: skip

    rows: list[dict] = []
    for state, part in table.groupby("state", sort=False):
        own = part.to_dict("records")
        subtotal = total(part, str(state), label)
        rows += [subtotal, *own] if first else [*own, subtotal]
    last = total(table, "", grand)
    return pd.DataFrame([last, *rows] if first else [*rows, last])


@pytest.mark.parametrize(
    ("label", "grand"),
    [("Total", "Grand total"), ("Zwischensumme", "Gesamt"), ("State total", "All"), ("", ""), ("x", "y")],
)
def test_subtotals_and_a_grand_total_are_found_by_label_or_sums(label, grand):
    found = total_rows_of(with_totals(label, grand))
    assert found.rows.tolist() == [*SUBTOTALS, GRAND]
    known = label not in ("", "x")
    assert found.labels == ((label,) * STATES + (grand,) if known else ("",) * (STATES + 1))


def test_totals_above_their_rows_are_found():
    found = total_rows_of(with_totals("x", "y", first=True))
    assert found.rows.tolist() == [0, *(1 + (EACH + 1) * k for k in range(STATES))]


def test_one_total_at_the_end_is_found_by_its_sums():
    table = counties()
    total = {"state": "", "county": "", "loss": table["loss"].sum(), "area": round(table["area"].sum(), 1)}
    assert total_rows_of(pd.concat([table, pd.DataFrame([total])])).rows.tolist() == [len(table)]


def test_sums_of_few_values_are_found_by_their_size():
    """Counts of about 20 with subtotals of 100 rows each, a rate and an income that are means; no label."""
    rng = np.random.default_rng(44)
    counts = np.round(np.exp(rng.normal([3.0, 4.0, 2.0], 1.0, size=(300, 3)))) + 1.0
    means = np.column_stack([rng.random(300).round(3), np.round(40_000 + 9_000 * rng.normal(size=300))])
    blocks = [slice(start, start + 100) for start in (0, 100, 200)]
    rows = [
        np.vstack([np.hstack([counts[b], means[b]]), np.r_[counts[b].sum(axis=0), means[b].mean(axis=0)]])
        for b in blocks
    ]
    table = np.vstack(rows)
    table[:, 4] = table[:, 4].round()
    assert total_rows({}, table).rows.tolist() == [100, 201, 302]
    assert total_rows({}, table[:, [0, 1, 3]]).rows.tolist() == [100, 201, 302]


def test_the_kind_of_frame_does_not_matter():
    table = with_totals("Total", "Grand total")
    assert total_rows_of(pl.from_pandas(table)).rows.tolist() == [*SUBTOTALS, GRAND]
    assert total_rows_of(table.astype({"county": "category"})).rows.tolist() == [*SUBTOTALS, GRAND]


def test_rows_like_the_others_are_left_in_peace():
    """Two hundred tables of whole and rounded numbers, of 20 to 2,000 rows: no sum by chance."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(20, 2000))
        columns = [
            rng.integers(0, int(10 ** rng.uniform(0.3, 5.0)), n).astype(float)
            if rng.random() < 0.6
            else np.round(np.exp(2.0 * rng.normal(size=n)), int(rng.integers(0, 4)))
            for _ in range(int(rng.integers(2, 10)))
        ]
        assert not total_rows({}, np.column_stack(columns)), seed


def test_a_category_called_total_is_no_total():
    rng = np.random.default_rng(0)
    damage = rng.choice(["total", "partial", "none"], 300)
    assert not total_rows_of(pd.DataFrame({"damage": damage, "loss": np.exp(rng.normal(size=300))}))
    assert not total_rows_of(pd.DataFrame({"who": ["all", "some"] * 30, "loss": rng.normal(size=60)}))


def test_tables_without_numbers_or_rows_are_fine():
    assert total_rows_of(pd.DataFrame({"a": ["x", "Total"]})).rows.tolist() == [1]
    assert not total_rows_of(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    assert not total_rows_of(pd.DataFrame({"a": [np.nan] * 5, "b": [np.inf] * 5, "c": [None] * 5}))


ROLES = Roles("loss", ["area"], ["rate"])
SETTINGS = Settings(direction="under", method="moments")


def test_a_fit_refuses_totals_until_they_are_kept():
    table = with_totals("Total", "Grand total")
    with pytest.raises(
        TableError, match=r"7 rows are totals of other rows: index 10 \('Total'\), 21"
    ) as refusal:
        fit_table(table, ROLES, SETTINGS)
    assert "df.drop(index=[10, 21, 32, 43, 54, 65, 66])" in str(refusal.value)
    assert "total_rows='keep'" in str(refusal.value)
    assert fit_table(counties(), ROLES, SETTINGS).n == STATES * EACH
    kept = fit_table(table, ROLES, Settings(direction="under", method="moments", total_rows="keep"))
    assert kept.n == GRAND + 1


def test_the_audit_names_totals_as_what_must_be_fixed():
    table = with_totals("Total", "Grand total")
    (finding,) = [finding for finding in audit(table, ROLES) if finding.topic == "totals"]
    assert finding.must_fix
    assert not gate(table, ROLES, SETTINGS).open
    assert gate(table, ROLES, Settings(direction="under", total_rows="keep")).open
    assert not [
        finding for finding in audit(counties(), ROLES) if finding.topic == "totals" and not finding.ok
    ]


def test_rows_are_named_as_in_the_file_that_is_open():
    table = with_totals("Total", "Grand total")
    with speaking("shell"), pytest.raises(TableError, match=r"row 12 \('Total'\).*Pass --total-rows drop"):
        refuse_total_rows(table, "raise")
    in_file = table.set_axis(pd.Index(range(5, 5 + len(table)), name="row of the file"))
    with pytest.raises(TableError, match=r"row 15 \('Total'\)"):
        refuse_total_rows(in_file, "raise")


def test_half_a_surrogate_pair_is_a_label_like_any_other():
    """Text that cannot be encoded ended the audit in a UnicodeEncodeError."""
    place = pd.Series(["\ud800", "\ud800", "\ud800", "Total"], dtype=object)
    table = pd.DataFrame({"place": place, "y": [1.0, 2.0, 3.0, 6.0]})
    assert total_rows_of(table).rows.tolist() == [3]


def test_small_counts_that_follow_one_another_are_no_totals():
    rng = np.random.default_rng(0)
    day = rng.poisson(np.exp(rng.normal(1.0, 1.2, 2_000)))
    later = day + rng.binomial(1, 0.05, 2_000)
    last = later + rng.binomial(1, 0.05, 2_000)
    logs = np.log1p(np.concatenate([[0, 0, 0], day[:-3]]))
    table = pd.DataFrame({"day": day, "later": later, "last": last, "before": logs, "next": np.roll(logs, 1)})
    assert not total_rows_of(table)
