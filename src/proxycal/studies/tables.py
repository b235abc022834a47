"""Long-form results -> the paper's tables in its own layout, with its figures beside ours.

A cell reads "ours ± sd (published ± sd)": mean and sd over folds. The published figure stands only where the
paper has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from proxycal.studies.pages import markdown_table, paper_table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

KEYS = ("dataset", "n", "d_z", "alpha", "noise", "method", "metric")
# The paper's tables over (n, d_z) and (alpha, noise): metric, its published table, what the paper calls it.
SYNTHETIC = (
    ("alpha", "table2_alpha", "Bias estimation with synthetic data under different settings"),
    ("a_mae", "appendix_a_mae", "a_mae: mean absolute error of the bias latent, turned, on its own scale"),
    ("rmse_proxies", "appendix_rmse_proxies", "rmse_proxies: reconstruction error of standardised proxies"),
    (
        "z_mae",
        "appendix_z_mae",
        "z_mae: mean absolute error of content latents, paired and turned, own scale",
    ),
)
NOISES = {"gaussian": "Gaussian", "poisson": "Poisson (scaled)"}
LABELS = {
    "proxy-only": "Baseline (Proxy only)",
    "environment-only": "Baseline (Env only)",
    "tedvae": "Baseline (TEDVAE)",
    "tedvae-treatment": "TEDVAE, the trial's own treatment",
    "paper": "Ours dim. (Z={d_z})",
    "exact": "exact",
    "oracle": "oracle (knows A)",
}


@dataclass(frozen=True, slots=True)
class Grid:
    """A table for reading: columns as (group, name), group "" for none; rows of text; rules above rows."""

    name: str
    title: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]
    rules: tuple[int, ...] = ()


def summarise(long: pd.DataFrame) -> pd.DataFrame:
    """Mean and sd over folds of every metric, a row per data set, method and metric."""
    good = long[(long["error"] == "") & long["value"].notna()]
    by = [key for key in KEYS if key in good.columns]
    summary = good.groupby(by, sort=False, dropna=False)["value"].agg(["mean", "std", "count"]).reset_index()
    return summary.rename(columns={"std": "sd", "count": "folds"})


def synthetic_tables(summary: pd.DataFrame) -> list[Grid]:
    """Table 2 and the appendix tables, one for each method that has the metric."""
    grids = []
    for metric, published_name, title in SYNTHETIC:
        published = _by_key(paper_table(published_name), ("n", "d_z", "alpha", "noise"))
        for method in summary["method"].unique():
            own = summary[(summary["metric"] == metric) & (summary["method"] == method)]
            # What the paper published belongs beside its own method, and, for alpha, beside any.
            if len(own) and (metric == "alpha" or method in ("paper", "exact")):
                grids.append(
                    _by_cell(own, published, f"{published_name}_{method}", f"{title}, method {method}")
                )
    return grids


def _by_cell(
    own: pd.DataFrame, published: Mapping[tuple[object, ...], tuple[float, float]], name: str, title: str
) -> Grid:
    ours = _by_key(own, ("n", "d_z", "alpha", "noise"))
    alphas, noises = sorted(own["alpha"].unique()), [noise for noise in NOISES if noise in set(own["noise"])]
    columns = [("", "n"), ("", "d_z"), ("", "d_e")]
    columns += [(f"alpha={alpha:g}", NOISES[noise]) for alpha in alphas for noise in noises]
    pairs = sorted({(int(n), int(d)) for n, d in zip(own["n"], own["d_z"], strict=True)})
    rows, rules = [], []
    for position, (n, d_z) in enumerate(pairs):
        if position and pairs[position - 1][0] != n:
            rules.append(position)
        keys = [(n, d_z, alpha, noise) for alpha in alphas for noise in noises]
        rows.append((str(n), str(d_z), "10", *[_beside(ours.get(key), published.get(key)) for key in keys]))
    return Grid(name, title, tuple(columns), tuple(rows), tuple(rules))


def semisynthetic_tables(summary: pd.DataFrame) -> list[Grid]:
    """Table 3, and the same layout for what the paper does not show."""
    grids = [_by_method(summary, "alpha", "table3_semisynthetic", "Estimated alpha across baselines and d_z")]
    for metric, title in (
        ("accuracy", "Share of held-out rows put in the right group (biased or not)"),
        ("rmse_y_cal", "RMSE of the calibrated outcome on held-out rows, in sd of the outcome"),
    ):
        grids.append(_by_method(summary, metric, None, title))
    return grids


def _by_method(summary: pd.DataFrame, metric: str, published_name: str | None, title: str) -> Grid:
    own = summary[summary["metric"] == metric].copy()
    own["label"] = [
        LABELS[method].format(d_z=d_z) for method, d_z in zip(own["method"], own["d_z"], strict=True)
    ]
    ours = _by_key(own, ("label", "dataset", "alpha"))
    published: Mapping[tuple[object, ...], tuple[float, float]] = {}
    if published_name is not None:
        published = _by_key(paper_table(published_name), ("method", "dataset", "alpha"))
    alphas, datasets = sorted(own["alpha"].unique()), list(dict.fromkeys(own["dataset"]))
    columns = [("", "method"), *[(name, f"alpha={alpha:g}") for name in datasets for alpha in alphas]]
    order = {name: position for position, name in enumerate(LABELS)}
    own = own.sort_values(["method", "d_z"], key=lambda c: c.map(order) if c.name == "method" else c)
    rows = []
    for label in dict.fromkeys(own["label"]):
        keys = [(label, name, alpha) for name in datasets for alpha in alphas]
        rows.append((label, *[_beside(ours.get(key), published.get(key), 3) for key in keys]))
    return Grid(published_name or metric, title, tuple(columns), tuple(rows))


def _by_key(table: pd.DataFrame, keys: Sequence[str]) -> dict[tuple[object, ...], tuple[float, float]]:
    values = zip(table["mean"].astype(float), table["sd"].astype(float), strict=True)
    return dict(zip(table[list(keys)].itertuples(index=False, name=None), values, strict=True))


def _beside(ours: tuple[float, float] | None, published: tuple[float, float] | None, digits: int = 2) -> str:
    """Ours, then the published figure in brackets."""
    if ours is None:
        return "-"
    return _figure(ours, digits) + (f" ({_figure(published, digits)})" if published is not None else "")


def _figure(pair: tuple[float, float], digits: int) -> str:
    mean, sd = pair
    return f"{mean:.{digits}f}" + (f"±{sd:.2f}" if np.isfinite(sd) else "")


def closeness(summary: pd.DataFrame) -> Grid:
    """Relative RMSE of the mean estimate over the data sets, by method and alpha, ours and published."""
    own = summary[summary["metric"] == "alpha"]
    alphas = sorted(own["alpha"].unique())
    rows = []
    for method in dict.fromkeys(own["method"]):
        part = own[own["method"] == method]
        rows.append((method, *[_relative(part[part["alpha"] == alpha]) for alpha in alphas], _relative(part)))
    if "noise" in own.columns:
        known = paper_table("table2_alpha").merge(own[["n", "d_z", "alpha", "noise"]].drop_duplicates())
        parts = [known[known["alpha"] == alpha] for alpha in alphas]
        rows.append(("published", *[_relative(part) for part in parts], _relative(known)))
    columns = [("", "method"), *[("", f"alpha={alpha:g}") for alpha in alphas], ("", "all")]
    title = "Relative RMSE of alpha: mean over folds against the truth, over data sets"
    return Grid("closeness", title, tuple(columns), tuple(rows))


def _relative(part: pd.DataFrame) -> str:
    if part.empty:
        return "-"
    return f"{np.sqrt(np.mean((part['mean'] / part['alpha'] - 1.0) ** 2)):.3f}"


# --- the three forms ---


def to_frame(grid: Grid) -> pd.DataFrame:
    """The table with flat headers, for a CSV file."""
    names = [f"{group} {name}".strip() for group, name in grid.columns]
    return pd.DataFrame(list(grid.rows), columns=names)


def to_markdown(grid: Grid) -> str:
    """The table in Markdown, its title above."""
    names = [f"{group}, {name}" if group else name for group, name in grid.columns]
    lines = markdown_table(names, grid.rows)
    return "\n".join([f"### {grid.title}", "", *lines, ""])


def to_latex(grid: Grid) -> str:
    r"""The table in LaTeX with booktabs rules and the groups of columns as in the paper.

    >>> print(to_latex(Grid("t", "A title", (("", "n"), ("g", "x"), ("g", "y")), (("1", "2±0", "3"),))))
    \begin{table}
    \centering
    \caption{A title}
    \label{tab:t}
    \begin{tabular}{lcc}
    \toprule
     & \multicolumn{2}{c}{g} \\
    \cmidrule(lr){2-3}
    n & x & y \\
    \midrule
    1 & 2$\pm$0 & 3 \\
    \bottomrule
    \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(grid.title)}}}",
        rf"\label{{tab:{grid.name}}}",
        rf"\begin{{tabular}}{{{'l' + 'c' * (len(grid.columns) - 1)}}}",
        r"\toprule",
    ]
    lines += _group_lines([group for group, _ in grid.columns])
    lines += [" & ".join(_tex(name) for _, name in grid.columns) + r" \\", r"\midrule"]
    for position, row in enumerate(grid.rows):
        lines += [r"\midrule"] if position in grid.rules else []
        lines.append(" & ".join(_tex(cell) for cell in row) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _group_lines(groups: list[str]) -> list[str]:
    if not any(groups):
        return []
    cells, rules, start = [], [], 0
    while start < len(groups):
        end = start
        while groups[start] and end + 1 < len(groups) and groups[end + 1] == groups[start]:
            end += 1
        name = _tex(groups[start])
        cells.append(rf"\multicolumn{{{end - start + 1}}}{{c}}{{{name}}}" if name else "")
        rules += [rf"\cmidrule(lr){{{start + 1}-{end + 1}}}"] if name else []
        start = end + 1
    return [" & ".join(cells) + r" \\", "".join(rules)]


def _tex(text: str) -> str:
    for plain, tex in (
        ("_", r"\_"), ("%", r"\%"), ("&", r"\&"), ("±", r"$\pm$"), (">=", r"$\ge$"), ("alpha", r"$\alpha$"),
    ):  # fmt: skip
        text = text.replace(plain, tex)
    return text
