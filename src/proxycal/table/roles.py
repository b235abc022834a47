"""Roles: which column of the table plays which part in the method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from proxycal.errors import RolesError

# Roles of several columns; every other role is one column.
LIST_ROLES = ("proxies", "environment", "reports")
# Roles that go with a single report: of several, each is a check on the others.
SINGLE_REPORT_ROLES = ("truth", "trusted", "inclusion", "exposure")


def _role(option: str, what: str, label: str = "", **default: Any) -> Any:
    """A role, with its words for the shell (help of the option) and for the page (label, and what it is)."""
    return field(metadata={"option": option, "what": what, "label": label}, **default)


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns of a table by the part they play; checked once, then never changed.

    outcome      the measurement y_obs that may carry a reporting bias; or a list of several reports of the
                 same truth, blank where not made: the first is the outcome, the others are `reports`.
                 Proxies and environment may then be left out
    proxies      measurements that see the content and never the bias
    environment  covariates that drive both the content and the bias
    weights      optional: sampling weights above 0, in any unit: how the rows compare, not how many there are
    counts       optional: how many equal rows each row stands for, whole numbers of at least 1. A count of 2
                 is that row twice. Where rows stand for more than 20,000, counts are weights to the checks of
                 the exact method, and a verdict on the border may be another
    cluster      optional: rows that belong together (for errors and intervals)
    id           optional: a name for each row, used when matches are shown
    truth        optional: the true value where it was validated, missing elsewhere
    trusted      optional: True (or 1) where the report is known to be free of the bias, False, 0 or blank
    elsewhere
    exposure     optional: what a count is in proportion to, such as person-years or inhabitants
    checked      optional, counts and yes/no: how many true events (or answers) of the row's kind were
    checked, 0 or blank elsewhere; where too much is reported, how many reported ones
    confirmed    optional: how many of the checked ones were reported, or are true
    inclusion    optional: the probability with which the audit chose each validated row, as `plan_audit`
    gives it
    reports      optional: further reports of the same truth, the same as more names in `outcome`

    >>> roles = Roles(outcome="loss", proxies=["built", "veg"], environment=["income", "hazard"])
    >>> roles.columns
    ('loss', 'built', 'veg', 'income', 'hazard')
    >>> Roles(outcome="loss", proxies=["loss"], environment=["income"])
    Traceback (most recent call last):
        ...
    proxycal.errors.RolesError: column 'loss' has two roles, outcome and proxies: keep one of them
    >>> several = Roles(outcome=["own", "register"], environment=["income"])
    >>> several.outcome, several.reports
    ('own', ('register',))
    """

    outcome: str = _role(
        "Column that may carry the reporting bias; several reports of the same truth: a,b",
        "the reported number that may be biased",
    )
    proxies: Sequence[str] = _role(
        "Columns that measure the content and are free of the reporting bias: a,b",
        "another measurement of the same thing that never saw the report",
        label="proxy",
        default=(),
    )
    environment: Sequence[str] = _role(
        "Columns that may affect both the content and the bias: c,d",
        "circumstances that may drive both the true value and the bias: income, region, hazard",
        default=(),
    )
    weights: str | None = _role(
        "Column of sampling weights, in any unit.",
        "sampling weights: how much each row counts beside the others, in any unit",
        default=None,
    )
    counts: str | None = _role(
        "Column that says how many equal rows each row stands for: whole numbers.",
        "how many equal rows this one stands for",
        default=None,
    )
    cluster: str | None = _role(
        "Column that says which rows belong together.",
        "rows that belong together: a county, a household",
        default=None,
    )
    id: str | None = _role(
        "Column that identifies the rows.",
        "identifies the row",
        default=None,
    )
    truth: str | None = _role(
        "Column of true values, filled in where a row was validated.",
        "the true value, in the rows where it is known",
        default=None,
    )
    trusted: str | None = _role(
        "Column that is true where a report is known to be free of the bias, false or blank elsewhere.",
        "says which reports are known to be free of the bias: true or 1 there, blank elsewhere",
        default=None,
    )
    exposure: str | None = _role(
        "Column that a count is in proportion to: person-years, visits, inhabitants.",
        "what a count is in proportion to: person-years, visits, inhabitants",
        default=None,
    )
    checked: str | None = _role(
        "Column that says how many true events of the row's kind were checked (counts, yes/no).",
        "how many true events of this row's kind were checked",
        default=None,
    )
    confirmed: str | None = _role(
        "Column that says how many of the checked events were reported correctly.",
        "how many of the checked events were reported correctly",
        default=None,
    )
    inclusion: str | None = _role(
        "Column of the probabilities with which validated rows were chosen, as `proxycal audit` wrote them.",
        "how likely each validated row was to be chosen",
        default=None,
    )
    reports: Sequence[str] = _role(
        "Further reports of the same truth: the same as several names in --outcome.",
        "a further report of the same truth, by somebody else",
        label="report",
        default=(),
    )

    if TYPE_CHECKING:
        # What the constructor takes; the field `outcome` itself is always the name of one column.
        def __init__(
            self,
            outcome: str | Sequence[str],
            proxies: Sequence[str] = (),
            environment: Sequence[str] = (),
            weights: str | None = None,
            counts: str | None = None,
            cluster: str | None = None,
            id: str | None = None,
            truth: str | None = None,
            trusted: str | None = None,
            exposure: str | None = None,
            inclusion: str | None = None,
            reports: Sequence[str] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        if isinstance(self.outcome, (list, tuple)):
            if not self.outcome:
                raise RolesError("outcome is empty: name the column of the report, or of several reports")
            first, *further = _names("outcome", self.outcome)
            object.__setattr__(self, "outcome", first)
            object.__setattr__(self, "reports", (*further, *self.reports))
        for role in LIST_ROLES:
            object.__setattr__(self, role, _names(role, getattr(self, role)))
        self._refuse_empty()
        for role in SINGLE_ROLES:
            name = getattr(self, role)
            if name is not None or role == "outcome":
                _check_name(role, name)
        if (self.checked is None) != (self.confirmed is None):
            raise RolesError(
                "checked and confirmed belong together: name the column of how many were checked, and that "
                "of how many of them were confirmed"
            )
        taken: dict[str, str] = {}
        for role, name in self:
            if taken.get(name) == role:
                raise RolesError(f"column {name!r} is listed twice in {role}: list it once")
            if name in taken:
                raise RolesError(f"column {name!r} has two roles, {taken[name]} and {role}: keep one of them")
            taken[name] = role

    def _refuse_empty(self) -> None:
        """Refuse what a single report cannot do without, and what several have no use for."""
        for role in ("proxies", "environment"):
            if not getattr(self, role) and not self.reports:
                why = "see the content without the bias" if role == "proxies" else "drive the bias"
                raise RolesError(
                    f"{role} is empty: name at least one column; without columns that {why} nothing can be "
                    "said of a single report"
                )
        for role in SINGLE_REPORT_ROLES:
            if self.reports and getattr(self, role) is not None:
                raise RolesError(
                    f"role {role} goes with a single outcome: leave it out, or keep one of the reports "
                    f"{', '.join(map(repr, self.report_names))}"
                )

    @property
    def report_names(self) -> tuple[str, ...]:
        """The columns of all reports, the outcome first.

        >>> Roles(["own", "register"]).report_names
        ('own', 'register')
        """
        return (self.outcome, *self.reports)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Pairs (role, column) in a fixed order."""
        for role in ROLE_NAMES:
            value = getattr(self, role)
            if role in LIST_ROLES:
                yield from ((role, name) for name in value)
            elif value is not None:
                yield role, value

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that has a role, in a fixed order."""
        return tuple(name for _, name in self)

    @property
    def text(self) -> tuple[str, ...]:
        """Columns to read from a file as text, so that an id such as "01001" keeps its zero.

        >>> Roles("y", ["p"], ["e"], id="county").text
        ('county',)
        """
        return tuple(name for name in (self.id, self.cluster) if name is not None)

    def to_dict(self) -> dict[str, Any]:
        """The roles as plain JSON values.

        >>> Roles("y", ["p"], ["e"]).to_dict()["proxies"]
        ['p']
        """
        return {
            role: list(getattr(self, role)) if role in LIST_ROLES else getattr(self, role)
            for role in ROLE_NAMES
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Roles:
        """Rebuild roles from `to_dict`.

        >>> Roles.from_dict(Roles("y", ["p"], ["e"], cluster="c").to_dict()).cluster
        'c'
        """
        if not isinstance(state, dict):
            raise RolesError(f"roles need a mapping of role to column, not {type(state).__name__}")
        unknown = sorted(str(role) for role in state if role not in ROLE_NAMES)
        absent = [role for role in ("outcome", "proxies", "environment") if role not in state]
        if unknown or absent:
            wrong = f"unknown {', '.join(map(repr, unknown))}" if unknown else f"no {', '.join(absent)}"
            raise RolesError(f"these roles cannot be read ({wrong}): the roles are {', '.join(ROLE_NAMES)}")
        return cls(**state)


def _names(role: str, value: Any) -> tuple[str, ...]:
    """A list of column names as a tuple; what is not a list of names is refused."""
    if isinstance(value, str | bytes):
        raise RolesError(
            f"{role} must be a list of column names, not the bare text {value!r}: write [{value!r}]"
        )
    if value is None or not isinstance(value, Iterable):
        raise RolesError(f"{role} must be a list of column names, not {value!r}")
    if isinstance(value, AbstractSet):
        raise RolesError(f"{role} was given as a set, which has no order: write it as a list")
    names = tuple(value)
    for name in names:
        _check_name(role, name)
    return names


def _check_name(role: str, name: Any) -> None:
    if not isinstance(name, str):
        raise RolesError(
            f"{role} holds {name!r} ({type(name).__name__}), but a column name must be text: "
            "rename the columns, for instance with df.columns = df.columns.astype(str)"
        )
    if not name.strip():
        raise RolesError(f"{role} holds a blank column name: write the name of the column")


ROLE_NAMES = tuple(role.name for role in fields(Roles))
SINGLE_ROLES = tuple(name for name in ROLE_NAMES if name not in LIST_ROLES)
