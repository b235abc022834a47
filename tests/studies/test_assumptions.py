from __future__ import annotations

from proxycal.studies.assumptions import assumptions
from proxycal.studies.tables import to_latex


def test_every_assumption_of_the_paper_stands_with_a_check():
    grid = assumptions()
    assert [row[0][:4] for row in grid.rows] == [f"(A{k})" for k in range(1, 7)]
    assert all(len(row) == len(grid.columns) and row[-1] for row in grid.rows)
    assert r"$\alpha$ $\ge$ 0" in to_latex(grid)
