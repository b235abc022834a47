from __future__ import annotations

import dataclasses
import inspect

import pytest

from proxycal import datasets
from proxycal.datasets.dataset import Dataset
from proxycal.datasets.jobs import load_jobs


def test_every_loader_promises_a_dataset():
    loaders = [name for name in dir(datasets) if name.startswith("load_")]
    assert loaders
    for name in loaders:
        assert inspect.signature(getattr(datasets, name)).return_annotation in (Dataset, "Dataset"), name


def test_the_roles_of_a_loaded_table_are_columns_of_it_and_it_stays_as_it_was_loaded():
    jobs = load_jobs()
    assert isinstance(jobs, Dataset)
    assert set(jobs.roles.columns) <= set(jobs.table.columns)
    assert jobs.about
    with pytest.raises(dataclasses.FrozenInstanceError):
        jobs.about = "other"
