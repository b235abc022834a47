"""The answer of a run on the page: totals by any column, what if, the files, the audit that may follow."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from htmltools import HTML
from shiny import reactive, render
from starlette.responses import FileResponse, PlainTextResponse, Response

from proxycal.app import bundle, views
from proxycal.app.answer import REPORT, picture_of
from proxycal.app.checked import with_checked
from proxycal.app.reproduce import Source, python_script, shell_commands
from proxycal.app.shown import band_shown, first_choice, fit_in, groupable, may_assume, totals_shown
from proxycal.app.state import always, in_thread, need
from proxycal.app.worker import CALIBRATED, RUN
from proxycal.errors import ProxycalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request as HttpRequest

    from proxycal.app.shown import Shown
    from proxycal.app.state import Finished, Page

# The address stays the same from run to run: no browser may keep what it had.
_FRESH = {"cache-control": "no-store"}
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


def answer_step(page: Page) -> None:
    """The answer, its pictures and its files."""
    links = _links(page)

    @reactive.effect
    async def _answered() -> None:
        finished = need(page.finished())
        await page.tell("show", {"step": "answer", "shown": True})
        await page.tell("status", f"Done: {finished.answer.verdict}.")
        await page.tell("focus", "step5")

    @render.ui
    def answer() -> HTML:
        finished = need(page.finished())
        columns = groupable(finished.table.frame)
        return HTML(
            views.answer(
                finished.answer,
                links,
                python_script(finished.source, finished.request),
                shell_commands(finished.source, finished.request),
                picture_of(finished.answer, "").kind,
                finished.source.example_alpha,
                columns,
                first_choice(columns),
            )
        )

    @render.ui
    def picture_shown() -> HTML:
        finished = need(page.finished())
        return HTML(views.picture(picture_of(finished.answer, page.input.picture())))

    always(page, answer, picture_shown)


def totals_step(page: Page) -> None:
    """Totals by the column that is chosen, and under an assumption."""

    @reactive.extended_task
    async def adding(finished: Finished, by: str) -> Shown:
        return await in_thread(_totals, finished, by)

    @reactive.effect
    def _ask() -> None:
        finished = need(page.finished())
        adding(finished, _by(page, finished))

    @render.ui
    def totals_by() -> HTML:
        need(page.finished())
        try:
            return HTML(views.totals(adding.result()))
        except ProxycalError as error:
            return HTML(views.message(str(error)))

    @render.ui
    def what_if() -> HTML:
        finished = need(page.finished())
        ends = [page.input[name]() for name in ("share_low", "share_high", "part_low", "part_high")]
        fit, frame = fit_in(finished.folder / RUN), finished.table.frame
        if not may_assume(fit, frame) or any(end is None for end in ends):
            return HTML("")
        share, part = (tuple(sorted(float(end) / 100.0 for end in pair)) for pair in (ends[:2], ends[2:]))
        try:
            said, rows = band_shown(fit, frame, share, part, _by(page, finished))  # type: ignore[arg-type]
        except ProxycalError as error:
            return HTML(views.message(str(error)))
        return HTML(views.band(said, rows, _by(page, finished)))

    always(page, totals_by, what_if)


def _totals(finished: Finished, by: str) -> Shown:
    return totals_shown(fit_in(finished.folder / RUN), finished.table.frame, by)


def _by(page: Page, finished: Finished) -> str:
    """The column that is chosen, if this table has it."""
    chosen = str(page.input.by() or "")
    return chosen if chosen in groupable(finished.table.frame) else ""


def audit_step(page: Page) -> None:
    """A sheet that was filled in comes back: the table with what was found is fitted again."""
    input, workspace = page.input, page.workspace

    @reactive.extended_task
    async def taking_back(finished: Finished, upload: Any) -> Any:
        return await in_thread(with_checked, finished, *upload, workspace.new_file(".parquet"))

    @reactive.effect
    @reactive.event(input.filled)
    def _sent() -> None:
        upload, finished = workspace.upload(input.filled()), page.finished()
        if upload is not None and finished is not None:
            taking_back(finished, upload)

    @reactive.effect
    async def _taken() -> None:
        try:
            table, roles = taking_back.result()
        except ProxycalError as error:
            await page.tell("complain_audit", str(error))
            return
        with reactive.isolate():
            finished = need(page.finished())
            request = replace(finished.request, roles=roles, repetitions=0, refute="")
            await page.tell("complain_audit", "")
            page.said.set("")
            page.begin(table, request, Source(table.name), audited=True)


def _links(page: Page) -> dict[str, str]:
    """Addresses that only this page knows, for the files of its last answer."""

    def answered(respond: Callable[[Finished], Any]) -> Callable[[HttpRequest], Any]:
        async def asked(request: HttpRequest) -> Response:
            finished = page.finished()
            if finished is None:
                return PlainTextResponse("there is no result yet\n", status_code=404)
            try:
                made: Response = await in_thread(respond, finished)
            except ProxycalError as error:
                return PlainTextResponse(f"{error}\n", status_code=422)
            return made

        return asked

    def file(name: str, *, keep: bool) -> Callable[[Finished], Response]:
        def respond(finished: Finished) -> Response:
            path = finished.folder / name
            return FileResponse(path, filename=path.name if keep else None, headers=_FRESH)

        return respond

    def made(name: str, kind: str, make: Callable[[Finished], bytes]) -> Callable[[Finished], Response]:
        def respond(finished: Finished) -> Response:
            headers = {**_FRESH, "content-disposition": f'attachment; filename="{name}"'}
            return Response(make(finished), headers=headers, media_type=kind)

        return respond

    def by(finished: Finished) -> str:
        return _by(page, finished)

    def rows() -> int:
        return min(max(int(page.input.audit_rows() or 50), 2), 10_000)

    routes = {
        "table": file(CALIBRATED, keep=True),
        "report": file(REPORT, keep=True),
        "view": file(REPORT, keep=False),
        "python": made("reproduce.py", "text/plain", bundle.script),
        "shell": made("reproduce.sh", "text/plain", bundle.commands),
        "book": made(bundle.CALIBRATED_BOOK, _EXCEL, bundle.calibrated_book),
        "totals": made(bundle.TOTALS_BOOK, _EXCEL, lambda one: bundle.totals_book(one, by(one))),
        "all": made("proxycal.zip", "application/zip", lambda one: bundle.everything(one, by(one))),
        "audit": made(bundle.SHEET, _EXCEL, lambda one: bundle.audit_sheet(one, rows())),
    }
    for language in views.LANGUAGES:
        routes[f"memo_{language}"] = made(
            bundle.MEMO,
            _WORD,
            lambda one, language=language: bundle.memo(one, language),  # type: ignore[misc]
        )
    return {name: page.session.dynamic_route(name, answered(respond)) for name, respond in routes.items()}
