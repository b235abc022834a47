from __future__ import annotations

import numpy as np
import pytest

from proxycal.errors import StoreError
from proxycal.methods.packing import pack, unpack


def test_parts_are_packed_under_their_own_names() -> None:
    packed = pack({"net": {"w": np.ones(2)}, "result": {"kl": np.zeros(1)}})
    assert sorted(packed) == ["net/w", "result/kl"]
    assert list(unpack(packed, "net")) == ["w"]
    with pytest.raises(StoreError, match="'history'"):
        unpack(packed, "history")
    assert unpack(packed, "history", may_be_empty=True) == {}
