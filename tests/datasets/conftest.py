"""A simulated nation, drawn once."""

from __future__ import annotations

import pytest

import proxycal as pc


@pytest.fixture(scope="session")
def nation(tmp_path_factory):
    return pc.simulate_disasters(tmp_path_factory.mktemp("nation"), n_counties=500, years=[2022, 2023])
