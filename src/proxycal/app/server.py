"""What the page does when something is chosen: each function wires one step, and the API does the work.

Whatever takes time runs outside the event loop: files are read and tables audited in a thread, fits in a
process of their own. So one page never waits for another.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from htmltools import HTML
from shiny import reactive, render

from proxycal.app import views
from proxycal.app.answer import read_answer
from proxycal.app.opened import Opened, open_example, open_upload
from proxycal.app.results import answer_step, audit_step, totals_step
from proxycal.app.state import Finished, Page, always, in_thread, need
from proxycal.app.timing import share_and_words
from proxycal.errors import ProxycalError
from proxycal.questions.refute import REFUTERS
from proxycal.reading.options import Reading
from proxycal.table.gate import gate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shiny import Inputs, Outputs, Session

    from proxycal.app.timing import Pace
    from proxycal.app.workspace import Workspaces
    from proxycal.result import Finding
    from proxycal.settings import Settings
    from proxycal.table.roles import Roles

# Seconds between two looks at a running job.
_LOOK = 0.25
_CHANGED = "Columns or settings have changed since the result below: calibrate again to update it."
_CANCELLED = "The run was cancelled and its files were deleted."


def make_server(workspaces: Workspaces, pace: Pace) -> Callable[[Inputs, Outputs, Session], None]:
    """The function that Shiny calls for every page that is opened."""

    def server(input: Inputs, output: Outputs, session: Session) -> None:
        try:
            workspace = workspaces.open()
        except (ProxycalError, OSError) as error:
            _turn_away(session, str(error))
            return
        session.on_ended(lambda: workspaces.close(workspace))
        page = Page(input, session, workspace, pace)
        _first_step(page)
        _audit_step(page)
        _run_step(page)
        _watch_step(page)
        answer_step(page)
        totals_step(page)
        audit_step(page)

    return server


def _turn_away(session: Session, why: Any) -> None:
    """Say on the page that too many are open already."""

    @reactive.effect
    async def _say() -> None:
        await session.send_custom_message("complain", why)


def _first_step(page: Page) -> None:
    """A table, by file or by the button of the example."""
    input, workspace = page.input, page.workspace

    @reactive.extended_task
    async def opening(path: Path, name: str | None, reading: Reading | None = None) -> Opened:
        page.tables += 1
        if name is None:
            return await in_thread(open_example, page.tables, path)
        return await in_thread(open_upload, page.tables, path, name, reading)

    @reactive.effect
    async def _greet() -> None:
        await page.tell("door", f"upload/{workspace.token}")

    @reactive.effect
    @reactive.event(input.uploaded)
    def _sent() -> None:
        upload = workspace.upload(input.uploaded())
        if upload is not None:
            opening(*upload)

    @reactive.effect
    @reactive.event(input.reread)
    def _reread() -> None:
        opened = need(page.opened())
        opening(opened.table.path, opened.table.name, reading_from(opened.table.reading, input.reread()))

    @reactive.effect
    @reactive.event(input.example)
    def _example() -> None:
        opening(workspace.new_file(".csv"), None)

    @reactive.effect
    async def _opened() -> None:
        try:
            opened = opening.result()
        except ProxycalError as error:
            await page.tell("complain", str(error))
            return
        workspace.stop()
        page.running.set(None)
        page.finished.set(None)
        page.said.set("")
        page.opened.set(opened)
        rows, columns = opened.table.frame.shape
        await page.tell("complain", "")
        await page.tell("show", {"step": "table", "shown": True})
        await page.tell("show", {"step": "answer", "shown": False})
        await page.tell(
            "status", f"{opened.table.name} was read: {rows} rows, {columns} columns. Next: step 2."
        )

    @render.ui
    def table_read() -> HTML:
        return HTML(views.table_read(need(page.opened()).table))

    @render.ui
    def columns() -> HTML:
        opened = need(page.opened())
        return HTML(views.columns(opened.table, opened.number, opened.guesses, opened.direction))

    always(page, table_read, columns)


def _audit_step(page: Page) -> None:
    """The questions to the table, asked again whenever a role changes."""

    @reactive.extended_task
    async def auditing(frame: Any, roles: Roles, settings: Settings) -> list[Finding]:
        return await in_thread(checked, frame, roles, settings)

    @reactive.effect
    def _ask() -> None:
        try:
            roles = page.roles()
            # The checks are the same in both directions, so they need not wait for the choice.
            settings = page.settings(roles, ("scale", "log_proxies", "missing"), direction="over")
        except ProxycalError:
            return  # said by the output below, or by the run
        auditing(need(page.opened()).table.frame, roles, settings)

    @render.ui
    def audit() -> HTML:
        try:
            page.roles()
            return HTML(views.audit(auditing.result()))
        except ProxycalError as error:
            return HTML(views.message(f"{str(error)[0].upper()}{str(error)[1:]}."))

    always(page, audit)


def checked(frame: Any, roles: Roles, settings: Settings) -> list[Finding]:
    """The findings about a table, those first that a run with these settings would stop at."""
    found = gate(frame, roles, settings)
    undecided = found.open and settings.missing not in found.missing
    look_at = [
        replace(finding, must_fix=True) if undecided and finding.topic == "missing" else finding
        for finding in found.look_at
    ]
    return [*found.must_fix, *look_at, *found.fine]


def _run_step(page: Page) -> None:
    """Start, watch and cancel a job."""
    input, workspace = page.input, page.workspace

    def start(repetitions: int, refute: str = "") -> None:
        opened = need(page.opened())
        page.said.set("")
        try:
            page.begin(opened.table, page.request(repetitions, refute), opened.source)
        except ProxycalError as error:
            page.said.set(str(error))
        except OSError as error:
            page.said.set(f"the run could not be started ({error.strerror}): free some memory or disk space")

    @reactive.effect
    @reactive.event(input.run)
    def _run() -> None:
        start(0)

    @reactive.effect
    @reactive.event(input.power)
    def _power() -> None:
        start(min(max(int(input.repetitions() or 2), 2), 1000))

    @reactive.effect
    @reactive.event(input.refute)
    def _refute() -> None:
        kind = str(input.refuter())
        start(0, kind if kind in REFUTERS else next(iter(REFUTERS)))

    @reactive.effect
    @reactive.event(input.cancel)
    def _cancel() -> None:
        if page.running() is not None:
            workspace.stop()
            page.running.set(None)
            page.said.set(_CANCELLED)

    @render.ui
    def outcome_of_run() -> HTML:
        if page.said():
            return HTML(views.message(page.said(), "note" if page.said() == _CANCELLED else "act"))
        finished = page.finished()
        changed = finished is not None and _differs(page, finished)
        return HTML(views.message(_CHANGED, "note") if changed else "")

    always(page, outcome_of_run)


def _watch_step(page: Page) -> None:
    """Follow a job to its end."""

    @reactive.effect
    async def _watch() -> None:
        job = page.running()
        if job is None or page.asked is None:
            await page.tell("progress", {"share": 0, "words": "", "active": False})
            return
        state, (table, source, audited) = job.state(), page.asked
        rows, columns = table.frame.shape
        asked = job.request
        expected = page.pace.expect(rows, columns, asked.settings.method, asked.refits)
        if not state.ended:
            share, words = share_and_words(state.progress, expected)
            await page.tell("progress", {"share": share, "words": words, "active": True})
            reactive.invalidate_later(_LOOK)
            return
        page.running.set(None)
        if state.error:
            page.said.set(state.error.replace(str(table.path), table.name))
            return
        if asked.refits == 0:
            page.pace.learn(expected / page.pace.ratio, state.progress.seconds)
        answer = read_answer(job.folder)
        page.finished.set(Finished(job.folder, job.request, source, answer, table, audited))
        page.workspace.keep(job)


def _differs(page: Page, finished: Finished) -> bool:
    if finished.audited:
        return False  # its roles are those of the table with what was checked
    try:
        now = page.request(finished.request.repetitions, finished.request.refute)
    except ProxycalError:
        return True
    return now != finished.request


def reading_from(before: Reading, asked: str) -> Reading:
    """How a file is to be read now: a sheet, or what to do with totals, was chosen on the page."""
    try:
        values = {name: str(value) for name, value in json.loads(asked).items()}
    except (ValueError, AttributeError):
        return before
    if "sheet" in values:
        return replace(Reading(), sheet=values["sheet"])
    return replace(before, total_rows="keep" if values.get("total_rows") == "keep" else "drop")
