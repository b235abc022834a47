"""Who may talk to the page: the browser that was given its address, and nobody else.

A web page that you visit cannot read an answer of 127.0.0.1, but it can send requests there, and with a name
that it points at 127.0.0.1 it can even read them. Both show in the headers: a foreign Origin, a foreign Host,
a foreign Sec-Fetch-Site. Other users of this computer are kept out by the token, which stands in the printed
address; the first answer gives it to the browser as a cookie, for everything that the page then asks for.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from starlette.datastructures import QueryParams
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

UPLOADS = "/upload/"
_REFUSED = (
    "403: this page answers only to the browser of this computer, at the whole address that "
    "`proxycal app` printed, with its token.\n"
)
# Cameras, places and payments are no business of a table.
_PERMISSIONS = ("accelerometer", "camera", "display-capture", "fullscreen", "geolocation", "gyroscope",
                "magnetometer", "microphone", "midi", "payment", "usb")  # fmt: skip


class Guard:
    """Pure ASGI middleware: what is not for this page is refused before anything reads it."""

    def __init__(self, app: ASGIApp, port: int, policy: str, token: str) -> None:
        names = [f"{name}:{port}" for name in ("127.0.0.1", "localhost")]
        if port == 80:
            names += ["127.0.0.1", "localhost"]
        self.app = app
        self._token = token
        # Cookies do not know ports: the name keeps two programs apart.
        self._cookie = f"proxycal-{port}"
        self._hosts = set(names)
        self._origins = {f"http://{name}" for name in names}
        self._headers = {
            "cache-control": "no-store",
            "content-security-policy": policy,
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": ", ".join(f"{name}=()" for name in _PERMISSIONS),
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
            await self.app(scope, receive, self._with_headers(send, self._has_address(scope)))

    def _ours(self, scope: Scope) -> bool:
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts or not set(origins) <= self._origins:
            return False
        if not self._has_address(scope) and not (self._has_cookie(scope) and _from_here(scope)):
            return False
        if scope["type"] == "websocket":
            # Every browser says where a socket was opened from; what does not say is no browser.
            return len(origins) == 1
        # Files come in by one door, which counts their bytes.
        return scope["method"] in ("GET", "HEAD") or (
            scope["method"] == "POST" and scope["path"].startswith(UPLOADS) and len(origins) == 1
        )

    def _has_address(self, scope: Scope) -> bool:
        """Whether the page is asked for by its whole address. A link in a mail to oneself counts as well."""
        given = QueryParams(scope["query_string"]).getlist("token")
        asked = scope["type"] == "http" and scope["path"] == "/" and len(given) == 1
        return asked and secrets.compare_digest(given[0].encode(), self._token.encode())

    def _has_cookie(self, scope: Scope) -> bool:
        try:
            cookies = SimpleCookie("; ".join(_values(scope, b"cookie", lower=False)))
        except CookieError:
            return False
        given = cookies[self._cookie].value if self._cookie in cookies else ""
        return secrets.compare_digest(given.encode(), self._token.encode())

    def _with_headers(self, send: Send, first: bool) -> Send:
        """Add our headers to an answer, and to the first the cookie; none of Shiny's or Starlette's twice."""
        ours = [(name.encode(), value.encode()) for name, value in self._headers.items()]
        if first:
            cookie = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            ours.append((b"set-cookie", cookie.encode()))

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                theirs = [
                    (name, value)
                    for name, value in message.get("headers", [])
                    if name.decode("latin-1").lower() not in (*self._headers, "server")
                ]
                message = {**message, "headers": [*theirs, *ours]}
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


def _from_here(scope: Scope) -> bool:
    """Whether the browser says that the page itself asks, or its person; not every browser says it."""
    return set(_values(scope, b"sec-fetch-site")) <= {"same-origin", "none"}


def _values(scope: Scope, name: bytes, lower: bool = True) -> list[str]:
    found = [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]
    return [value.lower() for value in found] if lower else found


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        # Closing before accepting is how ASGI refuses a socket: the server answers 403.
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await PlainTextResponse(_REFUSED, status_code=403)(scope, receive, send)
