"""Models and terms as plain values and arrays, and back: what a run folder keeps of a fit.

record -> {"kind": class, field: value}, arrays by their path such as "predictors/0/terms/2/centre"
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from proxycal.engine import content, model, standard, terms
from proxycal.engine.families.binary import Binary
from proxycal.engine.families.counts import Counts
from proxycal.engine.families.normal import Normal
from proxycal.engine.families.reports import Reports

_KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        model.Model,
        model.Predictor,
        terms.Term,
        terms.Ones,
        terms.Numbers,
        terms.Steps,
        terms.Levels,
        terms.Curve,
        terms.Product,
        terms.Together,
        content.Content,
        content.Basis,
        standard.Standard,
        Binary,
        Counts,
        Normal,
        Reports,
    )
}


def kept(record: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A record of the engine as values for JSON, and its arrays.

    >>> values, arrays = kept(terms.constant())
    >>> values["source"], sorted(arrays)
    ({'kind': 'Ones'}, ['centre', 'scale'])
    """
    arrays: dict[str, np.ndarray] = {}
    values: dict[str, Any] = _plain(record, "", arrays)
    return values, arrays


def restored(values: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The reverse of `kept`.

    >>> restored(*kept(Counts("gate", zeros=True)))
    Counts(report='gate', zeros=True, sign=-1.0, noise=0.0)
    """
    return _record(values, "", arrays)


def _plain(value: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, np.ndarray):
        arrays[path] = np.ascontiguousarray(value)
        return {"array": path}
    if is_dataclass(value) and not isinstance(value, type):
        named = [item.name for item in fields(value)]
        inside = {name: _plain(getattr(value, name), _join(path, name), arrays) for name in named}
        return {"kind": type(value).__name__} | inside
    if isinstance(value, tuple):
        return [_plain(item, _join(path, str(at)), arrays) for at, item in enumerate(value)]
    return value


def _record(value: Any, path: str, arrays: dict[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return tuple(_record(item, _join(path, str(at)), arrays) for at, item in enumerate(value))
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    kind = _KINDS[value["kind"]]
    inside = {
        name: _record(item, _join(path, name), arrays) for name, item in value.items() if name != "kind"
    }
    # JSON has no number that is none.
    return kind(**{name: np.nan if item is None else item for name, item in inside.items()})


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name
