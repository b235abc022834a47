"""One file per source, each returning a Dataset."""

from proxycal.datasets.dataset import Dataset
from proxycal.datasets.jobs import load_jobs

__all__ = ["Dataset", "load_jobs"]
