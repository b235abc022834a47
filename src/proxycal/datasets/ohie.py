"""OHIE: the Oregon Health Insurance Experiment, from the user's own download of the NBER public-use files.

The files are never shipped: everyone accepts NBER's terms for themselves. Where there are none, a simulated
stand-in with the same names and ranges can be asked for; it is labelled as one wherever it appears.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from proxycal.datasets.dataset import Dataset
from proxycal.datasets.environment import independent, is_flat
from proxycal.errors import StoreError, TableError
from proxycal.reading.table import read_table
from proxycal.table.roles import Roles

OUTCOME_SOURCE, OUTCOME = "ed_charg_tot_ed", "log_ed_charg_tot_ed"
PROXIES = ("bp_sar_inp", "bp_dar_inp", "hdl_inp", "a1c_inp", "phqtot_inp")
# Which file holds what; person_id joins them.
COLUMNS: dict[str, tuple[str, ...]] = {
    "oregonhie_descriptive_vars": ("treatment",),
    "oregonhie_stateprograms_vars": ("snap_tot_hh_prenotify07", "tanf_tot_hh_prenotify07"),
    "oregonhie_ed_vars": (
        OUTCOME_SOURCE,
        *[f"num_{kind}_pre_cens_ed" for kind in ("visit", "on", "off", "chron", "inj", "hiun", "loun")],
        "ed_charg_tot_pre_ed",
        "charg_tot_pre_ed",
    ),
    "oregonhie_inperson_vars": (*PROXIES, "tot_med_spend_other_inp"),
}
ENVIRONMENT = tuple(
    name for names in COLUMNS.values() for name in names if name not in (OUTCOME_SOURCE, *PROXIES)
)
STAND_IN = "simulated stand-in"
_RANGES = {
    OUTCOME_SOURCE: (0.0, 71_157.0), "bp_sar_inp": (72.0, 229.0), "bp_dar_inp": (39.0, 158.0),
    "a1c_inp": (3.73, 11.25), "phqtot_inp": (0.0, 24.0), "hdl_inp": (-1.9, 139.0),
    "tot_med_spend_other_inp": (0.0, 92_475.0), "snap_tot_hh_prenotify07": (0.0, 20_745.0),
    "tanf_tot_hh_prenotify07": (0.0, 16_031.0),
}  # fmt: skip


def load_ohie(folder: str | Path) -> Dataset:
    """The people who are in all four files of `folder` (.dta or .csv) with nothing missing.

    The outcome is log(1 + ed_charg_tot_ed), total charges of emergency visits; five measurements of the
    in-person survey are the proxies. Environment columns of low variance and collinear ones are dropped, and
    `about` names them with the number of rows lost to gaps.
    """
    folder = Path(folder)
    found = {stem: _find(folder, stem) for stem in COLUMNS}
    missing = [stem for stem, path in found.items() if path is None]
    if missing:
        raise StoreError(
            f"'{folder}' holds no {', '.join(missing)} (.dta or .csv): download the public-use files of the "
            "Oregon Health Insurance Experiment from NBER into this folder"
        )
    joined: pd.DataFrame | None = None
    for stem, path in found.items():
        if path is not None:
            part = _read(path, COLUMNS[stem])
            joined = part if joined is None else joined.merge(part, on="person_id", validate="one_to_one")
    if joined is None or joined.empty:
        raise TableError(f"no person_id is in all four files of '{folder}': are they of the same release?")
    return assemble(joined, f"OHIE, Oregon Health Insurance Experiment, NBER public-use files in '{folder}'")


def ohie_stand_in(n: int = 2000, random_state: int = 0) -> Dataset:
    """A simulated table with the names and ranges of OHIE, for trying things out; no fact about Oregon.

    >>> data = ohie_stand_in(n=300)
    >>> data.about.startswith("simulated stand-in"), len(data.roles.proxies)
    (True, 5)
    """
    rng = np.random.default_rng(random_state)
    health, use = rng.normal(size=n), rng.normal(size=n)
    table = {"person_id": np.arange(1, n + 1), "treatment": rng.integers(0, 2, n)}
    visits = rng.poisson(np.exp(0.3 * use + 0.3 * health))
    for name in COLUMNS["oregonhie_ed_vars"][1:8]:
        table[name] = visits if name.startswith("num_visit") else rng.binomial(visits, 0.4)
    for name in ("ed_charg_tot_pre_ed", "charg_tot_pre_ed"):
        table[name] = np.round(visits * np.exp(7.0 + 0.5 * rng.normal(size=n)), 2)
    for name, (low, high) in _RANGES.items():
        if name in PROXIES:
            # Content moves every measurement; the range is four sd on either side of its middle.
            position = 0.5 + (0.7 * health + 0.7 * rng.normal(size=n)) / 8.0
            table[name] = np.clip(low + position * (high - low), low, high)
        else:
            amount = np.exp(6.0 + 0.8 * health + 0.8 * rng.normal(size=n))
            table[name] = np.clip(amount * (rng.random(n) < 0.6), low, high)
    return assemble(
        pd.DataFrame(table), f"{STAND_IN} with the column names and ranges of OHIE; no real person"
    )


def assemble(joined: pd.DataFrame, source: str) -> Dataset:
    """The data set of joined columns: complete rows, the outcome in logs, a useful environment."""
    whole = joined.dropna(subset=[OUTCOME_SOURCE, *PROXIES, *ENVIRONMENT]).reset_index(drop=True)
    if len(whole) < 2:
        gaps = joined[[OUTCOME_SOURCE, *PROXIES, *ENVIRONMENT]].isna().sum()
        raise TableError(
            f"{len(whole)} of {len(joined)} people have every column; most gaps are in '{gaps.idxmax()}' "
            f"({gaps.max()}): check that the files are complete"
        )
    whole[OUTCOME] = np.log1p(whole[OUTCOME_SOURCE].astype(float))
    flat = [name for name in ENVIRONMENT if is_flat(whole[name])]
    kept, twins = independent(whole, [name for name in ENVIRONMENT if name not in flat])
    notes = [
        source,
        f"{len(whole)} people with every column; {len(joined) - len(whole)} with a gap were left out",
        f"dropped for low variance: {', '.join(flat) or 'none'}",
        f"dropped as collinear: {', '.join(twins) or 'none'}",
    ]
    roles = Roles(outcome=OUTCOME, proxies=list(PROXIES), environment=kept, id="person_id")
    return Dataset(whole, roles, ". ".join(notes) + ".")


def _find(folder: Path, stem: str) -> Path | None:
    paths = [folder / f"{stem}{ending}" for ending in (".dta", ".csv", ".csv.gz")]
    return next((path for path in paths if path.is_file()), None)


def _read(path: Path, columns: tuple[str, ...]) -> pd.DataFrame:
    """The named columns and person_id, as numbers; labels such as "Selected" become codes again."""
    if path.suffix == ".dta":
        try:
            table = pd.read_stata(path, convert_categoricals=False)
        except (ValueError, OSError) as error:
            raise StoreError(
                f"'{path}' is no Stata file that can be read ({error}): download it again"
            ) from error
    else:
        table = read_table(path)
    lacking = [name for name in ("person_id", *columns) if name not in table.columns]
    if lacking:
        raise TableError(
            f"'{path}' has no column {', '.join(repr(name) for name in lacking)}: is it the public-use file?"
        )
    table = table[["person_id", *columns]].copy()
    for name in columns:
        table[name] = _numbers(table[name], path)
    twice = table["person_id"].duplicated()
    if twice.any():
        raise TableError(
            f"'{path}' names person_id {table['person_id'][twice].iloc[0]} twice "
            f"({int(twice.sum())} such rows): keep one row per person"
        )
    return table


def _numbers(column: pd.Series, path: Path) -> pd.Series:
    """Floats; the lottery's labels as 0 and 1, whatever else is text as an error."""
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(float)
    labels = {"selected": 1.0, "not selected": 0.0, "yes": 1.0, "no": 0.0}
    text = column.astype("string").str.strip().str.lower()
    numbers = pd.to_numeric(text, errors="coerce").astype(float)
    numbers = numbers.where(numbers.notna(), text.map(labels).astype(float))
    wrong = column[numbers.isna() & column.notna()]
    if len(wrong):
        raise TableError(
            f"column '{column.name}' of '{path}' holds {len(wrong)} values that are no numbers, first "
            f"{wrong.iloc[0]!r}: export it with codes instead of labels"
        )
    return numbers
