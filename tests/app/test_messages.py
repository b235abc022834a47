from __future__ import annotations

import asyncio
import json

import pytest

from proxycal.app.messages import Messages, understood

INIT = json.dumps({"method": "init", "data": {".clientdata_output_audit_hidden": False}})


def update(**data) -> str:
    return json.dumps({"method": "update", "data": data})


@pytest.mark.parametrize(
    "text",
    [
        None,
        b"bytes",
        "",
        "{",
        "[1]",
        "1",
        "null",
        "{}",
        '{"method": "update"}',
        '{"method": "update", "data": [1]}',
        '{"method": "eval", "data": {}}',
        '{"method": ["update"], "data": {}}',
        '{"method": "init", "data": {}}',
        '{"method": "update", "data": {"level": NaN}}',
        "[" * 100_000,
    ],
)
def test_what_is_not_understood_goes_no_further(text):
    assert understood(text, begun=True) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("level", "abc"),
        ("level:shiny.number", {"a": 1}),
        ("level:shiny.file", 3),
        ("a:b:c", 1),
        ("repetitions", 10**400),
        ("run", -1),
        ("run", "1"),
        ("repetitions", [1]),
        ("role_1_0", None),
        ("role_1_0", {"role": "outcome"}),
        ("role_1_0", "x" * 5000),
        ("role_1_٣", "outcome"),
        ("log_proxies", [1, 2]),
        ("direction", 3),
        (".clientdata_output_audit_hidden", "yes"),
        (".clientdata_url_search", "?_inputs_&a=b"),
        ("other", 1),
    ],
)
def test_an_input_of_another_kind_or_name_is_left_out(name, value):
    text = understood(json.dumps({"method": "update", "data": {name: value, "seed": 1}}), begun=True)
    assert json.loads(text) == {"method": "update", "data": {"seed": 1}}


def test_a_number_beyond_all_numbers_is_left_out():
    assert understood('{"method": "update", "data": {"seed": 1e999}}', begun=True).endswith("{}}")


def test_every_input_of_the_page_goes_on():
    data = {"uploaded": 1, "run:shiny.action": 2, "direction": "over", "level:shiny.number": 90.5,
            "seed": None, "log_proxies": ["a"], "role_1_0": "", "picture": "residual"}  # fmt: skip
    assert json.loads(understood(update(**data), begun=True))["data"] == data


def test_a_crafted_message_is_answered_and_the_next_one_read():
    waiting = [{"type": "websocket.connect"}] + [
        {"type": "websocket.receive", "text": text} for text in (INIT, "{", INIT, update(seed=3))
    ]
    waiting.append({"type": "websocket.disconnect"})
    heard, sent = [], []

    async def page(scope, receive, send):
        while (message := await receive())["type"] != "websocket.disconnect":
            heard.append(message.get("text"))

    async def receive():
        return waiting.pop(0)

    async def send(message):
        sent.append(json.loads(message["text"]))

    asyncio.run(Messages(page)({"type": "websocket"}, receive, send))
    assert heard == [None, INIT, update(seed=3)]
    assert len(sent) == 2
    assert all("reload" in answer["custom"]["complain"] for answer in sent)
