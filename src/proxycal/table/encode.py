"""A table and its roles -> arrays. The encoder is fitted on training rows and reused unchanged on others."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from proxycal.errors import StoreError
from proxycal.result import Finding
from proxycal.table.checked import checked_of
from proxycal.table.codes import CategoryCode, Code, NumberCode, code_from_dict, fit_codes
from proxycal.table.exposure import exposure_of
from proxycal.table.frames import column_names
from proxycal.table.reports import with_reports
from proxycal.table.require import (
    Missing,
    ReadTable,
    counts_of,
    inclusion_of,
    outcome_of,
    read_table,
    refuse_empty,
    refuse_negative,
    refuse_other_proxies,
    require_read,
    rows_kept,
    truth_of,
    weights_of,
)
from proxycal.table.roles import Roles
from proxycal.table.small_counts import refuse_small_counts
from proxycal.table.trusted import trusted_of
from proxycal.table.wording import columns_named, counted, shown

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray


# Fields of rows that a table need not have, and all fields of rows.
_KNOWN = ("cluster", "truth", "inclusion", "counts", "trusted")
OPTIONAL = (*_KNOWN, "exposure", "reports", "checked", "confirmed")
OF_ROWS = ("y", "P", "E", "weights", *OPTIONAL)


@dataclass(frozen=True, slots=True)
class Arrays:
    """What the estimators see of a table: n kept rows of N.

    y            (n,) the outcome in its own units; None when it was not asked for
    P            (n, p) proxies: numbers standardised on the training rows, levels as 0/1 without the first
    E            (n, q) environment, encoded in the same way
    weights      (n,) how many rows each stands for: counts, times sampling weights scaled to mean one
    cluster      (n,) integer codes, or None
    truth        (n,) the validated value, NaN where there is none; None without such a column
    kept         (N,) bool, the rows of the question that are here
    proxy_names, environment_names            the encoded columns, such as "income" or "hazard=flood"
    proxy_source, environment_source          the original column of each encoded one
    proxy_categorical, categorical            whether an encoded column of P (of E) is 0/1
    levels       {column: (n,) position in level_names[column]} for each categorical environment column
    level_names  {column: its levels}
    inclusion    (n,) probability with which a validated row was chosen, NaN elsewhere; None without such a
    column
    counts       (n,) how many equal rows each stands for; None without such a column
    trusted      (n,) True where the report is known to be free of the bias; None without such a column
    exposure     (n,) what a count is in proportion to, above 0; None without such a column
    reports      (n, R) several reports of the truth, NaN where not made; y is the first that was made
    report_names (R,) the columns of the reports; empty where there is one outcome
    checked, confirmed   (n,) how many events were checked, and how many of them confirmed; None without them
    """

    y: NDArray[np.float64] | None
    P: NDArray[np.float64]
    E: NDArray[np.float64]
    weights: NDArray[np.float64]
    cluster: NDArray[np.int64] | None
    truth: NDArray[np.float64] | None
    kept: NDArray[np.bool_]
    proxy_names: tuple[str, ...]
    environment_names: tuple[str, ...]
    levels: dict[str, NDArray[np.int64]]
    level_names: dict[str, tuple[str, ...]]
    environment_source: tuple[str, ...]
    categorical: tuple[bool, ...]
    proxy_source: tuple[str, ...]
    proxy_categorical: tuple[bool, ...]
    inclusion: NDArray[np.float64] | None = None
    counts: NDArray[np.float64] | None = None
    trusted: NDArray[np.bool_] | None = None
    exposure: NDArray[np.float64] | None = None
    reports: NDArray[np.float64] | None = None
    report_names: tuple[str, ...] = ()
    checked: NDArray[np.float64] | None = None
    confirmed: NDArray[np.float64] | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.P)

    @property
    def stand_for(self) -> float:
        """Number of rows that these stand for."""
        return float(self.n) if self.counts is None else float(self.counts.sum())

    @property
    def validated(self) -> int:
        """Number of rows whose truth is known."""
        return 0 if self.truth is None else int(np.isfinite(self.truth).sum())

    def rows_of(self, rows: NDArray[np.intp]) -> dict[str, Any]:
        """The fields that have a value for each row, of some of them."""
        parts = {name: getattr(self, name) for name in OF_ROWS}
        return {name: None if values is None else values[rows] for name, values in parts.items()}

    def take(self, rows: NDArray[np.intp]) -> Arrays:
        """Some of the rows, by position, as if only they had been asked about."""
        return replace(
            self,
            **self.rows_of(rows),
            kept=np.ones(len(rows), dtype=bool),
            levels={name: codes[rows] for name, codes in self.levels.items()},
        )


@dataclass(frozen=True, slots=True)
class Encoder:
    """The fitted translation of a table into `Arrays`; a frozen record that is plain JSON.

    Numbers are centred and divided by their standard deviation (weighted, if there are weights); text,
    categories and True/False become 0/1 columns, one for each level but the first in text order. Columns
    that were constant are left out and named in `dropped`. A level that was not there at `fit` is an
    error at `transform`, always. missing="impute" puts the median of the training rows for a missing
    number, with a 0/1 column "name=missing" if training rows had gaps, and makes missing a level of its
    own for categories; the outcome is never imputed.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"y": range(40), "p": range(40), "e": ["a", "b"] * 20})
    >>> encoder = Encoder.fit(table, Roles("y", ["p"], ["e"]))
    >>> arrays = encoder.transform(table)
    >>> arrays.environment_names, arrays.E[:3, 0]
    (('e=b',), array([0., 1., 0.]))
    >>> Encoder.from_dict(encoder.to_dict()) == encoder
    True
    """

    roles: Roles
    missing: Missing
    proxies: tuple[Code, ...]
    environment: tuple[Code, ...]
    dropped: tuple[str, ...]
    rows_seen: int
    rows_kept: int
    gaps: tuple[tuple[str, int], ...]
    scale: str = "linear"

    @classmethod
    def fit(
        cls,
        frame: Any,
        roles: Roles,
        missing: Missing = "raise",
        scale: str = "linear",
        log_proxies: Collection[str] = (),
    ) -> Encoder:
        """Learn the translation from these rows alone; raises what `require` raises.

        scale : "log" where the outcome must not be negative. log_proxies : of which the logarithm is taken.
        """
        refuse_other_proxies(log_proxies, roles)
        return cls._learn(_read_roles(frame, roles), roles, missing, scale, log_proxies)

    @classmethod
    def _learn(
        cls, table: ReadTable, roles: Roles, missing: Missing, scale: str, log_proxies: Collection[str]
    ) -> Encoder:
        refuse_empty(table, roles)
        kept = rows_kept(table, roles, missing)
        require_read(table, roles, kept)
        if scale == "log":
            refuse_negative(table, roles)
            refuse_small_counts(outcome_of(table, roles)[kept], roles.outcome)
        weights = row_weights(counts_of(table, roles)[kept], weights_of(table, roles)[kept])
        covariates = [table.columns[name].take(kept) for name in (*roles.proxies, *roles.environment)]
        codes = fit_codes(covariates, weights, missing == "impute", log_proxies)
        gaps = {name: int(table.columns[name].missing.sum()) for name in (roles.outcome, *codes)}
        return cls(
            roles=roles,
            missing=missing,
            proxies=tuple(codes[name] for name in roles.proxies if codes[name].suffixes),
            environment=tuple(codes[name] for name in roles.environment if codes[name].suffixes),
            dropped=tuple(name for name, code in codes.items() if not code.suffixes),
            rows_seen=table.n,
            rows_kept=int(kept.sum()),
            gaps=tuple((name, count) for name, count in gaps.items() if count),
            scale=scale,
        )

    @classmethod
    def fit_transform(
        cls,
        frame: Any,
        roles: Roles,
        missing: Missing = "raise",
        scale: str = "linear",
        log_proxies: Collection[str] = (),
    ) -> tuple[Encoder, Arrays]:
        """Learn the translation from these rows, and translate them.

        A truth column without a single truth is as good as none.
        """
        refuse_other_proxies(log_proxies, roles)
        table = _read_roles(frame, roles)
        encoder = cls._learn(table, roles, missing, scale, log_proxies)
        arrays = encoder._translate(table, outcome=True)
        return encoder, arrays if arrays.validated else replace(arrays, truth=None)

    def transform(self, frame: Any, outcome: bool = True, design: bool = True) -> Arrays:
        """Translate rows, new or old, with what was learned at `fit`.

        `outcome=False` does without the outcome column. Truth, its inclusion probability and trust are
        read where the table has them; weights, counts and cluster too, but not with `design=False`; the id
        never.
        """
        return self._translate(self._read(frame, outcome, design), outcome)

    def _translate(self, table: ReadTable, outcome: bool) -> Arrays:
        kept = rows_kept(table, self.roles, self.missing, outcome)
        if self.scale == "log" and outcome:
            refuse_negative(table, self.roles)
        y = outcome_of(table, self.roles)[kept] if outcome else None
        counts = counts_of(table, self.roles)[kept]
        checked, confirmed = checked_of(table, self.roles)
        known: dict[str, Any] = {
            "cluster": table.cluster, "truth": truth_of(table, self.roles), "checked": checked,
            "inclusion": inclusion_of(table, self.roles), "trusted": trusted_of(table, self.roles),
            "exposure": exposure_of(table, self.roles), "confirmed": confirmed,
            "reports": table.reports if outcome else None,
        }  # fmt: skip
        names = self.encoded_names()
        categories = [code for code in self.environment if isinstance(code, CategoryCode)]
        return Arrays(
            y=y,
            P=_encode(self.proxies, table, kept),
            E=_encode(self.environment, table, kept),
            weights=row_weights(counts, weights_of(table, self.roles)[kept]),
            **{name: None if values is None else values[kept] for name, values in known.items()},
            kept=kept,
            proxy_names=names[: len(_sources(self.proxies))],
            environment_names=names[len(_sources(self.proxies)) :],
            levels={c.name: c.positions(table.columns[c.name], table.index, kept) for c in categories},
            level_names={c.name: c.level_names for c in categories},
            environment_source=_sources(self.environment),
            categorical=tuple(flag for code in self.environment for flag in code.categorical),
            proxy_source=_sources(self.proxies),
            proxy_categorical=tuple(flag for code in self.proxies for flag in code.categorical),
            counts=counts if self.roles.counts in table.columns else None,
            report_names=self.roles.report_names if self.roles.reports else (),
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the encoder had to do to the table: columns left out, rows dropped, values filled in."""
        made = []
        if self.dropped:
            made.append(
                Finding(
                    "Does every column vary?",
                    f"{counted(len(self.dropped), 'constant column')} of {len(self.roles.columns)}",
                    f"One value in all rows used, so left out: {columns_named(self.dropped)}.",
                    "Remove it from the roles, or add rows in which it varies.",
                    ok=False,
                    topic="constant",
                    value=float(len(self.dropped)),
                )
            )
        if self.rows_kept < self.rows_seen:
            made.append(self._dropped_rows())
        elif self.gaps:
            made.append(self._imputed())
        return tuple(made)

    def environment_values(self, name: str, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Encoded values (m,) of a numeric environment column in the units of the table."""
        codes = {code.name: code for code in self.environment if isinstance(code, NumberCode)}
        return codes[name].decoded(z) if name in codes else z

    def to_dict(self) -> dict[str, Any]:
        """The encoder as plain JSON values; `from_dict` gives back the same encoder to the bit."""
        return {
            "roles": self.roles.to_dict(),
            "missing": self.missing,
            "proxies": [code.to_dict() for code in self.proxies],
            "environment": [code.to_dict() for code in self.environment],
            "dropped": list(self.dropped),
            "rows_seen": self.rows_seen,
            "rows_kept": self.rows_kept,
            "gaps": dict(self.gaps),
            "scale": self.scale,
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Encoder:
        """Rebuild an encoder from `to_dict`; an inconsistent state is refused."""
        try:
            made = cls(
                roles=Roles.from_dict(state["roles"]),
                missing=state["missing"],
                proxies=tuple(code_from_dict(code) for code in state["proxies"]),
                environment=tuple(code_from_dict(code) for code in state["environment"]),
                dropped=tuple(state["dropped"]),
                rows_seen=int(state["rows_seen"]),
                rows_kept=int(state["rows_kept"]),
                gaps=tuple((str(name), int(count)) for name, count in state["gaps"].items()),
                scale=str(state["scale"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(f"the stored encoder cannot be read ({error!r}): fit and save again") from error
        if any(name not in made.roles.columns for name in made.dropped):
            raise StoreError("the stored encoder left out columns that have no role: fit and save again")
        for codes, names in ((made.proxies, made.roles.proxies), (made.environment, made.roles.environment)):
            used = [name for name in names if name not in made.dropped]
            if [code.name for code in codes] != used or (not codes and not made.roles.reports):
                raise StoreError("the stored encoder does not belong to the stored roles: fit and save again")
        if made.missing not in get_args(Missing):
            raise StoreError(f"the stored encoder has missing={shown(made.missing)}: fit and save again")
        return made

    def _read(self, frame: Any, outcome: bool, design: bool) -> ReadTable:
        have = set(column_names(frame))
        wanted = [code.name for code in (*self.proxies, *self.environment)]
        if outcome:
            offset = [self.roles.exposure] if self.roles.exposure else []
            wanted = [*self.roles.report_names, *wanted, *offset]
        # Constant columns are not encoded, but their gaps counted at `fit` and must count here too.
        blank = ("truth", "inclusion", "trusted", "checked", "confirmed")
        optional: list[str | None] = [*self.dropped, *(getattr(self.roles, role) for role in blank)]
        optional += [] if outcome else [self.roles.exposure]
        if design:
            optional += [self.roles.weights, self.roles.counts, self.roles.cluster]
        wanted += [name for name in optional if name is not None and name in have]
        cluster = self.roles.cluster if self.roles.cluster in wanted else None
        table = read_table(frame, wanted, cluster)
        return with_reports(table, self.roles) if outcome else table

    def encoded_names(self) -> tuple[str, ...]:
        """Name each encoded column, proxies first; level "b" of "a" must not collide with a column "a=b"."""
        taken: dict[str, None] = {}
        for code in (*self.proxies, *self.environment):
            for suffix in code.suffixes:
                name, copy = code.name + suffix, 2
                while name in taken or (suffix and name in self.roles.columns):
                    name, copy = f"{code.name}{suffix} ({copy})", copy + 1
                taken[name] = None
        return tuple(taken)

    def _dropped_rows(self) -> Finding:
        lost = self.rows_seen - self.rows_kept
        return Finding(
            "Are there missing values?",
            f"{lost} of {counted(self.rows_seen, 'row')} dropped",
            f"{lost} of {counted(self.rows_seen, 'row')} have a gap in "
            f"{columns_named([name for name, _ in self.gaps])} and were left out. If missingness is related "
            "to the bias, dropping rows changes the population.",
            "Compare with missing='impute'.",
            ok=lost <= 0.05 * self.rows_seen,
            topic="missing",
            value=lost / self.rows_seen,
        )

    def _imputed(self) -> Finding:
        most = max(count for _, count in self.gaps) / self.rows_seen
        return Finding(
            "Are there missing values?",
            ", ".join(f"{shown(name)}: {count}" for name, count in self.gaps[:5]),
            f"Missing values of {columns_named([name for name, _ in self.gaps])} were filled in, numbers "
            "with the median and categories with an extra level, and marked by an indicator column.",
            "Compare with a fit without the incomplete rows; leave out columns that are mostly empty.",
            ok=most <= 0.05,
            topic="missing",
            value=most,
        )


def _read_roles(frame: Any, roles: Roles) -> ReadTable:
    """Every column that has a role, but the id."""
    return with_reports(read_table(frame, roles.columns, roles.cluster, skip=(roles.id,)), roles)


def row_weights(counts: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many rows each row stands for, (n,): its count, times its sampling weight in units of their mean.

    Sampling weights say how rows compare, not how many there are, so their unit cannot make evidence.

    >>> row_weights(np.array([1.0, 3.0]), np.ones(2)).tolist()
    [1.0, 3.0]
    >>> row_weights(np.ones(2), np.array([500.0, 1500.0])).tolist()
    [0.5, 1.5]
    """
    return counts * weights / mean_weight(counts, weights)


def mean_weight(counts: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The mean of sampling weights (n,) over the rows that were counted; exactly 1 where all are."""
    # Exact sums: the order of the rows changes no digit.
    return math.fsum(counts * weights) / math.fsum(counts) if len(counts) else 1.0


def _encode(codes: tuple[Code, ...], table: ReadTable, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    columns = [code.apply(table.columns[code.name], table.index, kept) for code in codes]
    return np.column_stack(columns) if columns else np.zeros((int(kept.sum()), 0))


def _sources(codes: tuple[Code, ...]) -> tuple[str, ...]:
    return tuple(code.name for code in codes for _ in code.suffixes)
