from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse

from app.asgi import http, websocket
from proxycal.app.guard import Guard, policy_for

HOST = (b"host", b"127.0.0.1:8000")
ORIGIN = (b"origin", b"http://127.0.0.1:8000")


async def inner(scope, receive, send):
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
    else:
        await PlainTextResponse("inside")(scope, receive, send)


@pytest.fixture
def guard():
    return Guard(inner, 8000, "default-src 'none'")


@pytest.mark.parametrize("host", [b"127.0.0.1:8000", b"localhost:8000", b"LOCALHOST:8000"])
def test_the_browser_of_this_computer_is_let_in(guard, host):
    reply = http(guard, headers=[(b"host", host)])
    assert (reply.status, reply.body) == (200, b"inside")
    assert reply.headers["content-security-policy"] == "default-src 'none'"
    assert reply.headers["x-frame-options"] == "SAMEORIGIN"


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"host", b"evil.example")],
        [(b"host", b"evil.example:8000")],
        [(b"host", b"127.0.0.1:9999")],
        [(b"host", b"127.0.0.1")],
        [(b"host", b"127.0.0.1:8000.evil.example")],
        [HOST, HOST],
        [HOST, (b"origin", b"http://evil.example")],
        [HOST, (b"origin", b"null")],
        [HOST, (b"origin", b"https://127.0.0.1:8000")],
        [HOST, (b"origin", b"http://127.0.0.1:9999")],
        [HOST, ORIGIN, (b"Origin", b"http://evil.example")],
        [(b"host", b"evil.example"), ORIGIN],
    ],
)
def test_a_foreign_host_or_origin_is_refused(guard, headers):
    reply = http(guard, headers=headers)
    assert reply.status == 403
    assert b"inside" not in reply.body
    assert websocket(guard, headers).kinds == ["websocket.close"]


def test_a_socket_needs_an_origin_of_ours(guard):
    assert websocket(guard, [HOST, ORIGIN]).kinds == ["websocket.accept"]
    assert websocket(guard, [HOST]).kinds == ["websocket.close"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/upload/token", [HOST, ORIGIN], 200),
        ("POST", "/upload/token", [HOST], 403),
        ("POST", "/session/1/upload/2", [HOST, ORIGIN], 403),
        ("POST", "/", [HOST, ORIGIN], 403),
        ("PUT", "/upload/token", [HOST, ORIGIN], 403),
        ("HEAD", "/", [HOST], 200),
    ],
)
def test_files_come_in_by_one_door(guard, method, path, headers, status):
    assert http(guard, method, path, headers).status == status


def test_the_policy_lets_no_script_in_that_was_not_there():
    policy = policy_for("<script src='a.js'></script><script type='x'>data</script><script>g()</script>")
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert scripts.count("sha256-") == 1
    assert "unsafe" not in scripts
