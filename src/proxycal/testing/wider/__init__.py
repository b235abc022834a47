"""More than a hundred kinds of data with a known answer, outside or at the edge of the method's assumptions.

wider_worlds  all of them, or those of a family
wider_world   one, by name

>>> world = wider_world("gamma sizes, cv 0.6")
>>> drawn = world.draw(seed=1)
>>> len(drawn.table), drawn.direction, world.findable
(2000, 'over', True)
>>> round(drawn.alpha / drawn.residual_sd, 1)
3.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxycal.errors import SettingsError
from proxycal.testing.wider import (
    dependence,
    direct,
    gates,
    measured,
    noise,
    outcomes,
    reproducers,
    rows,
    sizes,
    structure,
)
from proxycal.testing.wider.record import DrawnWorld, WiderWorld

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["DrawnWorld", "WiderWorld", "wider_world", "wider_worlds"]

_FILES: tuple[ModuleType, ...] = (
    reproducers,
    sizes,
    gates,
    direct,
    noise,
    measured,
    dependence,
    outcomes,
    rows,
    structure,
)
_WORLDS: dict[str, WiderWorld] = {world.name: world for file in _FILES for world in file.WORLDS}


def wider_worlds(family: str | None = None) -> tuple[WiderWorld, ...]:
    """All wider worlds, or those of one family, in a fixed order.

    >>> [world.name for world in wider_worlds("shares")]
    ['share 0.01', 'share 0.05', 'share 0.1', 'share 0.5', 'share 0.9']
    """
    families = list(dict.fromkeys(world.family for world in _WORLDS.values()))
    if family is not None and family not in families:
        raise SettingsError(f"family {family!r} is not known: use one of {', '.join(families)}")
    return tuple(world for world in _WORLDS.values() if family in (None, world.family))


def wider_world(name: str) -> WiderWorld:
    """One wider world by its name.

    >>> wider_world("y4").about
    'no bias; a step of the environment moves everybody'
    """
    if name not in _WORLDS:
        raise SettingsError(f"wider world {name!r} is not known: wider_worlds() lists all {len(_WORLDS)}")
    return _WORLDS[name]
