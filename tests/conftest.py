"""What tests of several rooms share."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from browser import chromium, missing


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One headless Chromium for all pages of a test process; absent, its tests are skipped, but not in CI."""
    reason = missing()
    if reason and os.environ.get("CI"):
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver
