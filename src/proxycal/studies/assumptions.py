"""The paper's table of assumptions by study, each with the check that this package makes of it."""

from __future__ import annotations

from proxycal.studies.tables import Grid

_YES, _NO, _PARTLY = "yes", "no", "partly"
_ROWS = (
    ("(A1) Proxy exclusion", _YES, _YES, _YES,
     "finding 'exclusion' of check(); 'agreement with moments' and 'agreement with matching'"),
    ("(A2) Bias model: constant alpha", _YES, _YES, _NO,
     "finding 'constancy'; effect='by:COLUMN'; the moments' test of a two-valued bias"),
    ("(A3) Sign restriction: alpha >= 0", _YES, _YES, _NO,
     "none: data cannot show it; the user states the direction"),
    ("(A4) Linear structural mechanisms", _YES, _NO, _NO,
     "finding on the content features: linear or splines, chosen by BIC"),
    ("(A5) Availability of ground-truth (A, Z)", _YES, _PARTLY, _NO,
     "none needed: the truth is used to evaluate, never to fit"),
    ("(A6) Overlap in A", _YES, _YES, _PARTLY, "finding 'overlap'"),
)  # fmt: skip


def assumptions() -> Grid:
    """Table 1 of the paper with one more column.

    >>> assumptions().rows[0][:2]
    ('(A1) Proxy exclusion', 'yes')
    """
    columns = (
        ("", "Assumption"),
        ("", "Synthetic"),
        ("", "Semi-synthetic"),
        ("", "Real-world"),
        ("", "Check"),
    )
    return Grid(
        "assumptions",
        "Assumptions across experimental settings, and the check for each",
        columns,
        _ROWS,
    )
