"""Equal to R's survey package on its samples of schools, and where it made half samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import proxycal as pc

REFERENCE = pd.read_csv(Path(__file__).with_name("survey.csv"))


def reference(design):
    rows = REFERENCE[REFERENCE.design == design]
    return {(row.what, str(row.group)): row.value for row in rows.itertuples()}


def sample(name):
    """One of the package's samples, which may not be shipped: they are looked for beside the clone."""
    for parent in Path(__file__).parents:
        place = parent / "shared" / "data" / f"survey_{name}.csv"
        if place.exists():
            return pd.read_csv(place)
    pytest.skip(f"survey_{name}.csv is not beside this clone")


def jackknifed(table, strata, clusters):
    """Replicate weights by leaving out one cluster each: columns, and rscales."""
    columns, rscales = {}, []
    for stratum, rows in table.groupby(strata):
        names = rows[clusters].unique()
        for name in names:
            out = (table[strata] == stratum) & (table[clusters] == name)
            rest = (table[strata] == stratum) & ~out
            factor = np.where(out, 0.0, np.where(rest, len(names) / (len(names) - 1.0), 1.0))
            columns[f"r{len(columns)}"] = table["pw"] * factor
            rscales.append((len(names) - 1.0) / len(names))
    return pd.concat([table, pd.DataFrame(columns)], axis=1), list(columns), rscales


def drawn(design):
    """The sample as it was drawn, and its table."""
    if design == "strat":
        return pc.Survey(weights="pw", strata="stype", fpc="fpc"), sample("apistrat")
    if design == "clus1":
        return pc.Survey(weights="pw", clusters="dnum", fpc="fpc"), sample("apiclus1")
    if design == "nofpc":
        return pc.Survey(weights="pw", clusters="dnum"), sample("apiclus1")
    if design == "clus2":
        return pc.Survey(weights="pw", clusters=["dnum", "snum"], fpc=["fpc1", "fpc2"]), sample("apiclus2")
    if design == "jkn":
        table, names, rscales = jackknifed(sample("apistrat"), "stype", "cds")
        return pc.Survey(weights="pw", replicates=names, replicate_type="JKn", rscales=rscales), table
    table, names, _ = jackknifed(sample("apiclus1").assign(one=1), "one", "dnum")
    return pc.Survey(weights="pw", replicates=names, replicate_type="JK1"), table


@pytest.mark.parametrize("design", ["strat", "clus1", "clus2", "nofpc", "jkn", "jk1"])
def test_equals_the_survey_package(design):
    survey, table = drawn(design)
    asked, said = survey.on(table), reference(design)
    made = {
        "total": asked.total("api00"),
        "mean": asked.mean("api00"),
        "ratio": asked.ratio("api.stu", "api99"),
        **{f"quantile{q}": asked.quantile("api00", q) for q in (0.25, 0.5, 0.9)},
    }
    for what, frame in made.items():
        np.testing.assert_allclose(frame.estimate.iloc[0], said[what, "all"], rtol=1e-9, err_msg=what)
        np.testing.assert_allclose(frame.se.iloc[0], said[f"{what}_se", "all"], rtol=1e-7, err_msg=what)
    assert made["total"].df.iloc[0] == said["df", "all"]
    for what in ("total", "mean"):
        parts = getattr(asked, what)("api00", by="stype")
        for group in ("E", "H", "M"):
            np.testing.assert_allclose(parts.estimate[group], said[what, group], rtol=1e-9)
            np.testing.assert_allclose(parts.se[group], said[f"{what}_se", group], rtol=1e-7)
            assert parts.df[group] == said["df", group]


def test_half_samples_equal_the_survey_package():
    rows = REFERENCE[REFERENCE.design == "brr"]
    whole = rows[~rows.what.isin(["total", "total_se", "mean", "mean_se"])]
    table = whole.assign(group=whole.group.astype(int)).pivot(index="group", columns="what", values="value")
    names = [name for name in table.columns if name.startswith("weight")]
    said = reference("brr")
    asked = pc.Survey(weights="pw", replicates=names, replicate_type="BRR").on(table.reset_index(drop=True))
    for what in ("total", "mean"):
        frame = getattr(asked, what)("api00")
        np.testing.assert_allclose(frame.estimate.iloc[0], said[what, "all"], rtol=1e-9)
        np.testing.assert_allclose(frame.se.iloc[0], said[f"{what}_se", "all"], rtol=1e-9)
