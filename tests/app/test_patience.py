"""Lines that are opened and say nothing, or never end their headers, are closed."""

from __future__ import annotations

import asyncio

import pytest
import uvicorn

from proxycal.app.patience import Patient


class Hasty(Patient):
    seconds = 0.3


async def hello(scope, receive, send):
    await asyncio.sleep(0.6)  # longer than headers may take: an answer may take its time
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"hi"})


async def said(*parts: bytes) -> bytes:
    """What comes back for these bytes, until the line is closed."""
    server = uvicorn.Server(uvicorn.Config(hello, port=0, http=Hasty, lifespan="off", log_level="error"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for part in parts:
        writer.write(part)
        await writer.drain()
    found = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    server.should_exit = True
    await task
    return found


@pytest.mark.parametrize("parts", [(), (b"GET / HTTP/1.1\r\n", b"Host: a\r\n")])
def test_a_line_without_whole_headers_is_closed(parts):
    assert asyncio.run(said(*parts)) == b""


def test_an_answer_may_take_its_time_and_the_next_request_is_awaited_as_long():
    found = asyncio.run(said(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
    assert found.startswith(b"HTTP/1.1 200")
    assert found.endswith(b"hi")


async def beside_silent_lines(silent: int, limit: int) -> bytes:
    """What somebody who speaks at once hears, while that many lines are open and say nothing."""

    class Slow(Patient):
        seconds = 600.0

    config = uvicorn.Config(
        hello, port=0, http=Slow, lifespan="off", log_level="error", limit_concurrency=limit
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    opened = []
    for number in range(silent):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        # Half of them drip a header, which is no better than silence.
        writer.write(b"GET / HTTP/1.1\r\nHo" if number % 2 else b"")
        opened.append(writer)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    found = await asyncio.wait_for(reader.read(), 60)
    for line in (writer, *opened):
        line.close()
    server.should_exit = True
    await task
    return found


def test_who_speaks_is_answered_beside_hundreds_of_silent_lines():
    assert asyncio.run(beside_silent_lines(400, 40)).startswith(b"HTTP/1.1 200")
