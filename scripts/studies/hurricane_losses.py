"""Hurricane losses 2004-2021, modelled wind as proxy: python scripts/studies/hurricane_losses.py DATA."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from study_page import BASE_YEAR, COUNTY, Question, RealStudy, constant_dollars, read_counties, run

from proxycal import Roles
from proxycal.datasets.account import Entry, left_out, read_rows, summed
from proxycal.reading.table import read_table

PROXIES = ["log_hours_of_wind", "wind_m_per_s"]
EVENTS = ("Hurricane (Typhoon)", "Hurricane", "Tropical Storm", "Tropical Depression")
FIRST_YEAR = 2004
INTRO = (
    "NOAA's Storm Events name the loss of a county in a hurricane or tropical storm; a wind model says "
    "how long and how hard it blew there, untouched by anyone who reports losses. Outcome: log loss in "
    f"dollars of {BASE_YEAR}, a row per county and storm; proxies: log duration of sustained wind and its "
    "peak; environment: what the county is like; direction under.",
    "The wind fields (Extended Best Track, doi 10.5281/zenodo.21249129) are under the GPL and are not "
    "copied here: the script reads them from the folder it is given. Storm and event are joined by "
    "county and by the days on which the storm touched the United States (scripts/studies/storms.csv, "
    "entered by hand). Beside NOAA's best tracks (check_storms.py): of 90 storms 88 are in the tracks; 65 "
    "of them begin and end within a day of the centre's time within 250 km of land, 87 share days with it. "
    "Large storms are given earlier days, as their winds arrive before the centre. One (Melissa of 2019) "
    "shares none: its centre was nearest before the days given here.",
)
LIMITS = (
    "The loss file holds only county losses of at least $1M: small losses are missing by construction. A "
    "loss reported too low drops out of the table instead of standing in it with a low value, so that "
    "the very bias looked for is cut off; the cut also bends the shape of the outcome, which the fit "
    "reads.",
    "The cut is at $1M of the day, so that in constant dollars its place differs by year.",
    "Counties that the storm passed but that reported nothing, or less, are not in the table: nothing "
    "here speaks about them.",
    "The modelled peak wind takes {values} values only (34, 50 and 64 knots): it is a class, and "
    "mostly the duration tells counties apart. Water does most of the damage in many storms, and no "
    "proxy sees it.",
    "What stands in a county drives the true loss as well as who reports it.",
    "The source files tropical storms by forecast zone as well as by county, and how the loss file gave "
    "zones to counties is not known; what stands under storm surge, flood or tornado in the same storm "
    "is not added.",
    "The join is by dates: an event outside the days of the storm (a late entry) is lost and counted below.",
    "There are {storms} storms; rows of one storm share its estimates, and storms are declared as clusters.",
)
EXCLUSION = (
    "**Does the assumption hold here?** No. Population and density say what stands in the way of the wind, "
    "and income what it is worth: they move the true loss itself, and no proxy sees them. Wind measures the "
    "storm, not the exposure. That more people report more, and that of two counties with as many people "
    "the denser, which is the smaller, reports less, is what exposure alone would produce; no data can tell "
    "the two apart. So neither method says how far a county under-reports. A proxy of the damage itself "
    "(roofs seen from above, insurance claims, outages), or losses per value exposed, would be needed."
)


def read(folder: Path) -> tuple[pd.DataFrame, tuple[Entry, ...]]:
    """Losses by county and storm, with the wind of that storm in that county."""
    raw = read_table(folder / "storm_losses_2000_2021.csv.gz")
    account = [read_rows("losses", len(raw), "read, of all kinds of event")]
    other = ~raw["EVENT_TYPE"].isin(EVENTS)
    account += left_out("losses", raw.loc[other, "EVENT_TYPE"], "left out: other kinds of event")
    early = ~other & (raw["Year"] < FIRST_YEAR)
    account += left_out("losses", raw.loc[early, "Year"], f"left out: before the winds begin ({FIRST_YEAR})")
    events = raw[~other & ~early].reset_index(drop=True)
    events["fips"] = events["FIPS"].astype(int).astype(str).str.zfill(5)
    wind = read_table(folder / "hurricane_wind_2004_2025.csv.gz", text=["fips"])
    storms = pd.read_csv(Path(__file__).parent / "storms.csv", parse_dates=["first", "last"])
    joined, lost = join(events, wind.merge(storms, left_on="storm_id", right_on="storm", how="left"))
    account += left_out("losses", lost, "left out: no wind in that county on that day")
    rows = by_storm(joined)
    account += summed("losses", len(joined), len(rows), "added to another event of the same county and storm")
    counties = read_counties(folder).dropna()
    known = rows["fips"].isin(counties["fips"])
    account += left_out("losses", rows.loc[~known, "fips"], "left out: no county of that code")
    return rows[known].merge(counties, on="fips", validate="many_to_one"), tuple(account)


def join(events: pd.DataFrame, wind: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Events with the storm that was over their county that day, and the days of those without one.

    Of two storms on one day the later has the event: the wind that blew last.
    """
    numbered = events.assign(event=np.arange(len(events)), day=pd.to_datetime(events["EVENT_DATE"]))
    pairs = numbered.merge(wind, on="fips")
    pairs = pairs[(pairs["day"] >= pairs["first"]) & (pairs["day"] <= pairs["last"])]
    pairs = pairs.sort_values(["event", "first", "storm_id"]).drop_duplicates("event", keep="last")
    lost = numbered.loc[~numbered["event"].isin(pairs["event"]), "EVENT_DATE"]
    return pairs.reset_index(drop=True), lost


def by_storm(joined: pd.DataFrame) -> pd.DataFrame:
    """One row per county and storm, losses added up."""
    dollars = joined.assign(dollars=constant_dollars(joined["TOTAL_DAMAGE"], joined["Year"]))
    rows = dollars.groupby(["fips", "storm_id"], as_index=False).agg(
        dollars=("dollars", "sum"), wind_m_per_s=("vmax_sust", "max"), minutes=("sust_dur", "max")
    )
    rows["log_loss"] = np.log(rows["dollars"])
    rows["log_hours_of_wind"] = np.log(rows["minutes"] / 60.0)
    return rows


def study(folder: Path) -> RealStudy:
    """The questions put to the hurricanes, and the account of their rows."""
    table, account = read(folder)
    counts = {"values": table["wind_m_per_s"].round(1).nunique(), "storms": table["storm_id"].nunique()}

    def asked(label: str, cluster: str | None) -> Question:
        return Question(label, table, Roles("log_loss", PROXIES, list(COUNTY), cluster=cluster))

    return RealStudy(
        name="hurricane",
        title=f"Hurricane losses, {FIRST_YEAR} to 2021",
        command="python scripts/studies/hurricane_losses.py DATA",
        intro=INTRO,
        questions=(
            asked("storms as clusters", "storm_id"),
            asked("counties as clusters", "fips"),
            asked("rows on their own", None),
        ),
        account=account,
        limits=tuple(one.format(**counts) for one in LIMITS),
        exclusion=EXCLUSION,
    )


if __name__ == "__main__":
    run(study, __doc__, repetitions=10)
