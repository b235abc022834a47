"""Who may talk to the page: programs of this computer that ask for it by its own name, and nobody else.

A web page that you visit cannot read an answer of 127.0.0.1, but it can send requests there, and with a name
that it points at 127.0.0.1 it can even read them. Both show in the headers: a foreign Origin, a foreign Host.
"""

from __future__ import annotations

import base64
import hashlib
import re
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

UPLOADS = "/upload/"
_REFUSED = "403: this page answers only to the browser of this computer, at the address that it printed.\n"


class Guard:
    """Pure ASGI middleware: what is not for this page is refused before anything reads it."""

    def __init__(self, app: ASGIApp, port: int, policy: str) -> None:
        names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
        if port == 80:
            names += ["127.0.0.1", "localhost"]
        self.app = app
        self._hosts = set(names)
        self._origins = {f"http://{name}" for name in names}
        self._headers = {
            "content-security-policy": policy,
            "cross-origin-resource-policy": "same-origin",
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
            "x-frame-options": "SAMEORIGIN",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let it through, or answer 403."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif not self._ours(scope):
            await _refuse(scope, receive, send)
        elif scope["type"] == "websocket":
            await self.app(scope, receive, send)
        else:
            await self.app(scope, receive, self._with_headers(send))

    def _ours(self, scope: Scope) -> bool:
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts or not set(origins) <= self._origins:
            return False
        if scope["type"] == "websocket":
            # Every browser says where a socket was opened from; what does not say is no browser.
            return len(origins) == 1
        # Files come in by one door, which counts their bytes.
        return scope["method"] in ("GET", "HEAD") or (
            scope["method"] == "POST" and scope["path"].startswith(UPLOADS) and len(origins) == 1
        )

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = [(name.encode(), value.encode()) for name, value in self._headers.items()]
                message = {**message, "headers": [*message.get("headers", []), *ours]}
            await send(message)

        return sending


def policy_for(page: str) -> str:
    """What a page may load: our own files, and those scripts inside it that were there when it was made.

    >>> policy_for("<script>f()</script>").split("; ")[1]
    "script-src 'self' 'sha256-GcEEE0IkDzIP5EQ6DXZaDPORqT5RTBELX8Fyzyg9yvo='"
    """
    inside = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    sums = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in inside]
    scripts = " ".join(["'self'", *(f"'sha256-{digest}'" for digest in sums)])
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {scripts}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "frame-src 'self'",
            "frame-ancestors 'self'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1").lower() for key, value in scope["headers"] if key.lower() == name]


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        # Closing before accepting is how ASGI refuses a socket: the server answers 403.
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await PlainTextResponse(_REFUSED, status_code=403)(scope, receive, send)
