"""JSON Schemas of what `--json` prints, of settings, and of the files of a run folder.

Keys are added, never taken away or given another meaning, within a major version: who reads them ignores what
is new. Numbers that are not finite are null.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from proxycal.errors import SettingsError
from proxycal.settings import Settings
from proxycal.table.roles import LIST_ROLES, Roles

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_TEXT, _WHOLE, _FLAG = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
_NUMBER = {"type": ["number", "null"]}
_MAYBE_TEXT = {"type": ["string", "null"]}
_VERDICT = {"enum": ["bias found", "no bias found", "not identified"]}
_PATH = {"type": "string", "description": "as it was given"}


def _list(of: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """An object with these keys; it may have more."""
    return {"type": "object", "properties": required | (optional or {}), "required": list(required)}


_FINDING = _object(
    {"question": _TEXT, "statistic": _TEXT, "reading": _TEXT, "remedy": _TEXT, "ok": _FLAG, "topic": _TEXT,
     "value": {}, "must_fix": _FLAG}
)  # fmt: skip
_ESTIMATE = _object(
    {"name": _TEXT, "alpha": _NUMBER, "se": _NUMBER, "low": _NUMBER, "high": _NUMBER, "note": _TEXT}
)
_TOTAL = _object(
    {"rows": _WHOLE, "reported": _NUMBER, "calibrated": _NUMBER, "low": _NUMBER, "high": _NUMBER,
     "change_pct": _NUMBER}
)  # fmt: skip
_BAND = _object(
    {"rows": _WHOLE, "reported": _NUMBER, "low": _NUMBER, "high": _NUMBER, "lowest": _NUMBER,
     "highest": _NUMBER, "assumption": _TEXT}
)  # fmt: skip
_BANDS = _object(
    {"assumption": _TEXT, "by": _MAYBE_TEXT, "verdict": _VERDICT, "totals": _list(_BAND)}, {"out": _PATH}
)
_DRIFT = _object(
    {"column": _TEXT, "what": _TEXT, "size": _NUMBER, "shift": _NUMBER, "p": _NUMBER, "detail": _TEXT}
)
_LOOKED = _object(
    dict.fromkeys(("name", "kind", "span", "example", "unit", "role", "why"), _TEXT) | {"missing": _WHOLE}
)
_RESULT = {
    "verdict": _VERDICT, "alpha": _NUMBER, "se": _NUMBER, "low": _NUMBER, "high": _NUMBER,
    "scale": {"enum": ["linear", "log"]}, "level": _NUMBER, "share_biased": _NUMBER, "rows": _WHOLE,
    "formula": _TEXT, "method": _TEXT, "direction": {"enum": ["over", "under"]}, "seed": _WHOLE,
    "estimates": _list(_ESTIMATE), "findings": _list(_FINDING),
}  # fmt: skip
_RATIO = {"ratio": _NUMBER, "ratio_low": _NUMBER, "ratio_high": _NUMBER}
_REFIT = _object(
    {"change": _TEXT, "alpha": _NUMBER, "se": _NUMBER, "low": _NUMBER, "high": _NUMBER,
     "share_biased": _NUMBER,
     "verdict": _TEXT, "note": _TEXT}
)  # fmt: skip
_SIZE = _object(
    {
        "alpha": _NUMBER,
        "size": _NUMBER,
        "chance": _NUMBER,
        "low": _NUMBER,
        "high": _NUMBER,
        "repetitions": _WHOLE,
    }
)


_REPORTER = _object(
    {
        "reporter": _TEXT,
        "n": _WHOLE,
        "rank": _WHOLE,
        **dict.fromkeys(("p_biased", "size", "low", "high", "q_value"), _NUMBER),
    }
)


def _roles() -> dict[str, Any]:
    fields = {role.name: role for role in dataclasses.fields(Roles)}
    kinds = {name: _list(_TEXT) if name in LIST_ROLES else _MAYBE_TEXT for name in fields}
    kinds["outcome"] = {"type": ["string", "array"], "items": _TEXT}
    described = {name: kind | {"description": fields[name].metadata["what"]} for name, kind in kinds.items()}
    first = {"outcome": described.pop("outcome")}
    return _object(first, described)


def _settings() -> dict[str, Any]:
    """The keys of run.toml and of config.toml: roles, settings, and the sections of methods."""
    values = {
        field.name: _setting(field.metadata)
        for field in dataclasses.fields(Settings)
        if field.default_factory is dataclasses.MISSING
    }
    chosen = Settings(direction="over").sections
    sections = {name: _object({}, _section(type(section))) for name, section in chosen.items()}
    return _object({}, _roles()["properties"] | values | sections | {"out": _TEXT})


def _section(kind: Any) -> dict[str, Any]:
    return {item.name: _setting(item.metadata) for item in dataclasses.fields(kind)}


def _setting(rule: Any) -> dict[str, Any]:
    """A setting by its rule, the same that checks it."""
    if "allowed" in rule:
        words: dict[str, Any] = {"enum": list(rule["allowed"])}
        prefix = rule.get("prefix")
        return {"anyOf": [words, {"type": "string", "pattern": f"^{prefix}.+"}]} if prefix else words
    kind = rule.get("kind", str)
    if kind is tuple:
        return _list(_TEXT)
    if kind is bool:
        return _FLAG
    low, high = rule.get("low", -math.inf), rule.get("high", math.inf)
    least = "minimum" if kind is int or rule.get("from_low") else "exclusiveMinimum"
    bounds = {least: low} | ({} if math.isinf(high) else {"exclusiveMaximum": high})
    return {"type": "integer" if kind is int else "number"} | bounds


def _outputs() -> dict[str, dict[str, Any]]:
    """What commands print with --json."""
    calibrated = {"verdict": _VERDICT, "rows": _WHOLE, "out": _PATH, "tables": _WHOLE, "files": _list(_TEXT),
                  "unanswered": _WHOLE, "resumed": _WHOLE}  # fmt: skip
    difference = _object({"part": _TEXT, "what": _TEXT, "first": _TEXT, "second": _TEXT})
    audit = _object(
        {"rows": _WHOLE, "out": _PATH},
        {"reading": _TEXT, "ratio": _NUMBER, "random": _FLAG, "validated": _WHOLE},
    )
    return {
        "audit": audit,
        "band": _BANDS,
        "calibrate": _object(calibrated, {"drift": _list(_DRIFT)}),
        "check": _object(
            {
                "table": _PATH,
                "rows": _WHOLE,
                "ok": _FLAG,
                "understood": _TEXT,
                "must_fix": _WHOLE,
                "next": _list(_TEXT),
                "findings": _list(_FINDING),
            }
        ),
        "demo": _object({**_RESULT, "truth": _object({}), "run": _PATH, "report": _PATH}, _RATIO),
        "diff": _object({"first": _PATH, "second": _PATH, "same": _FLAG, "differences": _list(difference)}),
        "drift": _object(
            {"compared": _WHOLE, "known": _WHOLE, "fitted": _WHOLE, "columns": _list(_DRIFT)}, {"out": _PATH}
        ),
        "export": _object(
            {"verdict": _VERDICT, "sql": _TEXT, "from": _TEXT, "view": _TEXT},
            {"out": _PATH, "statement": _TEXT},
        ),
        "fit": _object({**_RESULT, "run": _PATH, "report": _PATH}, _RATIO),
        "impute": _object(
            {"verdict": _VERDICT, "rows": _WHOLE, "unanswered": _WHOLE, "out": _PATH, "files": _list(_TEXT)}
        ),
        "look": _object(
            {
                "path": _PATH,
                "rows": _WHOLE,
                "columns": _list(_LOOKED),
                "understood": _TEXT,
                "totals": _TEXT,
                "sheet": _TEXT,
                "sheets": _list(_object({})),
                "preview": _list(_list(_TEXT)),
                "next": _list(_TEXT),
            }
        ),
        "memo": _object({"memo": _PATH, "verdict": _VERDICT}),
        "power": _object({"detectable": _NUMBER, "sd": _NUMBER, "reading": _TEXT, "sizes": _list(_SIZE)}),
        "refute": _object(
            {
                "kind": _TEXT,
                "refits": _list(_REFIT),
                "statistic": _TEXT,
                "value": _NUMBER,
                "reading": _TEXT,
                "ok": _FLAG,
            }
        ),
        "report": _object({"report": _PATH}, {"pdf": _PATH}),
        "reporters": _object({"verdict": _VERDICT, "reporters": _list(_REPORTER)}, {"out": _PATH}),
        "simulate": _object({"table": _PATH, "truth": _PATH, "rows": _WHOLE, "roles": _roles()}),
        "totals": _object(
            {
                "verdict": _VERDICT,
                "statistic": {"enum": ["total", "mean"]},
                "by": _MAYBE_TEXT,
                "level": _NUMBER,
                "totals": _list(_TOTAL),
            },
            {"out": _PATH, "drift": _list(_DRIFT)},
        ),
    }


def _files() -> dict[str, dict[str, Any]]:
    """What files hold."""
    file = _object({"sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}, "bytes": _WHOLE})
    return {
        "settings": _settings(),
        "run-manifest": _object(
            {"format": _WHOLE, "files": {"type": "object", "additionalProperties": file}}
        ),
        "run-results": _object(
            {
                "verdict": _VERDICT,
                "alpha": _NUMBER,
                "alpha_se": _NUMBER,
                "share_biased": _NUMBER,
                "n": _WHOLE,
                "estimates": _list(_ESTIMATE),
                "findings": _list(_FINDING),
            }
        ),
        "run-roles": _roles(),
        "run-versions": {"type": "object", "additionalProperties": _TEXT, "required": ["proxycal"]},
    }


def names() -> list[str]:
    """The names of the schemas: commands, "settings", and files of a run folder.

    >>> "fit" in names(), "settings" in names()
    (True, True)
    """
    return sorted(_outputs() | _files())


def schema_of(name: str) -> dict[str, Any]:
    """One schema, whole.

    >>> schema_of("memo")["required"]
    ['memo', 'verdict']
    """
    known = _outputs() | _files()
    if name not in known:
        raise SettingsError(f"there is no schema {name!r}: use one of {', '.join(sorted(known))}")
    title = f"proxycal {name} --json" if "run" not in name and name != "settings" else f"proxycal {name}"
    return {"$schema": _DRAFT, "title": title, **known[name]}
