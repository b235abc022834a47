"""Where networks are trained: on a GPU where there is one, unless the settings name another device."""

from __future__ import annotations

import torch

from proxycal.errors import SettingsError

CPU = torch.device("cpu")


def devices() -> tuple[str, ...]:
    """The devices that torch can use here, the fastest first; the CPU is always there, and last."""
    cuda = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return (*cuda, *mps, "cpu")


def device_named(name: str) -> torch.device:
    """The device of a setting: "auto" is the first of `devices()`, "cuda" the first GPU of that kind.

    >>> device_named("cpu")
    device(type='cpu')
    >>> device_named("cuda:1000")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
      ...
    proxycal.errors.SettingsError: device = 'cuda:1000' is not available; use "auto" or one of: ..."cpu"
    """
    available = devices()
    chosen = {"auto": available[0], "cuda": "cuda:0"}.get(name, name)
    if chosen not in available:
        names = ", ".join(f'"{device}"' for device in available)
        raise SettingsError(f'device = {name!r} is not available; use "auto" or one of: {names}')
    return torch.device(chosen)
