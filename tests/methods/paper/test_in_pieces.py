"""Stage 1 trained from disk: the same bytes wherever the table is, in memory that does not grow with it."""

import os
import tempfile
from dataclasses import replace

import numpy as np
import pytest

import proxycal.methods.paper.in_pieces as stage1_module
import proxycal.scale.fit as fit_module
import proxycal.scale.pieces as pieces_module
import proxycal.scale.sources as sources_module
from proxycal import ProxyCalibrator, Roles, load, simulate
from proxycal.errors import SettingsError, TableError, UnavailableError
from proxycal.methods.paper.in_pieces import fit_content_pieces, hold_out_rows
from proxycal.methods.paper.settings import PaperSettings
from proxycal.scale.pieces import FramePieces, file_pieces, partition_pieces
from proxycal.table.encode import Encoder

dask_frame = pytest.importorskip("dask.dataframe")

TINY = PaperSettings(d_z=2, width=8, restarts=1, epochs=2, min_steps=0, batch_size=64)
SEEDS = (1, 2)


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory, monkeypatch):
    """A folder for temporary files of its own, to see what is left in it."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def large(monkeypatch):
    """Everything is large, and read a few rows at a time."""
    monkeypatch.setattr(fit_module, "LARGE", 100)
    for module in (pieces_module, sources_module):
        monkeypatch.setattr(module, "BATCH", 64)


@pytest.fixture(scope="module")
def sim():
    return simulate(n=300, alpha=5.0, random_state=0)


def files_of(table, folder):
    paths = []
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        paths.append(str(folder / f"part-{number}.parquet"))
        table.iloc[rows].to_parquet(paths[-1], row_group_size=40)
    return paths


def encoded(pieces, encoder, table):
    """The pieces as a method sees them; the sample is all of the table."""
    sample = encoder.transform(table)
    return fit_module.EncodedPieces(
        pieces, encoder, 1.0, sample, encoder.rows_kept, float(sample.weights.sum())
    )


def bytes_of(fit):
    return {name: value.tobytes() for name, value in fit.tensors.items()}


def test_memory_files_and_partitions_give_the_same_bytes(sim, large, tmp_path, temporary):
    table = sim.table.assign(w=np.random.default_rng(0).uniform(0.5, 2, 300))
    table.loc[[5, 250], sim.roles.proxies[0]] = np.nan
    roles = Roles(sim.roles.outcome, sim.roles.proxies, sim.roles.environment, weights="w")
    encoder = Encoder.fit(table, roles, "drop")
    memory = fit_content_pieces(encoded(FramePieces(table), encoder, table), TINY, SEEDS)
    with file_pieces(files_of(table, tmp_path), roles.columns, []) as pieces:
        files = fit_content_pieces(encoded(pieces, encoder, table), TINY, SEEDS)
    partitions = partition_pieces(dask_frame.from_pandas(table, npartitions=4), roles.columns)
    dask = fit_content_pieces(encoded(partitions, encoder, table), TINY, SEEDS)
    assert bytes_of(memory) == bytes_of(files) == bytes_of(dask)
    light = fit_content_pieces(encoded(FramePieces(table.assign(w=1.0)), encoder, table), TINY, SEEDS)
    assert bytes_of(light) != bytes_of(memory)
    assert not list(temporary.glob("proxycal-*"))


def test_nothing_is_left_on_disk_after_an_error(sim, temporary, monkeypatch):
    encoder = Encoder.fit(sim.table, sim.roles)
    with pytest.raises(TableError, match="had 299 rows when it was looked at and 300 when it was read again"):
        fit_content_pieces(
            encoded(FramePieces(sim.table), replace(encoder, rows_kept=299), sim.table), TINY, SEEDS
        )

    def fails(path, *_, **__):
        assert os.path.getsize(path) == 4 * 300 * (len(sim.roles.proxies) + len(sim.roles.environment) + 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(stage1_module, "fit_content_file", fails)
    with pytest.raises(KeyboardInterrupt):
        fit_content_pieces(encoded(FramePieces(sim.table), encoder, sim.table), TINY, SEEDS)
    assert not list(temporary.glob("proxycal-*"))


@pytest.mark.parametrize(("n", "share", "expected"), [(900, 1 / 9, 100), (30, 0.1, 10), (12, 0.1, 6)])
def test_rows_are_held_out_by_their_share(n, share, expected):
    train, validation = hold_out_rows(n, share, seed=3)
    assert len(validation) == expected
    assert sorted([*train, *validation]) == list(range(n))


def test_no_more_rows_are_held_out_than_memory_should_hold(monkeypatch):
    monkeypatch.setattr(stage1_module, "VALIDATION_ROWS", 20)
    train, validation = hold_out_rows(900, 1 / 9, seed=3)
    assert (len(train), len(validation)) == (880, 20)


def test_the_paper_method_takes_files_and_dask_frames_and_says_who_saw_what(
    sim, large, tmp_path, monkeypatch
):
    monkeypatch.setattr("proxycal.scale.sample.SAMPLE_ROWS", 200)
    paths = files_of(sim.table, tmp_path)
    model = ProxyCalibrator(sim.roles, direction="over", method="paper", paper=TINY).fit_files(paths)
    assert model.result_.n == 300
    assert model.result_.method_fit.rows == (300, 200)
    said = next(f for f in model.findings_ if f.question == "Which rows did each stage see?")
    assert "all 300 rows" in said.reading
    assert "a sample of 200" in said.reading
    dask = ProxyCalibrator(sim.roles, direction="over", method="paper", paper=TINY).fit(
        dask_frame.from_pandas(sim.table, npartitions=3)
    )
    assert bytes_of(dask.result_.method_fit.content) == bytes_of(model.result_.method_fit.content)
    assert (dask.alpha_, dask.alpha_se_) == (model.alpha_, model.alpha_se_)
    model.save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.result_.method_fit.rows == (300, 200)
    np.testing.assert_array_equal(again.calibrate(sim.table)["y_cal"], model.calibrate(sim.table)["y_cal"])


def test_stage_1_learns_from_rows_that_the_sample_has_not(sim, large, monkeypatch):
    monkeypatch.setattr("proxycal.scale.sample.SAMPLE_ROWS", 200)
    frame = dask_frame.from_pandas(sim.table, npartitions=2)
    model = ProxyCalibrator(sim.roles, direction="over", method="paper", paper=TINY).fit(frame)
    sampled = model.result_.method_fit.content
    pieces = encoded(FramePieces(sim.table), model.result_.encoder, sim.table)
    whole = fit_content_pieces(pieces, sampled.settings, _seeds())
    assert bytes_of(sampled) == bytes_of(whole)


def _seeds():
    return np.random.SeedSequence(0).generate_state(3).tolist()


def test_a_long_frame_in_memory_is_used_whole_in_every_stage(sim, large):
    model = ProxyCalibrator(sim.roles, direction="over", method="paper", paper=TINY).fit(sim.table)
    assert model.result_.method_fit.rows == (0, 0)
    assert not any("each stage" in finding.question for finding in model.findings_)


def test_what_stage_1_cannot_do_is_refused_before_anything_is_trained(sim, large, tmp_path, monkeypatch):
    monkeypatch.setattr(stage1_module, "fit_content_file", None)
    table = sim.table.assign(c=1)
    clustered = Roles(sim.roles.outcome, sim.roles.proxies, sim.roles.environment, cluster="c")
    paths = files_of(table, tmp_path)
    for roles, asked, kind, what in (
        (clustered, {}, SettingsError, "clusters"),
        (sim.roles, {"interval": "bootstrap"}, SettingsError, "bootstrap"),
        (sim.roles, {"effect": "linear"}, UnavailableError, "effect='linear'"),
        (sim.roles, {"paper": replace(TINY, device="cuda:99")}, SettingsError, "'cuda:99' is not available"),
    ):
        with pytest.raises(kind, match=what):
            ProxyCalibrator(roles, direction="over", method="paper", **asked).fit_files(paths)
