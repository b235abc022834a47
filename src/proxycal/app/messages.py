"""What a page may say over its socket: the inputs that it has, with values of their kind.

Shiny ends a session at the first message that it does not understand. Here such a message is answered and
goes no further, and of an understood one only the known inputs go on.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LETTERS, _CHOICES, _LARGEST = 1000, 1000, 2**53
_ANSWER = "the page sent something that this program does not understand: reload the page"


def _is_text(value: Any) -> bool:
    return value is None or (isinstance(value, str) and len(value) <= _LETTERS)


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (number and abs(value) < _LARGEST)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST


def _is_list(value: Any) -> bool:
    return value is None or (
        isinstance(value, list) and len(value) <= _CHOICES and all(isinstance(one, str) for one in value)
    )


# Buttons and files; what is chosen or typed.
_WHOLE = ("uploaded", "filled", "example", "run", "power", "refute", "cancel")
_TEXTS = ("direction", "scale", "missing", "method", "effect", "picture", "by", "reread", "refuter")
_NUMBERS = ("level", "seed", "repetitions", "audit_rows", "share_low", "share_high", "part_low", "part_high")
_KINDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_WHOLE, _is_whole),
    **dict.fromkeys(_TEXTS, _is_text),
    **dict.fromkeys(_NUMBERS, _is_number),
    "log_proxies": _is_list,
}
_ROLE = re.compile(r"role_\d{1,9}_\d{1,9}", re.ASCII)
_HIDDEN = re.compile(r"\.clientdata_output_\w+_hidden", re.ASCII)
# How Shiny's script marks buttons and numbers.
_MARKS = ("shiny.action", "shiny.number")


class Messages:
    """ASGI: passes on what is understood; everything else is answered with one line on the page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a socket's messages through one by one."""
        if scope["type"] != "websocket":
            await self.app(scope, receive, send)
            return
        begun = False

        async def receiving() -> Message:
            nonlocal begun
            while True:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                text = understood(message.get("text"), begun)
                if text is not None:
                    begun = True
                    return {"type": "websocket.receive", "text": text}
                await send({"type": "websocket.send", "text": json.dumps({"custom": {"complain": _ANSWER}})})

        await self.app(scope, receiving, send)


def understood(text: object, begun: bool) -> str | None:
    """The part of a message that goes on; None where the whole is not understood.

    begun : whether the page has sent its first message, which alone is "init".

    >>> understood('{"method": "update", "data": {"seed:shiny.number": 3, "other": 1}}', begun=True)
    '{"method": "update", "data": {"seed:shiny.number": 3}}'
    >>> understood("{}", begun=True)
    """
    if not isinstance(text, str):
        return None
    try:
        message = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not isinstance(message.get("data"), dict):
        return None
    method = message.get("method")
    if method != ("update" if begun else "init"):
        return None
    known = {name: value for name, value in message["data"].items() if _is_known(name, value)}
    return json.dumps({"method": method, "data": known})


def _is_known(name: str, value: Any) -> bool:
    if _HIDDEN.fullmatch(name):
        return isinstance(value, bool)
    name, _, mark = name.partition(":")
    if mark and mark not in _MARKS:
        return False
    if _ROLE.fullmatch(name):
        return isinstance(value, str) and len(value) <= _LETTERS
    return name in _KINDS and _KINDS[name](value)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
