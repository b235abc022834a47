"""County codes: read as they come, and brought to the 3,142 of the shapes shipped with the package.

Counties split, merge and are renumbered. A code that is not on the list goes to the county that holds its
place; where that is not the whole truth (Connecticut's planning regions cut through its old counties) the
account says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.datasets.account import Entry, left_out, repaired
from proxycal.datasets.county_shapes import county_list

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

# old or new code -> code on the list, why
SUCCESSORS: dict[str, tuple[str, str]] = {
    "46113": ("46102", "Shannon became Oglala Lakota in 2015"),
    "02063": ("02261", "Chugach was part of Valdez-Cordova until 2019"),
    "02066": ("02261", "Copper River was part of Valdez-Cordova until 2019"),
    "02270": ("02158", "Wade Hampton became Kusilvak in 2015"),
    "02201": ("02198", "Prince of Wales-Outer Ketchikan, most of it Prince of Wales-Hyder since 2008"),
    "02232": ("02105", "Skagway-Hoonah-Angoon, most of it Hoonah-Angoon since 2007"),
    "02280": ("02195", "Wrangell-Petersburg, most of it Petersburg since 2008"),
    "12025": ("12086", "Dade became Miami-Dade in 1997"),
    "29193": ("29186", "Ste. Genevieve was renumbered"),
    "30113": ("30031", "Yellowstone National Park, most of it Gallatin since 1997"),
    "51515": ("51019", "Bedford city joined Bedford county in 2013"),
    "51560": ("51005", "Clifton Forge city joined Alleghany in 2001"),
    "51780": ("51083", "South Boston city joined Halifax in 1995"),
    "09110": ("09003", "Capitol region of 2022, most of it Hartford"),
    "09120": ("09001", "Greater Bridgeport region of 2022, part of Fairfield"),
    "09130": ("09007", "Lower Connecticut River Valley region of 2022, most of it Middlesex"),
    "09140": ("09009", "Naugatuck Valley region of 2022, most of it New Haven"),
    "09150": ("09015", "Northeastern region of 2022, most of it Windham"),
    "09160": ("09005", "Northwest Hills region of 2022, most of it Litchfield"),
    "09170": ("09009", "South Central region of 2022, part of New Haven"),
    "09180": ("09011", "Southeastern region of 2022, most of it New London"),
    "09190": ("09001", "Western region of 2022, most of it Fairfield"),
}


def clean_fips(column: pd.Series) -> pd.Series:
    """Codes of five digits: 1001, 1001.0, "'01001'", "0500000US01001" are all 01001; else missing.

    >>> import pandas as pd
    >>> clean_fips(pd.Series(["'45001'", 1001.0, "0500000US01001", "Texas"])).tolist()
    ['45001', '01001', '01001', <NA>]
    """
    text = column.astype("string").str.strip().str.strip("'\"").str.replace(r"^0\d+US", "", regex=True)
    digits = text.str.replace(r"\.0+$", "", regex=True)
    return digits.where(digits.str.fullmatch(r"\d{4,5}").fillna(False)).str.zfill(5)


def repair(codes: pd.Series, source: str) -> tuple[pd.Series, np.ndarray, list[Entry]]:
    """Codes on the county list, which rows have one (bool mask), and the account of repaired and lost rows.

    >>> import pandas as pd
    >>> fixed, known, account = repair(pd.Series(["46113", "72001"]), "losses")
    >>> fixed[known].tolist(), [entry.rows for entry in account]
    (['46102'], [1, 1])
    """
    clean = clean_fips(codes)
    fixed = clean.replace({old: new for old, (new, _) in SUCCESSORS.items()})
    moved = clean.isin(list(SUCCESSORS))
    known = fixed.isin(county_list().index).to_numpy(dtype=bool)
    why = [f"{one} to {SUCCESSORS[one][0]}: {SUCCESSORS[one][1]}" for one in clean[moved]]
    lost = codes.astype("string").fillna("blank")[~known]
    account = repaired(source, why, "brought to a county on the list")
    account += left_out(source, lost, f"left out: no county of the {len(county_list()):,} has this code")
    return fixed, known, account
