"""What the steps of one open page share: its table, its run, its answer, and small tools."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from shiny import reactive, req

from proxycal.app import views
from proxycal.app.request import Request, roles_from, settings_from
from proxycal.app.worker import defect
from proxycal.errors import ProxycalError
from proxycal.limits import out_of_memory
from proxycal.table.surface import speaking

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from shiny import Inputs, Session

    from proxycal.app.answer import Answer
    from proxycal.app.job import Job
    from proxycal.app.opened import Opened
    from proxycal.app.reproduce import Source
    from proxycal.app.tables import Table
    from proxycal.app.timing import Pace
    from proxycal.app.workspace import Workspace
    from proxycal.settings import Settings
    from proxycal.table.roles import Roles

T = TypeVar("T")

_SETTINGS = ("direction", "scale", "log_proxies", "missing", "method", "effect", "level", "seed")


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that ended well: where it is, what was asked of which table, and its answer.

    audited : whether the table is the one of the page with what an audit found.
    """

    folder: Path
    request: Request
    source: Source
    answer: Answer
    table: Table
    audited: bool = False


class Page:
    """One open page: its workspace, and what its steps tell each other."""

    def __init__(self, input: Inputs, session: Session, workspace: Workspace, pace: Pace) -> None:
        self.input, self.session, self.workspace, self.pace = input, session, workspace, pace
        self.opened: reactive.Value[Opened | None] = reactive.Value(None)
        self.running: reactive.Value[Job | None] = reactive.Value(None)
        self.finished: reactive.Value[Finished | None] = reactive.Value(None)
        self.said: reactive.Value[str] = reactive.Value("")
        self.tables = 0
        # The table of the run that goes on, where it came from, and whether an audit added to it.
        self.asked: tuple[Table, Source, bool] | None = None

    def begin(self, table: Table, request: Request, source: Source, *, audited: bool = False) -> None:
        """Start a run; whatever ran before on this page is stopped."""
        self.asked = (table, source, audited)
        self.running.set(self.workspace.start(table, request))

    async def tell(self, kind: str, words: Any) -> None:
        """A message to the script of the page."""
        await self.session.send_custom_message(kind, words)

    def roles(self) -> Roles:
        """The roles as chosen now; RolesError where they do not make sense."""
        opened = need(self.opened())
        ids = [views.role_id(opened.number, position) for position in range(len(opened.guesses))]
        return roles_from(
            {guess.column: self.input[id]() for guess, id in zip(opened.guesses, ids, strict=True)}
        )

    def request(self, repetitions: int = 0, refute: str = "") -> Request:
        """What is asked now; SettingsError where something is missing."""
        roles = self.roles()
        return Request(roles, self.settings(roles, _SETTINGS), repetitions, refute)

    def settings(self, roles: Roles, names: Sequence[str], **given: Any) -> Settings:
        """These settings as they are chosen now; a logarithm is of a proxy or of nothing."""
        values = {**given, **{name: self.input[name]() for name in names}}
        ticked = values.get("log_proxies") or ()
        values["log_proxies"] = [name for name in ticked if name in roles.proxies]
        with speaking("app"):
            return settings_from(values)


def always(page: Page, *outputs: Any) -> None:
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


def need(value: T | None) -> T:
    """The value; where there is none yet, whatever asked for it waits."""
    req(value is not None)
    assert value is not None
    return value
