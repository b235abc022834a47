from __future__ import annotations

import asyncio

import pytest

from proxycal.app.state import in_thread
from proxycal.errors import ProxycalError, StoreError


def test_what_is_known_to_go_wrong_keeps_its_words():
    def refuse():
        raise StoreError("say it so")

    with pytest.raises(StoreError, match=r"^say it so$"):
        asyncio.run(in_thread(refuse))


def test_what_nobody_expected_is_a_message_too():
    with pytest.raises(ProxycalError, match=r"ZeroDivisionError.*bug in proxycal"):
        asyncio.run(in_thread(lambda: 1 / 0))
    assert asyncio.run(in_thread(divmod, 7, 2)) == (3, 1)
