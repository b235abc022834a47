"""Talk to an ASGI application without a network: what was sent, and what came back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field


@dataclass
class Reply:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    kinds: list[str] = field(default_factory=list)


def http(app, method="GET", path="/", headers=(), body=(b"",), query=""):
    """One request; `body` in chunks."""
    scope = {"type": "http", "method": method, "path": path, "raw_path": path.encode(), "scheme": "http",
             "query_string": query.encode(), "http_version": "1.1", "headers": list(headers),
             "server": ("127.0.0.1", 8000), "client": ("127.0.0.1", 1), "root_path": ""}  # fmt: skip
    chunks = [
        {"type": "http.request", "body": part, "more_body": i < len(body) - 1} for i, part in enumerate(body)
    ]
    return asyncio.run(_exchange(app, scope, chunks))


def websocket(app, headers=()):
    """An attempt to open a socket."""
    scope = {"type": "websocket", "path": "/websocket/", "headers": list(headers), "query_string": b""}
    return asyncio.run(_exchange(app, scope, [{"type": "websocket.connect"}]))


async def _exchange(app, scope, incoming):
    reply, waiting = Reply(), list(incoming)

    async def receive():
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message):
        reply.kinds.append(message["type"])
        if message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        reply.body += message.get("body", b"")

    await app(scope, receive, send)
    return reply
