"""The program on its port: who gets an answer, and how it starts and stops."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from proxycal.cli import main

HANDSHAKE = (
    "GET /websocket/ HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nCookie: {cookie}\r\n"
    "Upgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)


def reply(port: int, path="/", **headers) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers=headers)
    found = connection.getresponse()
    found.read()
    connection.close()
    return found


def status(program, path="/", **headers) -> int:
    return reply(program.port, path, **{"Cookie": program.cookie, **headers}).status


def shaken(program, host: str, origin: str, cookie: str | None = None) -> str:
    cookie = program.cookie if cookie is None else cookie
    with socket.create_connection(("127.0.0.1", program.port), timeout=60) as line:
        line.sendall(HANDSHAKE.format(host=host, origin=origin, cookie=cookie).encode())
        return line.recv(100).decode("latin-1").split("\r\n")[0]


def test_the_page_is_there(program):
    assert status(program) == 200
    assert status(program, "/static/app.js") == 200


def test_nobody_gets_in_without_the_token(program):
    assert reply(program.port).status == 403
    assert reply(program.port, "/?token=guess").status == 403
    assert reply(program.port, "/static/app.js").status == 403
    assert "403" in shaken(program, f"127.0.0.1:{program.port}", program.origin, cookie="")


def test_the_first_answer_gives_the_browser_its_cookie(program):
    found = reply(program.port, program.address.removeprefix(program.origin))
    assert found.status == 200
    assert found.headers["set-cookie"].startswith(f"{program.cookie}; HttpOnly; SameSite=Strict")
    assert found.headers["cache-control"] == "no-store"
    assert found.headers["server"] is None


def test_a_foreign_host_is_refused(program):
    assert status(program, Host="evil.example") == 403
    assert status(program, Host=f"evil.example:{program.port}") == 403
    assert status(program, "/static/app.js", Host="evil.example") == 403


def test_a_foreign_origin_is_refused(program):
    assert status(program, Origin="http://evil.example") == 403
    assert status(program, Origin=program.origin) == 200


def test_a_socket_from_elsewhere_is_refused(program):
    ours = f"127.0.0.1:{program.port}"
    assert "101" in shaken(program, ours, program.origin)
    assert "403" in shaken(program, ours, "http://evil.example")
    assert "403" in shaken(program, "evil.example", program.origin)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's /proc to see who listens")
def test_it_listens_on_this_computer_only(program):
    with open("/proc/net/tcp") as file:
        lines = [line.split()[1] for line in file if f":{program.port:04X} " in line.split()[1] + " "]
    assert lines
    assert {line.split(":")[0] for line in lines} == {"0100007F"}


@pytest.mark.parametrize(
    "path", ["/..%2f..%2fetc/passwd", "/static/..%2f..%2fserve.py", "/session/x/download/y"]
)
def test_no_path_leads_out(program, path):
    assert status(program, path) in (400, 404)


def test_a_taken_port_is_one_message(program, capsys):
    assert main(["app", "--port", str(program.port), "--no-open"]) == 2
    message = capsys.readouterr().err
    assert f"port {program.port} cannot be used" in message
    assert "--port" in message


def test_ctrl_c_ends_it_quietly():
    running = subprocess.Popen(
        [sys.executable, "-u", "-m", "proxycal", "app", "--port", "0", "--no-open"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        address = running.stdout.readline().split()[-1]
        port, _, query = address.rpartition(":")[2].partition("/")
        assert reply(int(port), f"/{query}").status == 200  # it is up
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    finally:
        running.kill()  # a test that fails leaves nothing behind
    assert running.returncode == 0
    assert errors == ""
