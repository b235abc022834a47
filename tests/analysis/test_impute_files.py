"""Completed tables of files: as of a frame, whatever the kind of file and the size of its pieces."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import proxycal as pc
from proxycal.analysis.impute_files import impute_files


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("impute")
    sim = pc.simulate(n=3000, d_z=1, d_e=2, n_proxies=2, alpha=1.0, random_state=0)
    table = sim.table.assign(code="007", w=sim.truth["y_true"])
    table.to_csv(folder / "table.csv", index=False)
    table.to_parquet(folder / "table.parquet", row_group_size=1000)
    model = pc.ProxyCalibrator(sim.roles, direction="over", method="moments").fit(table)
    model.save(folder / "run")
    return folder, model, table


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_are_what_python_gives(place, ending, tmp_path):
    folder, model, table = place
    done = impute_files(folder / "run", folder / f"table.{ending}", tmp_path / "out", m=2, random_state=3)
    assert [name.rpartition("/")[2] for name in done.files] == [f"table-01.{ending}", f"table-02.{ending}"]
    asked = model.impute(table, m=2, random_state=3)
    for name, one in zip(done.files, asked, strict=True):
        made = pd.read_csv(name, dtype={"code": str}) if ending == "csv" else pd.read_parquet(name)
        # A number in a CSV is read back to the last digit but one.
        np.testing.assert_allclose(made["y"], one["y"], rtol=1e-12)
        assert (made["code"] == "007").all()
        assert list(made.columns) == list(table.columns)


def test_pieces_are_drawn_as_the_whole(place, tmp_path, monkeypatch):
    folder, _, _ = place
    whole = impute_files(folder / "run", folder / "table.parquet", tmp_path / "whole", m=2)
    monkeypatch.setattr("proxycal.scale.sources.BATCH", 700)
    pieces = impute_files(folder / "run", folder / "table.parquet", tmp_path / "pieces", m=2)
    for one, other in zip(whole.files, pieces.files, strict=True):
        # Pieces go through products of other shapes, which may change the last digit of a probability.
        pd.testing.assert_frame_equal(pd.read_parquet(one), pd.read_parquet(other), rtol=1e-9)


def test_a_column_outside_is_heard(place, tmp_path):
    folder, model, table = place
    done = impute_files(folder / "run", folder / "table.parquet", tmp_path / "out", m=1, include=["w"])
    np.testing.assert_allclose(
        pd.read_parquet(done.files[0])["y"], model.impute(table, m=1, include=["w"])[0]["y"]
    )


def test_nothing_is_left_behind_by_a_refusal(place, tmp_path):
    folder, _, table = place
    table.assign(p_1=["x", *table["p_1"][1:]]).to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(pc.ProxycalError, match=r"bad\.csv"):
        impute_files(folder / "run", tmp_path / "bad.csv", tmp_path / "out", m=2)
    assert not list((tmp_path / "out").glob("*"))
    with pytest.raises(pc.ProxycalError, match="no column 'nowhere'"):
        impute_files(folder / "run", folder / "table.csv", tmp_path / "out", include=["nowhere"])
    with pytest.raises(pc.ProxycalError, match="is a run folder"):
        impute_files(folder / "run", folder / "table.csv", folder / "run")
