"""What tests of several rooms share."""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

import pytest

from proxycal import ProxyCalibrator
from proxycal.cli import console
from proxycal.cli.schemas import names, schema_of
from proxycal.result import plain
from proxycal.testing.worlds import draw_world

sys.path.insert(0, str(Path(__file__).parent))

from browser import chromium, missing
from configured import configure
from json_schema import broken

# Its module hides torch from the process that imports it, and pytest looks for examples in all modules.
collect_ignore = ["without_torch"]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One headless Chromium for all pages of a test process; `.ci/run` sees to it that there is one."""
    reason = missing()
    if reason:
        pytest.skip(reason)
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="session", autouse=True)
def configuration():
    """What scripts/configurations.py asks for; nothing otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        configure(patch)
        yield


@pytest.fixture(scope="session", autouse=True)
def kept_schemas():
    """Whatever a test makes a command print as JSON must keep that command's schema."""
    print_json = console.print_json

    def checked(values):
        caller = sys._getframe(1)
        place = caller.f_globals["__name__"].removeprefix("proxycal.cli.")
        command = caller.f_code.co_name if place == "questions" else place
        if caller.f_globals["__name__"].startswith("proxycal.cli.") and command != "schema":
            assert command in names(), f"proxycal {command} --json has no schema: write it in cli/schemas.py"
            assert broken(plain(values, infinity=None), schema_of(command)) == []
        print_json(values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "print_json", checked)
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_fsync():
    """Files are not pushed to the disk: thousands of waits, against a loss of power that no test can cause.

    A descriptor that is not open is an error as before, and programs that tests start push their files.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: os.fstat(descriptor) and None)
        yield


def _fit(world, table=None, roles=None, **arguments):
    model = ProxyCalibrator(roles or world.roles, **{"direction": "over", "method": "exact", **arguments})
    return model.fit(world.table() if table is None else table)


@functools.cache
def _drawn(kind, n, alpha_sd, seed):
    world = draw_world(kind, n, alpha_sd, seed)
    return world, _fit(world)


@pytest.fixture(scope="session")
def fit():
    """model = fit(world, table=None, roles=None, **arguments of ProxyCalibrator)."""
    return _fit


@pytest.fixture(scope="session")
def drawn():
    """world, model = drawn(kind, n, alpha_sd, seed); each fit is made once and shared."""
    return _drawn
