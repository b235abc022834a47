"""What the page does when something is chosen: each function wires one step, and the API does the work.

Whatever takes time runs outside the event loop: files are read and tables audited in a thread, fits in a
process of their own. So one page never waits for another.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from htmltools import HTML
from shiny import reactive, render, req
from starlette.responses import FileResponse, PlainTextResponse

from proxycal.app import views
from proxycal.app.answer import REPORT, picture_of, read_answer
from proxycal.app.opened import Opened, open_example, open_upload
from proxycal.app.reproduce import python_script, shell_commands
from proxycal.app.request import Request, roles_from, settings_from
from proxycal.app.timing import share_and_words
from proxycal.app.worker import CALIBRATED, defect
from proxycal.errors import ProxycalError
from proxycal.limits import out_of_memory
from proxycal.questions.refute import REFUTERS
from proxycal.table.gate import gate
from proxycal.table.surface import speaking

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shiny import Inputs, Outputs, Session
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

    from proxycal.app.answer import Answer
    from proxycal.app.job import Job
    from proxycal.app.reproduce import Source
    from proxycal.app.timing import Pace
    from proxycal.app.workspace import Workspace, Workspaces
    from proxycal.result import Finding
    from proxycal.settings import Settings
    from proxycal.table.roles import Roles

T = TypeVar("T")

# Seconds between two looks at a running job.
_LOOK = 0.25
_SETTINGS = ("direction", "scale", "log_proxies", "missing", "method", "effect", "level", "seed")
_CHANGED = "Columns or settings have changed since the result below: calibrate again to update it."
_CANCELLED = "The run was cancelled and its files were deleted."


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that ended well: where it is, what was asked of which table, and its answer."""

    folder: Path
    request: Request
    source: Source
    answer: Answer


class Page:
    """One open page: its workspace, and what its steps tell each other."""

    def __init__(self, input: Inputs, session: Session, workspace: Workspace, pace: Pace) -> None:
        self.input, self.session, self.workspace, self.pace = input, session, workspace, pace
        self.opened: reactive.Value[Opened | None] = reactive.Value(None)
        self.running: reactive.Value[Job | None] = reactive.Value(None)
        self.finished: reactive.Value[Finished | None] = reactive.Value(None)
        self.said: reactive.Value[str] = reactive.Value("")
        self.tables = 0

    async def tell(self, kind: str, words: Any) -> None:
        """A message to the script of the page."""
        await self.session.send_custom_message(kind, words)

    def roles(self) -> Roles:
        """The roles as chosen now; RolesError where they do not make sense."""
        opened = _need(self.opened())
        ids = [views.role_id(opened.number, position) for position in range(len(opened.guesses))]
        return roles_from(
            {guess.column: self.input[id]() for guess, id in zip(opened.guesses, ids, strict=True)}
        )

    def request(self, repetitions: int = 0, refute: str = "") -> Request:
        """What is asked now; SettingsError where something is missing."""
        roles = self.roles()
        with speaking("app"):
            settings = settings_from({name: self.input[name]() for name in _SETTINGS})
        return Request(roles, settings, repetitions, refute)


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
        _answer_step(page)

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
    async def opening(path: Path, name: str | None) -> Opened:
        page.tables += 1
        if name is None:
            return await in_thread(open_example, page.tables, path)
        return await in_thread(open_upload, page.tables, path, name)

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
        return HTML(views.table_read(_need(page.opened()).table))

    @render.ui
    def columns() -> HTML:
        opened = _need(page.opened())
        return HTML(views.columns(opened.table, opened.number, opened.guesses, opened.direction))

    _always(page, table_read, columns)


def _audit_step(page: Page) -> None:
    """The questions to the table, asked again whenever a role changes."""

    @reactive.extended_task
    async def auditing(frame: Any, roles: Roles, settings: Settings) -> list[Finding]:
        return await in_thread(checked, frame, roles, settings)

    @reactive.effect
    def _ask() -> None:
        try:
            roles = page.roles()
            asked = {name: page.input[name]() for name in ("scale", "log_proxies", "missing")}
            # The checks are the same in both directions, so they need not wait for the choice.
            settings = settings_from({"direction": "over", **asked})
        except ProxycalError:
            return  # said by the output below, or by the run
        auditing(_need(page.opened()).table.frame, roles, settings)

    @render.ui
    def audit() -> HTML:
        try:
            page.roles()
            return HTML(views.audit(auditing.result()))
        except ProxycalError as error:
            return HTML(views.message(f"{str(error)[0].upper()}{str(error)[1:]}."))

    _always(page, audit)


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
        opened = _need(page.opened())
        page.said.set("")
        try:
            page.running.set(workspace.start(opened.table, page.request(repetitions, refute)))
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

    _always(page, outcome_of_run)


def _watch_step(page: Page) -> None:
    """Follow a job to its end."""

    @reactive.effect
    async def _watch() -> None:
        job = page.running()
        if job is None:
            await page.tell("progress", {"share": 0, "words": "", "active": False})
            return
        state, opened = job.state(), _need(page.opened())
        rows, columns = opened.table.frame.shape
        asked = job.request
        expected = page.pace.expect(rows, columns, asked.settings.method, asked.refits)
        if not state.ended:
            share, words = share_and_words(state.progress, expected)
            await page.tell("progress", {"share": share, "words": words, "active": True})
            reactive.invalidate_later(_LOOK)
            return
        page.running.set(None)
        if state.error:
            page.said.set(state.error.replace(str(opened.table.path), opened.table.name))
            return
        if asked.refits == 0:
            page.pace.learn(expected / page.pace.ratio, state.progress.seconds)
        page.finished.set(Finished(job.folder, job.request, opened.source, read_answer(job.folder)))
        page.workspace.keep(job)


def _differs(page: Page, finished: Finished) -> bool:
    try:
        now = page.request(finished.request.repetitions, finished.request.refute)
    except ProxycalError:
        return True
    return now != finished.request


def _answer_step(page: Page) -> None:
    """The answer, its pictures and its files."""
    links = _links(page)

    @reactive.effect
    async def _answered() -> None:
        finished = _need(page.finished())
        await page.tell("show", {"step": "answer", "shown": True})
        await page.tell("status", f"Done: {finished.answer.verdict}.")
        await page.tell("focus", "step5")

    @render.ui
    def answer() -> HTML:
        finished = _need(page.finished())
        script, commands = _script(finished), _commands(finished)
        chosen = picture_of(finished.answer, "").kind
        put_in = finished.source.example_alpha
        return HTML(views.answer(finished.answer, links, script, commands, chosen, put_in))

    @render.ui
    def picture_shown() -> HTML:
        finished = _need(page.finished())
        return HTML(views.picture(picture_of(finished.answer, page.input.picture())))

    _always(page, answer, picture_shown)


def _links(page: Page) -> dict[str, str]:
    """Addresses that only this page knows, for the files of its last answer."""

    def file(name: str, *, keep: bool) -> Callable[[HttpRequest], Response]:
        def respond(request: HttpRequest) -> Response:
            finished = page.finished()
            if finished is None:
                return PlainTextResponse("there is no result yet\n", status_code=404)
            path = finished.folder / name
            return FileResponse(path, filename=path.name if keep else None, headers=_FRESH)

        return respond

    def text(name: str, make: Callable[[Finished], str]) -> Callable[[HttpRequest], Response]:
        def respond(request: HttpRequest) -> Response:
            finished = page.finished()
            if finished is None:
                return PlainTextResponse("there is no result yet\n", status_code=404)
            headers = {**_FRESH, "content-disposition": f'attachment; filename="{name}"'}
            return PlainTextResponse(make(finished), headers=headers)

        return respond

    routes = {
        "table": file(CALIBRATED, keep=True),
        "report": file(REPORT, keep=True),
        "view": file(REPORT, keep=False),
        "python": text("reproduce.py", _script),
        "shell": text("reproduce.sh", _commands),
    }
    return {name: page.session.dynamic_route(name, respond) for name, respond in routes.items()}


# The address stays the same from run to run: no browser may keep what it had.
_FRESH = {"cache-control": "no-store"}


def _script(finished: Finished) -> str:
    return python_script(finished.source, finished.request)


def _commands(finished: Finished) -> str:
    return shell_commands(finished.source, finished.request)


def _always(page: Page, *outputs: Any) -> None:
    """Fill these outputs even while their step is hidden: it is shown when they are there."""
    for output in outputs:
        page.session.output(suspend_when_hidden=False)(output)


async def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """Do something long beside the event loop; what goes wrong there is a message, never the page's end."""
    try:
        with speaking("app"):  # a thread has the context of its caller
            return await asyncio.to_thread(work, *arguments)
    except ProxycalError:
        raise
    except MemoryError as error:
        raise out_of_memory("working") from error
    except Exception as error:
        raise ProxycalError(defect(error)) from error


def _need(value: T | None) -> T:
    """The value; where there is none yet, whatever asked for it waits."""
    req(value is not None)
    assert value is not None
    return value
