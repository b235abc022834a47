"""The days of storms.csv beside NOAA's storm tracks: python scripts/studies/check_storms.py TRACKS.

TRACKS is a table of positions with the columns name, year, month, day, lat and long, such as `storms` of R's
dplyr (1975 to 2022), which is made from NOAA's best tracks (HURDAT2).
"""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

STORMS = Path(__file__).parent / "storms.csv"
# The coast from the Rio Grande to Maine, coarsely: latitude and longitude.
COAST = np.array([
    (25.9, -97.2), (27.8, -97.1), (28.9, -95.4), (29.7, -94.0), (29.1, -90.5), (30.3, -88.5), (29.7, -85.3),
    (29.1, -83.0), (27.5, -82.7), (24.6, -81.5), (25.8, -80.1), (28.5, -80.6), (30.3, -81.4), (33.2, -79.2),
    (35.2, -75.6), (36.9, -76.0), (40.5, -74.0), (41.5, -70.0), (43.5, -70.2), (44.8, -67.0),
])  # fmt: skip
# A centre this near to the coast has its winds over land; so far inland it has landed.
NEAR_KM = 250.0


def near_land(lat: np.ndarray, long: np.ndarray) -> np.ndarray:
    """Whether a centre is within NEAR_KM of the coast, or over land east of the Rockies."""
    line = np.vstack([np.linspace(one, other, 8) for one, other in pairwise(COAST)])
    east = (long[:, None] - line[:, 1]) * np.cos(np.radians(lat))[:, None]
    km = 111.0 * np.hypot(lat[:, None] - line[:, 0], east).min(axis=1)
    return (km < NEAR_KM) | ((lat > 30.0) & (long > -100.0) & (long < -80.0))


def compare(storms: pd.DataFrame, tracks: pd.DataFrame) -> pd.DataFrame:
    """A row per storm: our first and last day, those of the track near land, and the days between them."""
    day = pd.to_datetime(tracks[["year", "month", "day"]])
    named = tracks["name"] + "-" + tracks["year"].astype(str)
    near = near_land(tracks["lat"].to_numpy(float), tracks["long"].to_numpy(float))
    days = day[near].groupby(named[near]).agg(track_first="min", track_last="max")
    both = storms.join(days, on="storm")
    both["starts"] = (both["first"] - both["track_first"]).dt.days
    both["ends"] = (both["last"] - both["track_last"]).dt.days
    both["overlap"] = (both["first"] <= both["track_last"]) & (both["last"] >= both["track_first"])
    return both


def main(path: str) -> None:
    """Print the comparison, and how many storms agree."""
    made = compare(pd.read_csv(STORMS, parse_dates=["first", "last"]), pd.read_csv(path))
    known = made[made["track_first"].notna()]
    close = (known["starts"].abs() <= 1) & (known["ends"].abs() <= 1)
    sys.stdout.write(made.to_string(index=False) + "\n")
    sys.stdout.write(
        f"{len(made)} storms, {len(known)} in the tracks: {int(known['overlap'].sum())} share days with the "
        f"track near land, {int(close.sum())} begin and end within a day of it.\n"
        f"not in the tracks: {', '.join(made.loc[made['track_first'].isna(), 'storm'])}\n"
        f"no common day: {', '.join(known.loc[~known['overlap'], 'storm'])}\n"
    )


if __name__ == "__main__":
    main(sys.argv[1])
