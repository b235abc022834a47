"""What tests of several rooms share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from browser import chromium, missing


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One headless Chromium for all pages of a test process; `.ci/run` sees to it that there is one."""
    reason = missing()
    if reason:
        pytest.skip(reason)
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver
