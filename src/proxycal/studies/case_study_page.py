"""The interactive map: one HTML file that works offline, with hazard and year switches and a tooltip."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np
from markupsafe import Markup

from proxycal.datasets.county_shapes import HEIGHT, WIDTH, Shape, counties, states
from proxycal.datasets.losses import HAZARDS
from proxycal.studies.case_study_maps import COLOURS, MISSING, NO_EVENT, NO_MATCH
from proxycal.studies.case_study_measures import MEASURES

if TYPE_CHECKING:
    import pandas as pd

_DOLLARS = ("reported", "calibrated", "calibrated_low", "calibrated_high")
# On a dark page, dark to light: the first is lighter than the darkest in print, so that a county with an
# event does not look like one without.
NIGHT = ("#3d5a94", "#6f7480", "#938d76", "#bcae6c", "#f6e15b")


def render(table: pd.DataFrame, year: int, note: str) -> str:
    """The page of a county table (see case_study.py), opened at `year`.

    note : one line on where the losses come from.
    """
    text = (files("proxycal.studies") / "data" / "case_study.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    years = sorted(int(value) for value in table["year"].unique())
    hazards = [hazard for hazard in HAZARDS if (table["hazard"] == hazard).any()]
    # Paths are digits and letters of our own making.
    drawn = "\n".join(f'<path id="c{shape.code}" d="{_path(shape)}"/>' for shape in counties())
    outlines = " ".join(_path(shape) for shape in states())
    json_text = _script(_data(table, hazards))
    paths = Markup(drawn)  # nosec B704
    borders = Markup(outlines)  # nosec B704
    data = Markup(json_text)  # nosec B704 # its < is escaped
    return environment.from_string(text).render(
        note=note,
        hazards=hazards,
        years=years,
        year=year,
        box=f"-60 0 {WIDTH + 60:g} {HEIGHT:g}",
        paths=paths,
        borders=borders,
        colours=COLOURS,
        night=NIGHT,
        no_event=NO_EVENT,
        no_match=NO_MATCH,
        missing=MISSING,
        measures=MEASURES,
        data=data,
    )


def _data(table: pd.DataFrame, hazards: list[str]) -> dict[str, Any]:
    """What the page's script reads: names of the counties, and numbers by hazard, year and county."""
    steps = [measure.steps(measure.of(table)) for measure in MEASURES]
    rows: dict[str, dict[str, dict[str, list[float | int | str | None]]]] = {}
    for row, *step in zip(table.to_dict("records"), *steps, strict=True):
        known = bool(np.isfinite(row["tau_abs"]))
        values: list[float | int | str | None] = [
            *[round(float(row[name])) for name in _DOLLARS],
            round(float(row["p_biased"]), 3) if np.isfinite(row["p_biased"]) else None,
            round(float(row["tau"]), 2) if known else None,
            *step,
        ]
        rows.setdefault(row["hazard"], {}).setdefault(str(row["year"]), {})[row["fips"]] = values
    state = {shape.code: shape.name for shape in states()}
    verdicts = table.groupby("hazard")["verdict"].first()
    return {
        "names": {shape.code: f"{shape.name}, {state[shape.code[:2]]}" for shape in counties()},
        "verdicts": {hazard: str(verdicts[hazard]) for hazard in hazards},
        "measures": [
            {"title": measure.title, "words": measure.words, "unknown": measure.unknown}
            for measure in MEASURES
        ],
        "missing": MISSING,
        "rows": rows,
    }


def _script(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.replace("<", "\\u003c")


def _path(shape: Shape) -> str:
    """An SVG path with steps of a tenth of a unit, which is finer than a screen shows."""
    parts = []
    for ring in shape.rings:
        points = np.round(ring[:-1] * 10).astype(int)
        steps = np.diff(points, axis=0)
        steps = steps[np.any(steps != 0, axis=1)]
        tail = "".join(f"l{_tenth(x)} {_tenth(y)}" for x, y in steps.tolist())
        parts.append(f"M{_tenth(int(points[0, 0]))} {_tenth(int(points[0, 1]))}{tail}Z")
    return "".join(parts)


def _tenth(value: int) -> str:
    return f"{value / 10:g}"
