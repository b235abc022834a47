from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse

from app.asgi import http, websocket
from proxycal.app.guard import Guard, policy_for

HOST = (b"host", b"127.0.0.1:8000")
ORIGIN = (b"origin", b"http://127.0.0.1:8000")
TOKEN = "s3cret"
COOKIE = (b"cookie", b"other=1; proxycal-8000=s3cret")


async def inner(scope, receive, send):
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
    else:
        await PlainTextResponse("inside")(scope, receive, send)


@pytest.fixture
def guard():
    return Guard(inner, 8000, "default-src 'none'", TOKEN)


@pytest.mark.parametrize("host", [b"127.0.0.1:8000", b"localhost:8000", b"LOCALHOST:8000"])
def test_the_browser_of_this_computer_is_let_in(guard, host):
    reply = http(guard, headers=[(b"host", host), COOKIE])
    assert (reply.status, reply.body) == (200, b"inside")
    assert reply.headers["content-security-policy"] == "default-src 'none'"
    assert reply.headers["x-frame-options"] == "SAMEORIGIN"
    assert reply.headers["cross-origin-opener-policy"] == "same-origin"
    assert reply.headers["cache-control"] == "no-store"
    assert "camera=()" in reply.headers["permissions-policy"]
    assert "set-cookie" not in reply.headers


def test_the_whole_address_lets_in_and_gives_the_cookie(guard):
    reply = http(guard, headers=[HOST], query=f"token={TOKEN}")
    assert reply.status == 200
    assert reply.headers["set-cookie"] == f"proxycal-8000={TOKEN}; HttpOnly; SameSite=Strict; Path=/"
    # The address is for the page; everything else comes with the cookie.
    assert http(guard, path="/static/app.js", headers=[HOST], query=f"token={TOKEN}").status == 403


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ([HOST], ""),
        ([HOST], "token="),
        ([HOST], "token=guess"),
        ([HOST], f"token={TOKEN}&token={TOKEN}"),
        ([HOST, (b"cookie", b"proxycal-8000=guess")], ""),
        ([HOST, (b"cookie", b"proxycal-9000=s3cret")], ""),
        ([HOST, (b"cookie", b"\xff\xfe=;;=")], ""),
        ([HOST, COOKIE, (b"sec-fetch-site", b"cross-site")], ""),
        ([HOST, COOKIE, (b"sec-fetch-site", b"same-site")], ""),
    ],
)
def test_without_the_token_or_from_another_site_nothing_is_shown(guard, headers, query):
    assert http(guard, headers=headers, query=query).status == 403


@pytest.mark.parametrize("site", [b"same-origin", b"none"])
def test_the_page_itself_and_its_person_may_ask(guard, site):
    assert http(guard, headers=[HOST, COOKIE, (b"sec-fetch-site", site)]).status == 200


def test_no_header_is_there_twice(guard):
    async def cached(scope, receive, send):
        await PlainTextResponse("x", headers={"Cache-Control": "public", "Server": "a"})(scope, receive, send)

    reply = http(Guard(cached, 8000, "", TOKEN), headers=[HOST, COOKIE])
    assert reply.headers["cache-control"] == "no-store"
    assert "server" not in {name.lower() for name in reply.headers}


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
    reply = http(guard, headers=[*headers, COOKIE])
    assert reply.status == 403
    assert b"inside" not in reply.body
    assert websocket(guard, [*headers, COOKIE]).kinds == ["websocket.close"]


def test_a_socket_needs_an_origin_of_ours(guard):
    assert websocket(guard, [HOST, ORIGIN, COOKIE]).kinds == ["websocket.accept"]
    assert websocket(guard, [HOST, COOKIE]).kinds == ["websocket.close"]
    assert websocket(guard, [HOST, ORIGIN]).kinds == ["websocket.close"]


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
    assert http(guard, method, path, [*headers, COOKIE]).status == status


def test_the_policy_lets_no_script_in_that_was_not_there():
    policy = policy_for("<script src='a.js'></script><script type='x'>data</script><script>g()</script>")
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert scripts.count("sha256-") == 1
    assert "unsafe" not in scripts
