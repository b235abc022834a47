from __future__ import annotations

import asyncio
import json

import pytest
from starlette.responses import PlainTextResponse

from app.asgi import http
from proxycal.app.upload import Door
from proxycal.app.workspace import KEPT, Workspaces


@pytest.fixture
def workspaces(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return Workspaces()


@pytest.fixture
def door(workspaces):
    return Door(PlainTextResponse("the page"), workspaces, limit=1000)


def send(door, workspace, name, *chunks):
    reply = http(door, "POST", f"/upload/{workspace.token}", body=chunks, query=f"name={name}")
    return reply.status, json.loads(reply.body)


def test_bytes_land_under_a_name_of_ours(door, workspaces):
    workspace = workspaces.open()
    status, told = send(door, workspace, "..%2F..%2Fetc%2Fpasswd.csv", b"a,b\n", b"1,2\n")
    assert (status, told) == (200, {"number": 1})
    path, name = workspace.upload(1)
    assert path.parent == workspace.folder
    assert path.name == "table-1.csv"
    assert path.read_bytes() == b"a,b\n1,2\n"
    assert name == "../../etc/passwd.csv"  # text for people


def test_too_much_is_refused_with_what_to_do_and_not_kept(door, workspaces):
    workspace = workspaces.open()
    status, told = send(door, workspace, "a.csv", b"x" * 600, b"x" * 600)
    assert status == 413
    assert "0.001 MB" in told["message"]
    assert "`proxycal fit`" in told["message"]
    assert list(workspace.folder.iterdir()) == []
    assert send(door, workspace, "a.csv", b"x" * 1000)[0] == 200


@pytest.mark.parametrize("name", ["a.exe", "", "passwd", "a.csv%00.sh"])
def test_what_is_no_table_is_refused(door, workspaces, name):
    status, told = send(door, workspaces.open(), name, b"x")
    assert status == 415
    assert "save it as CSV" in told["message"]


def test_only_an_open_page_may_send(door, workspaces):
    workspace = workspaces.open()
    workspaces.close(workspace)
    assert send(door, workspace, "a.csv", b"x")[0] == 404
    assert http(door, "POST", "/upload/", body=(b"x",)).status == 404


def test_pages_see_their_own_uploads_only(door, workspaces):
    mine, yours = workspaces.open(), workspaces.open()
    send(door, mine, "a.csv", b"x")
    assert yours.upload(1) is None
    for made_up in ("/etc/passwd", "1", None, 2, -1, [1]):
        assert mine.upload(made_up) is None


def test_everything_else_is_the_page(door):
    assert http(door, path="/").body == b"the page"


def test_a_file_that_stops_coming_is_given_up_and_not_kept(workspaces):
    door, workspace = Door(PlainTextResponse("the page"), workspaces, 1000, patience=0.05), workspaces.open()

    async def stuck(app, scope):
        told = []

        async def receive():
            if not told:
                told.append("begun")
                return {"type": "http.request", "body": b"a,b", "more_body": True}
            await asyncio.sleep(60)

        async def send(message):
            told.append(message.get("status"))

        await app(scope, receive, send)
        return told

    scope = {"type": "http", "method": "POST", "path": f"/upload/{workspace.token}", "headers": [],
             "query_string": b"name=a.csv", "server": ("127.0.0.1", 1), "scheme": "http"}  # fmt: skip
    assert 408 in asyncio.run(stuck(door, scope))
    assert list(workspace.folder.iterdir()) == []


def test_a_sender_who_goes_away_leaves_nothing_and_raises_nothing(door, workspaces):
    workspace = workspaces.open()
    scope = {"type": "http", "method": "POST", "path": f"/upload/{workspace.token}", "headers": [],
             "query_string": b"name=a.csv", "server": ("127.0.0.1", 1), "scheme": "http"}  # fmt: skip
    coming = [{"type": "http.request", "body": b"a", "more_body": True}, {"type": "http.disconnect"}]

    async def receive():
        return coming.pop(0)

    async def send(message):
        pass

    asyncio.run(door(scope, receive, send))
    assert list(workspace.folder.iterdir()) == []


def test_a_page_keeps_its_last_tables_only(door, workspaces):
    workspace = workspaces.open()
    for _ in range(KEPT + 2):
        assert send(door, workspace, "a.csv", b"a\n1\n")[0] == 200
    assert len(list(workspace.folder.iterdir())) == KEPT
    assert workspace.upload(2) is None
    assert workspace.upload(KEPT + 2) is not None
