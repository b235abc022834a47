"""One file per source, each returning a Dataset."""

from proxycal.datasets.dataset import Dataset
from proxycal.datasets.disasters import load_sheldus, load_storm_events
from proxycal.datasets.jobs import load_jobs
from proxycal.datasets.nhanes import load_nhanes
from proxycal.datasets.ohie import load_ohie, ohie_stand_in
from proxycal.datasets.polls import load_polls

__all__ = [
    "Dataset",
    "load_jobs",
    "load_nhanes",
    "load_ohie",
    "load_polls",
    "load_sheldus",
    "load_storm_events",
    "ohie_stand_in",
]
