"""County boundaries, shipped with the package: the one list of counties that everything is brought to."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

# The plane of the map: width and height of the projection, y downwards.
WIDTH, HEIGHT = 975.0, 610.0
# A triangle, closed.
_FEWEST_POINTS = 4
_DOT = 0.8 * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0]])


@dataclass(frozen=True, slots=True)
class Shape:
    """The outline of one county or state: rings of (k, 2) points on the plane of the map."""

    code: str
    name: str
    rings: tuple[np.ndarray, ...]

    @property
    def centre(self) -> np.ndarray:
        """Middle of the largest ring's box, shape (2,)."""
        ring = max(self.rings, key=lambda one: float(np.prod(np.ptp(one, axis=0))))
        return np.asarray(0.5 * (ring.min(axis=0) + ring.max(axis=0)))


@cache
def counties() -> tuple[Shape, ...]:
    """The 3,142 counties by code.

    >>> len(counties()), counties()[0].code, counties()[0].name
    (3142, '01001', 'Autauga')
    """
    return _shapes("counties")


@cache
def states() -> tuple[Shape, ...]:
    """The 50 states and the District of Columbia by code.

    >>> len(states()), states()[0].name
    (51, 'Alabama')
    """
    return _shapes("states")


@cache
def county_list() -> pd.DataFrame:
    """A row per county, indexed by its code: county, state, x and y of its centre on the map.

    >>> county_list().loc["48301", ["county", "state"]].tolist()
    ['Loving', 'Texas']
    """
    state = {shape.code: shape.name for shape in states()}
    centres = np.array([shape.centre for shape in counties()])
    return pd.DataFrame(
        {
            "county": [shape.name for shape in counties()],
            "state": [state[shape.code[:2]] for shape in counties()],
            "x": centres[:, 0],
            "y": centres[:, 1],
        },
        index=pd.Index([shape.code for shape in counties()], name="fips"),
    )


def _shapes(kind: str) -> tuple[Shape, ...]:
    topology = _topology()
    arcs = _arcs(topology)
    made = []
    for one in topology["objects"][kind]["geometries"]:
        rings = [_ring(arcs, ring) for ring in _rings(one)]
        # At this scale the smallest islands are points, which enclose nothing; of three cities in Virginia
        # nothing else is left, and a dot stands for them.
        drawn = [ring for ring in rings if len(ring) >= _FEWEST_POINTS] or [rings[0].mean(axis=0) + _DOT]
        made.append(Shape(one["id"], one["properties"]["name"], tuple(drawn)))
    return tuple(sorted(made, key=lambda shape: shape.code))


@cache
def _topology() -> dict[str, Any]:
    data = files("proxycal.datasets") / "data" / "counties_albers.json.gz"
    read: dict[str, Any] = json.loads(gzip.decompress(data.read_bytes()))
    return read


def _arcs(topology: dict[str, Any]) -> list[np.ndarray]:
    """Every border once, (k, 2): TopoJSON keeps whole steps from point to point."""
    scale, origin = (np.array(topology["transform"][key]) for key in ("scale", "translate"))
    return [np.cumsum(np.array(arc), axis=0) * scale + origin for arc in topology["arcs"]]


def _rings(geometry: dict[str, Any]) -> list[list[int]]:
    parts = geometry["arcs"] if geometry["type"] == "MultiPolygon" else [geometry["arcs"]]
    return [ring for part in parts for ring in part]


def _ring(arcs: list[np.ndarray], numbers: list[int]) -> np.ndarray:
    """Arcs end to end; ~i is arc i backwards, and each begins where the one before ended."""
    parts = [arcs[i] if i >= 0 else arcs[~i][::-1] for i in numbers]
    return np.concatenate([parts[0], *[part[1:] for part in parts[1:]]])
