"""The part of JSON Schema that the package's schemas use: enough to say where a value breaks one."""

from __future__ import annotations

import re

KINDS = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}
USED = {
    "$schema", "title", "description", "type", "enum", "anyOf", "properties", "required", "items", "pattern",
    "additionalProperties", "minimum", "exclusiveMinimum", "exclusiveMaximum",
}  # fmt: skip


def broken(value, schema: dict, at: str = "value") -> list[str]:
    """What is wrong with a value, each with its place; nothing where it holds."""
    assert schema.keys() <= USED, schema.keys() - USED
    if "anyOf" in schema:
        return [] if any(not broken(value, one, at) for one in schema["anyOf"]) else [f"{at}: no alternative"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: {value!r} is none of {schema['enum']}"]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        return [f"{at}: {value!r} is no {' or '.join(kinds)}"]
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        return [f"{at}: {value!r} is not {schema['pattern']}"]
    if isinstance(value, list) and "items" in schema:
        return [text for i, item in enumerate(value) for text in broken(item, schema["items"], f"{at}[{i}]")]
    if isinstance(value, dict):
        return _of_object(value, schema, at)
    return _of_number(value, schema, at)


def _is(value, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, KINDS[kind])


def _of_object(value: dict, schema: dict, at: str) -> list[str]:
    wrong = [f"{at}: no {name!r}" for name in schema.get("required", ()) if name not in value]
    known = schema.get("properties", {})
    for name, item in value.items():
        inner = known.get(name, schema.get("additionalProperties", {}))
        wrong += broken(item, inner, f"{at}.{name}")
    return wrong


def _of_number(value, schema: dict, at: str) -> list[str]:
    bounds = {
        "minimum": lambda bound: value >= bound,
        "exclusiveMinimum": lambda bound: value > bound,
        "exclusiveMaximum": lambda bound: value < bound,
    }
    return [
        f"{at}: {value!r} against {name} {schema[name]}"
        for name, holds in bounds.items()
        if name in schema and not holds(schema[name])
    ]
