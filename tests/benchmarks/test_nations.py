"""The benchmark of nations: the page that its trials make."""

from __future__ import annotations

import pandas as pd

from benchmarks import nations
from proxycal.datasets.losses import HAZARDS
from proxycal.studies.case_study import POOLED


def listed(held, found=True):
    """The totals of a nation: all hazards and then the whole, each held or not."""
    return [
        {"hazard": name, "rows": 300, "found": found, "held": held, "too_high": not held, "width": 0.2,
         "reported_error": -0.3, "calibrated_error": 0.01}
        for name in (POOLED, *HAZARDS)
    ]  # fmt: skip


def test_the_page_counts_intervals_and_takes_nations_as_clusters():
    trials = [{"totals": listed(seed > 0), "seconds": 3.0, "error": None} for seed in range(20)]
    trials.append({"totals": listed(False, found=False), "seconds": 3.0, "error": None})
    (part,) = nations.page(pd.DataFrame(trials)).parts
    by_hazard, overall, *each = part.rows
    assert by_hazard["intervals"] == "80"
    # One nation of twenty misses in all hazards: sqrt(19 * 0.05**2 + 0.95**2) / 20 for nations.
    assert by_hazard["coverage"] == overall["coverage"] == "95.0% +- 4.9%"
    assert (by_hazard["reached"], by_hazard["too high"]) == ("yes", "5.0%")
    assert [row["totals"] for row in each] == list(HAZARDS)
    assert each[0]["reached"] == "-"
