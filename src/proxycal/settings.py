"""What a run was asked to do: frozen settings, checked when made, and their TOML file.

    Settings  --to_toml-->  config.toml  --from_toml-->  the same Settings

Every field carries its own rule (a list of choices, or a range), so that one function checks them all and
every message can say what is allowed.
"""

from __future__ import annotations

import dataclasses
import json
import math
import operator
import tomllib
from dataclasses import dataclass, field
from typing import Any

from proxycal.errors import SettingsError


def _choice(default: str, *allowed: str) -> Any:
    return field(default=default, metadata={"allowed": allowed})


def _whole(default: int, low: int) -> Any:
    return field(default=default, metadata={"kind": int, "low": low})


def _real(default: float, low: float, high: float = math.inf) -> Any:
    """A number strictly between `low` and `high`."""
    return field(default=default, metadata={"kind": float, "low": low, "high": high})


def _share(default: float) -> Any:
    """A number of at least 0 and below 1."""
    return field(default=default, metadata={"kind": float, "low": 0.0, "high": 1.0, "from_low": True})


def _flag(default: bool) -> Any:
    return field(default=default, metadata={"kind": bool})


@dataclass(frozen=True, slots=True)
class PaperSettings:
    """Settings of `method="paper"`: the two networks, the groups and the matching.

    d_z : number of content latents. k : neighbours per match.
    cut : how a_hat is split into two groups. prior : p(z|E), p(a|E), or N(0, I) for both.
    encode_environment : whether the encoders see E. beta : weight of the KL terms.
    warmup : share of the steps of stage 2 over which beta rises from 0, against collapse.
    restarts : starts of stage 2, the best is kept.
    variance_learning_rate : of the decoders' variances, which have far to go in few steps.
    min_steps : floor on optimiser steps, since 400 rows at batch 512 for 50 epochs are only 50 steps.
    adjust : regression adjustment of what matching leaves of the distance in content.
    validation : share of the rows (whole clusters, where declared) kept from training; a ninth of the
    training folds makes the 80/10/10 protocol.
    device : where the networks are trained, "auto" for a GPU where torch sees one and else the CPU.

    >>> PaperSettings(k=3).k
    3
    """

    d_z: int = _whole(5, 1)
    k: int = _whole(5, 1)
    cut: str = _choice("mixture", "mixture", "median", "otsu")
    prior: str = _choice("conditional", "conditional", "standard")
    encode_environment: bool = _flag(True)
    norm: str = _choice("batch", "batch", "layer")
    beta: float = _real(1.0, 0.0)
    warmup: float = _share(0.3)
    restarts: int = _whole(2, 1)
    width: int = _whole(256, 1)
    depth: int = _whole(2, 1)
    epochs: int = _whole(50, 1)
    batch_size: int = _whole(512, 2)
    learning_rate: float = _real(1e-3, 0.0)
    variance_learning_rate: float = _real(2e-2, 0.0)
    min_steps: int = _whole(400, 0)
    adjust: bool = _flag(True)
    validation: float = _real(1 / 9, 0.0, 0.5)
    device: str = field(
        default="auto",
        metadata={"allowed": ("auto", "cpu", "cuda", "mps"), "prefix": "cuda:", "placeholder": "NUMBER"},
    )

    def __post_init__(self) -> None:
        _check_fields(self, "paper.")

    @classmethod
    def literal(cls) -> PaperSettings:
        """The published values to the letter: one start, one rate, no warm-up, no step floor.

        >>> PaperSettings.literal().min_steps
        0
        """
        return cls(warmup=0.0, restarts=1, variance_learning_rate=1e-3, min_steps=0, adjust=False)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run was asked to do, apart from the table and its roles.

    >>> print(Settings(method="paper", direction="under").to_toml()[:36])
    method = "paper"
    direction = "under"
    >>> Settings.from_toml('direction = "sideways"')
    Traceback (most recent call last):
      ...
    proxycal.errors.SettingsError: direction = 'sideways' is not known; use one of: "over", "under"
    """

    method: str = _choice("exact", "exact", "paper", "moments")
    direction: str = _choice("over", "over", "under")
    effect: str = field(
        default="constant",
        metadata={"allowed": ("constant", "linear"), "prefix": "by:", "placeholder": "COLUMN"},
    )
    level: float = _real(0.95, 0.0, 1.0)
    interval: str = _choice("sandwich", "sandwich", "bootstrap")
    missing: str = _choice("raise", "raise", "drop", "impute")
    random_state: int = _whole(0, 0)
    n_jobs: int = field(default=1, metadata={"kind": int, "low": -1, "except": 0})
    paper: PaperSettings = field(default_factory=PaperSettings)

    def __post_init__(self) -> None:
        _check_fields(self)

    def to_toml(self) -> str:
        """The settings as a TOML file: plain keys first, then one section per method."""
        plain = [item for item in dataclasses.fields(self) if not _is_section(item)]
        lines = [_toml_line(item.name, getattr(self, item.name)) for item in plain]
        for section in filter(_is_section, dataclasses.fields(self)):
            values = getattr(self, section.name)
            lines += ["", f"[{section.name}]"]
            lines += [
                _toml_line(item.name, getattr(values, item.name)) for item in dataclasses.fields(values)
            ]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> Settings:
        """Read settings back; a key that is missing keeps its default, an unknown one is an error."""
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(
                f"the settings are not valid TOML: {error}; write lines such as level = 0.95"
            ) from error
        return cls.from_dict(found)

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Settings:
        """Settings from plain values, sections as nested dictionaries.

        >>> Settings.from_dict({"level": 0.9, "paper": {"k": 3}}).paper.k
        3
        """
        _refuse_unknown(found, cls, "")
        values = dict(found)
        for section in filter(_is_section, dataclasses.fields(cls)):
            if section.name not in found:
                continue
            if not isinstance(found[section.name], dict):
                raise SettingsError(
                    f"{section.name} must be a section of settings: write [{section.name}] above them"
                )
            kind: Any = section.default_factory
            _refuse_unknown(found[section.name], kind, f"{section.name}.")
            values[section.name] = kind(**found[section.name])
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, sections as nested dictionaries."""
        return dataclasses.asdict(self)


def _is_section(item: dataclasses.Field[Any]) -> bool:
    return item.default_factory is not dataclasses.MISSING


def _refuse_unknown(found: dict[str, Any], kind: Any, prefix: str) -> None:
    known = [item.name for item in dataclasses.fields(kind)]
    unknown = sorted(set(found) - set(known))
    if unknown:
        names = ", ".join(prefix + name for name in unknown)
        raise SettingsError(
            f"unknown setting {names}; known settings: {', '.join(prefix + name for name in known)}"
        )


def _toml_line(name: str, value: str | bool | int | float) -> str:
    # JSON strings, booleans and numbers are TOML as well (repr of a float is exact in both), but for two
    # points: TOML wants characters beyond the BMP bare, not as surrogates, and DEL escaped.
    return f"{name} = " + json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_fields(settings: Any, prefix: str = "") -> None:
    """Check every field against its rule and store numbers as plain int and float."""
    for item in dataclasses.fields(settings):
        name, value = prefix + item.name, getattr(settings, item.name)
        if _is_section(item):
            kind: Any = item.default_factory
            if not isinstance(value, kind):
                raise SettingsError(f"{name} must be a {kind.__name__}, not {value!r}")
        elif "allowed" in item.metadata:
            _check_choice(name, value, item.metadata)
        else:
            object.__setattr__(settings, item.name, _number(name, value, item.metadata))


def _check_choice(name: str, value: Any, rule: Any) -> None:
    prefix = rule.get("prefix")
    if isinstance(value, str):
        if value in rule["allowed"]:
            return
        if prefix and value.startswith(prefix) and len(value) > len(prefix):
            return
    allowed = [f'"{one}"' for one in rule["allowed"]]
    if prefix:
        allowed.append(f'"{prefix}{rule["placeholder"]}"')
    raise SettingsError(f"{name} = {value!r} is not known; use one of: {', '.join(allowed)}")


def _number(name: str, value: Any, rule: Any) -> bool | int | float:
    kind = rule["kind"]
    if kind is bool:
        if not isinstance(value, bool):
            raise SettingsError(f"{name} = {value!r} must be true or false")
        return value
    if isinstance(value, bool):
        raise SettingsError(f"{name} = {value!r} must be a number")
    return _whole_number(name, value, rule) if kind is int else _real_number(name, value, rule)


def _whole_number(name: str, value: Any, rule: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise SettingsError(f"{name} = {value!r} must be a whole number of at least {rule['low']}") from None
    if number < rule["low"] or number == rule.get("except"):
        no = f", but not {rule['except']}" if "except" in rule else ""
        raise SettingsError(f"{name} = {number} must be a whole number of at least {rule['low']}{no}")
    return number


def _real_number(name: str, value: Any, rule: Any) -> float:
    low, high = rule["low"], rule["high"]
    first = "of at least" if rule.get("from_low") else "above"
    between = f"a number {first} {low:g}" + (f" and below {high:g}" if math.isfinite(high) else "")
    try:
        # float("0.9") works too, but a quoted number in a settings file is a slip worth naming.
        number = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (low < number < high or (number == low and rule.get("from_low"))):
        raise SettingsError(f"{name} = {value!r} must be {between}")
    return number
