"""What a run was asked to do: frozen settings, checked when they are created, and their TOML file.

    Settings  --to_toml-->  config.toml  --from_toml-->  the same Settings

Every field carries its own rule (a list of choices, or a range), so that one function checks them all and
every message can say what is allowed. The methods, and the sections of settings of their own, come from the
registry.
"""

from __future__ import annotations

import dataclasses
import json
import math
import operator
import tomllib
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from proxycal.errors import SettingsError
from proxycal.methods.registry import METHODS
from proxycal.table.roles import ROLE_NAMES, Roles
from proxycal.table.surface import choose, in_shell

Direction = Literal["over", "under"]
Missing = Literal["raise", "drop", "impute"]
Interval = Literal["sandwich", "bootstrap"]
Scale = Literal["linear", "log"]
Family = Literal["auto", "normal", "counts", "binary"]
TotalRows = Literal["raise", "keep"]


# A field needs a default where those before it have one; this one is refused.
_UNSTATED = ""


def direction_wanted() -> str:
    """What is said where nobody stated the direction.

    >>> print(direction_wanted().split(": ")[-1])
    pass direction='over' or 'under'
    """
    file = ', or put direction = "over" or "under" in the --config file' if in_shell() else ""
    return (
        "direction is required: data cannot tell over-reporting from under-reporting, so say whether biased "
        f"reports are too high or too low: {choose('direction', 'over', 'under')}{file}"
    )


def sign(direction: str) -> float:
    """+1 where reports are too high, -1 where they are too low.

    >>> sign("over"), sign("under")
    (1.0, -1.0)
    """
    if direction not in ("over", "under"):
        raise SettingsError(f"direction={direction!r} is not known: use 'over' or 'under'.")
    return 1.0 if direction == "over" else -1.0


def choice(default: str, *allowed: str, prefix: str = "", placeholder: str = "") -> Any:
    """One of a few words; with a prefix, also anything that begins with it."""
    rule = {"allowed": allowed, "prefix": prefix, "placeholder": placeholder}
    return field(default=default, metadata=rule)


def whole(default: int, low: int) -> Any:
    """A whole number of at least `low`."""
    return field(default=default, metadata={"kind": int, "low": low})


def real(default: float, low: float, high: float = math.inf) -> Any:
    """A number strictly between `low` and `high`."""
    return field(default=default, metadata={"kind": float, "low": low, "high": high})


def share(default: float) -> Any:
    """A number of at least 0 and below 1."""
    return field(default=default, metadata={"kind": float, "low": 0.0, "high": 1.0, "from_low": True})


def names() -> Any:
    """Names of columns, none by default."""
    return field(default=(), metadata={"kind": tuple})


def flag(default: bool) -> Any:
    """True or false."""
    return field(default=default, metadata={"kind": bool})


class Section:
    """Settings of one method: a frozen dataclass whose fields carry rules; `section` is the method's name."""

    __slots__ = ()
    section: ClassVar[str]

    def __post_init__(self) -> None:
        _check_fields(self, f"{self.section}.")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run was asked to do, apart from the table and its roles.

    Parameters
    ----------
    method : str, default "auto"
        A method of the registry; "auto" is "validated" from 30 validated rows on, else "exact".
    direction : {"over", "under"}
        Which way reports are biased. Required: data cannot tell the two apart.
    scale : {"linear", "log"}, default "linear"
        Whether the bias is added to the outcome, or multiplies it.
    family : {"auto", "normal", "counts", "binary"}, default "auto"
        What kind of outcome it is; "auto" takes small whole numbers as counts and two values as yes and no.
    exclusion : bool, default False
        Whether you state that the environment acts on the truth only through content.
    log_proxies : sequence of str, default ()
        Proxies that are sizes, of which the logarithm is taken.
    effect : {"constant", "linear", "by:COLUMN"}, default "constant"
        How the size of the bias may vary.
    level : float, default 0.95
        Level of all intervals.
    interval : {"sandwich", "bootstrap"}, default "sandwich"
        How the exact method computes its errors.
    missing : {"raise", "drop", "impute"}, default "raise"
        What to do with missing values.
    total_rows : {"raise", "keep"}, default "raise"
        What to do with rows that are totals of other rows: refuse the table, or take them for rows.
    random_state : int, default 0
        Seed of everything random.
    n_jobs : int, default 1
        Processes; -1 for all cores.
    sections : dict, default {}
        Settings of methods by name; a method that is not named keeps its defaults.

    Examples
    --------
    >>> print(Settings(method="paper", direction="under").to_toml()[:36])
    method = "paper"
    direction = "under"
    >>> Settings.from_toml('direction = "sideways"')
    Traceback (most recent call last):
      ...
    proxycal.errors.SettingsError: direction = 'sideways' is not known; use one of: "over", "under"

    """

    method: str = field(default="auto", metadata={"allowed": METHODS})
    direction: str = choice(_UNSTATED, "over", "under")
    scale: str = choice("linear", "linear", "log")
    family: str = choice("auto", "auto", "normal", "counts", "binary")
    exclusion: bool = flag(False)
    log_proxies: tuple[str, ...] = names()
    effect: str = choice("constant", "constant", "linear", prefix="by:", placeholder="COLUMN")
    level: float = real(0.95, 0.0, 1.0)
    interval: str = choice("sandwich", "sandwich", "bootstrap")
    missing: str = choice("raise", "raise", "drop", "impute")
    total_rows: str = choice("raise", "raise", "keep")
    random_state: int = whole(0, 0)
    n_jobs: int = field(default=1, metadata={"kind": int, "low": -1, "except": 0})
    sections: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.direction in (_UNSTATED, None):
            raise SettingsError(direction_wanted())
        _check_fields(self)
        kinds = _section_classes()
        _refuse_unknown(self.sections, list(kinds), "")
        for name, value in self.sections.items():
            if not isinstance(value, kinds[name]):
                raise SettingsError(f"{name} must be a {kinds[name].__name__}, not {value!r}")
        whole_set = {
            name: self.sections[name] if name in self.sections else kind() for name, kind in kinds.items()
        }
        object.__setattr__(self, "sections", whole_set)

    @property
    def factor(self) -> bool:
        """Whether the size of the bias is the logarithm of a factor."""
        return self.scale == "log" or self.method == "counts"

    @property
    def sign(self) -> float:
        """+1 for direction="over", -1 for "under"."""
        return sign(self.direction)

    def section(self, name: str) -> Any:
        """The settings of one method.

        >>> Settings(direction="over").section("paper").k
        5
        """
        return self.sections[name]

    def to_toml(self, roles: Roles | None = None) -> str:
        """The settings as a TOML file: the roles if given, plain keys, then one section per method.

        >>> print(Settings(direction="over").to_toml(Roles("y", ["p"], ["e"])).partition("method")[0], end="")
        outcome = "y"
        proxies = ["p"]
        environment = ["e"]
        """
        given = {} if roles is None else roles.to_dict()
        # Several reports are rare: a file of one does not speak of them.
        kept = {role: columns for role, columns in given.items() if columns or role != "reports"}
        lines = [_toml_line(role, columns) for role, columns in kept.items() if columns is not None]
        lines += [_toml_line(name, getattr(self, name)) for name in _plain_names()]
        for name, values in self.sections.items():
            lines += ["", f"[{name}]"]
            lines += [_toml_line(key, value) for key, value in dataclasses.asdict(values).items()]
        return "\n".join(lines) + "\n"

    @classmethod
    def from_toml(cls, text: str) -> Settings:
        """Read settings back; a missing key keeps its default, if it has one; an unknown one is an error.

        Roles, which `to_toml` may have written as well, are left to who reads roles.
        """
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(
                f"the settings are not valid TOML: {error}; write lines such as level = 0.95"
            ) from error
        return cls.from_dict({name: value for name, value in values.items() if name not in ROLE_NAMES})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Settings:
        """Settings from plain values, sections as nested dictionaries.

        >>> Settings.from_dict({"direction": "over", "paper": {"k": 3}}).section("paper").k
        3
        """
        kinds = _section_classes()
        _refuse_unknown(values, [*_plain_names(), *kinds], "")
        plain = {name: value for name, value in values.items() if name not in kinds}
        sections = {}
        for name, kind in kinds.items():
            if name not in values:
                continue
            if not isinstance(values[name], dict):
                raise SettingsError(f"{name} must be a section of settings: write [{name}] above them")
            _refuse_unknown(values[name], [item.name for item in dataclasses.fields(kind)], f"{name}.")
            sections[name] = kind(**values[name])
        return cls(**plain, sections=sections)

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values, sections as nested dictionaries."""
        values = {name: getattr(self, name) for name in _plain_names()}
        return values | {name: dataclasses.asdict(section) for name, section in self.sections.items()}


def _plain_names() -> list[str]:
    return [item.name for item in dataclasses.fields(Settings) if item.name != "sections"]


def _section_classes() -> dict[str, Any]:
    """The class of every method that has settings of its own, by the method's name."""
    return {name: method.section_class() for name, method in METHODS.items() if method.section}


def _refuse_unknown(values: dict[str, Any], known: list[str], prefix: str) -> None:
    unknown = sorted(set(values) - set(known))
    if unknown:
        names = ", ".join(prefix + name for name in unknown)
        raise SettingsError(
            f"unknown setting {names}; known settings: {', '.join(prefix + name for name in known)}"
        )


def _toml_line(name: str, value: str | bool | int | float | tuple[str, ...]) -> str:
    # JSON strings, booleans and numbers are TOML as well (repr of a float is exact in both), but for two
    # points: TOML wants characters beyond the BMP bare, not as surrogates, and DEL escaped.
    return f"{name} = " + json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _check_fields(settings: Any, prefix: str = "") -> None:
    """Check every field against its rule and store numbers as plain int and float."""
    for item in dataclasses.fields(settings):
        name, value = prefix + item.name, getattr(settings, item.name)
        if "allowed" in item.metadata:
            _check_choice(name, value, item.metadata)
        elif item.metadata:
            object.__setattr__(settings, item.name, _number(name, value, item.metadata))


def _check_choice(name: str, value: Any, rule: Any) -> None:
    prefix = rule.get("prefix")
    if isinstance(value, str):
        if value in rule["allowed"]:
            return
        if prefix and value.startswith(prefix) and len(value) > len(prefix):
            return
    allowed = [f'"{word}"' for word in rule["allowed"]]
    if prefix:
        allowed.append(f'"{prefix}{rule["placeholder"]}"')
    raise SettingsError(f"{name} = {value!r} is not known; use one of: {', '.join(allowed)}")


def _number(name: str, value: Any, rule: Any) -> bool | int | float | tuple[str, ...]:
    kind = rule["kind"]
    if kind is tuple:
        return _names(name, value)
    if kind is bool:
        if not isinstance(value, bool):
            raise SettingsError(f"{name} = {value!r} must be true or false")
        return value
    if isinstance(value, bool):
        raise SettingsError(f"{name} = {value!r} must be a number")
    return _whole_number(name, value, rule) if kind is int else _real_number(name, value, rule)


def _names(name: str, value: Any) -> tuple[str, ...]:
    listed = (value,) if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not all(isinstance(item, str) for item in listed):
        raise SettingsError(f"{name} = {value!r} must be a list of column names")
    return tuple(listed)


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
