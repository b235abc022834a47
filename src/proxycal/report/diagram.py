"""The causal diagram with the user's own column names: placed boxes and arrows, which the template draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxycal.report.style import short

if TYPE_CHECKING:
    from proxycal.result import Fit

WIDTH = 460
_LINE, _HEAD, _FOOT, _GAP = 18, 40, 12, 56
_LEFT, _RIGHT = 115, 345
# What fits: names per box, and letters per name in a narrow and in a wide box.
_NAMES, _NARROW, _WIDE = 4, 24, 40


@dataclass(frozen=True, slots=True)
class Box:
    """One node: x, y of its middle top, its size, what it is called, what it means, its columns."""

    kind: str
    x: int
    y: int
    width: int
    height: int
    title: str
    meaning: str
    names: tuple[str, ...] = ()

    @property
    def left(self) -> int:
        """Left edge."""
        return self.x - self.width // 2

    @property
    def bottom(self) -> int:
        """Lower edge."""
        return self.y + self.height

    @property
    def lines(self) -> list[tuple[int, str]]:
        """Where each name stands, and the name."""
        return [(self.y + _HEAD + _LINE * (i + 1) - 4, name) for i, name in enumerate(self.names)]


@dataclass(frozen=True, slots=True)
class Arrow:
    """From (x1, y1) to (x2, y2); `kind` is "bias" for the one that is looked for."""

    kind: str
    x1: int
    y1: int
    x2: int
    y2: int


@dataclass(frozen=True, slots=True)
class Diagram:
    """Boxes, arrows and the size of the whole; `alt` says the same in words."""

    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]
    height: int
    shift: str
    shift_at: tuple[int, int]
    alt: str


def diagram(fit: Fit) -> Diagram:
    """Environment above, the two hidden things below it, what was measured at the bottom."""
    roles = fit.roles
    names = tuple(roles.environment)
    top = _box("seen", WIDTH // 2, 2, 330, "Environment", "may drive both", _some(names, _WIDE))
    y = top.bottom + _GAP
    content = _box("hidden", _LEFT, y, 210, "Content", "not observed: the true state")
    bias = _box("bias", _RIGHT, y, 210, "Reporting bias", "not observed: in some rows")
    y = content.bottom + _GAP + 8
    proxies = _box(
        "seen", _LEFT, y, 210, "Proxies", "never saw the report", _some(tuple(roles.proxies), _NARROW)
    )
    several = bool(roles.reports)
    what = ("Reports", "of the same truth") if several else ("Outcome", "as reported")
    outcome = _box("seen", _RIGHT, y, 210, *what, _some(roles.report_names, _NARROW))
    sign = "+" if fit.settings.direction == "over" else "−"
    return Diagram(
        boxes=(top, content, bias, proxies, outcome),
        arrows=(
            Arrow("", WIDTH // 2 - 45, top.bottom, _LEFT + 20, content.y),
            Arrow("", WIDTH // 2 + 45, top.bottom, _RIGHT - 20, bias.y),
            Arrow("", _LEFT, content.bottom, _LEFT, proxies.y),
            Arrow("", _LEFT + 60, content.bottom, _RIGHT - 60, outcome.y),
            Arrow("bias", _RIGHT, bias.bottom, _RIGHT, outcome.y),
        ),
        height=max(proxies.bottom, outcome.bottom) + 2,
        shift=f"{sign} alpha",
        shift_at=(_RIGHT + 12, (bias.bottom + outcome.y) // 2 + 4),
        alt=(
            f"Causal diagram. The environment ({', '.join(names) or 'none'}) may drive the unobserved "
            "content and an unobserved reporting bias. The content drives the proxies "
            f"({', '.join(roles.proxies) or 'none'}) and {', '.join(roles.report_names)}. The bias shifts "
            f"{'some of these reports' if several else roles.outcome} only: no arrow leads from it to the "
            "proxies."
        ),
    )


def _box(kind: str, x: int, y: int, width: int, title: str, meaning: str, names: tuple[str, ...] = ()) -> Box:
    foot = _FOOT if names else 4
    return Box(kind, x, y, width, _HEAD + _LINE * len(names) + foot, title, meaning, names)


def _some(names: tuple[str, ...], letters: int) -> tuple[str, ...]:
    """The names that fit; a count stands for the others."""
    shown = [short(" ".join(name.split()), letters) for name in names]
    if len(shown) <= _NAMES:
        return tuple(shown)
    return (*shown[: _NAMES - 1], f"and {len(shown) - _NAMES + 1} more")
