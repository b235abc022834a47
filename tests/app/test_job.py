"""Jobs in their own process: the answer is the API's, they stop when told, and outlive nobody."""

from __future__ import annotations

import os
import time
import warnings

import pytest

import proxycal
from proxycal.app.answer import REPORT, picture_of, read_answer
from proxycal.app.request import Request
from proxycal.app.tables import Table, read_upload
from proxycal.app.workspace import Workspace, Workspaces
from proxycal.files import write_table
from proxycal.reading.table import read_table
from proxycal.report.numbers import size_text
from proxycal.report.summary import sentence
from proxycal.settings import Settings


@pytest.fixture
def workspaces(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # A job asks its questions in its own process: two more would be started for four small tables.
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    opened = Workspaces(places=2)
    yield opened
    opened.close_all()


@pytest.fixture(scope="module")
def sim():
    return proxycal.simulate(n=300, d_z=1, d_e=2, n_proxies=2, alpha=4.0, random_state=0)


def kept(workspace: Workspace, frame) -> Table:
    path = workspace.new_file(".csv")
    write_table(frame, path)
    return read_upload(path, "mine.csv")


def ended(job):
    for _ in range(6000):  # a busy machine is slow: five minutes
        if job.state().ended:
            return job.state()
        time.sleep(0.05)
    raise AssertionError(f"the job does not end: {job.state()}")


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_the_answer_is_that_of_the_api(workspaces, sim):
    workspace = workspaces.open()
    settings = Settings(direction="over", method="moments", level=0.9, random_state=2)
    table = kept(workspace, sim.table)
    job = workspace.start(table, Request(sim.roles, settings, repetitions=2))
    state = ended(job)
    assert state.error == ""
    assert (state.progress.step, state.progress.steps) == (5, 5)

    model = proxycal.ProxyCalibrator.from_settings(sim.roles, settings).fit(table.frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = model.calibrate(table.frame)
    calibrated = read_table(job.folder / "calibrated.csv")
    assert list(calibrated.columns) == [*sim.table.columns, *wanted.columns]
    assert calibrated[sim.table.columns].equals(table.frame)
    assert calibrated[wanted.columns].equals(wanted)  # to the last digit
    answer = read_answer(job.folder)
    assert answer.sentence == sentence(model.result_)
    assert dict(answer.facts)["Estimated size"] == size_text(model.result_.estimate).size
    assert {"residual", "power"} <= {picture.kind for picture in answer.pictures}
    assert picture_of(answer, "../../etc/passwd").kind == "residual"
    report = (job.folder / REPORT).read_text(encoding="utf-8")
    for picture in answer.pictures:
        assert picture.svg.startswith("<svg")
        assert f'id="{picture.kind}-' in picture.svg
        assert picture.svg in report  # drawn once
    loaded = proxycal.load(job.folder / "run")
    assert loaded.alpha_ == model.alpha_
    assert answer.power == loaded.result_.questions["power"].reading


def test_a_column_that_calibration_writes_is_refused_before_the_fit(workspaces, sim):
    workspace = workspaces.open()
    job = workspace.start(
        kept(workspace, sim.table.assign(mu=1.0)), Request(sim.roles, Settings(direction="over"))
    )
    assert "already has a column 'mu'" in ended(job).error
    assert job.state().progress.step == 1


def test_a_page_that_closes_leaves_no_process_and_no_file(workspaces, sim):
    first, second = workspaces.open(), workspaces.open()
    asked = Request(sim.roles, Settings(direction="over"), 200)
    jobs = [workspace.start(kept(workspace, sim.table), asked) for workspace in (first, second)]
    workspaces.close(first)
    assert gone(jobs[0].pid)
    assert not first.folder.exists()
    # The other page is not touched by it.
    assert not jobs[1].state().ended
    assert second.folder.exists()
    workspaces.close_all()
    assert gone(jobs[1].pid)
    assert not second.folder.exists()


def test_a_cancelled_job_keeps_nothing_and_another_can_start(workspaces, sim):
    workspace = workspaces.open()
    table = kept(workspace, sim.table)
    job = workspace.start(table, Request(sim.roles, Settings(direction="over"), 200))
    workspace.stop()
    assert gone(job.pid)
    assert not job.folder.exists()
    assert table.path.exists()
    job.folder.mkdir()  # as if it had ended before it was replaced
    other = workspace.start(table, Request(sim.roles, Settings(direction="over", method="moments"), 200))
    assert other.folder != job.folder
    assert not other.state().ended
    workspace.keep(other)
    assert not job.folder.exists()
    assert other.folder.exists()


def test_a_job_that_dies_says_what_may_be_wrong(workspaces, sim):
    workspace = workspaces.open()
    job = workspace.start(kept(workspace, sim.table), Request(sim.roles, Settings(direction="over"), 200))
    os.kill(job.pid, 9)
    assert "memory" in ended(job).error
