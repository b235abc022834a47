"""A table fitted in pieces: the same answer in memory, from files and on Dask, and as an ordinary fit."""

import os
import signal
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

import proxycal.scale.fit as fit_module
import proxycal.scale.pieces as pieces_module
import proxycal.scale.sources as sources_module
from proxycal import ProxyCalibrator, Roles, load, simulate
from proxycal.errors import SettingsError, TableError
from proxycal.testing.worlds import draw_world

distributed = pytest.importorskip("distributed")
dask_frame = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module", autouse=True)
def everything_is_large():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_module, "LARGE", 100)
        yield


@pytest.fixture
def short_batches(monkeypatch):
    """In this process only: workers of their own read as many rows at a time as ever."""
    for module in (pieces_module, sources_module):
        monkeypatch.setattr(module, "BATCH", 256)


def ordinary(model, table):
    """The fit that is made of a small table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_module, "LARGE", 10**9)
        return model.fit(table)


@pytest.fixture(scope="module")
def world():
    return draw_world("gaussian", 1500, 3.0, seed=4)


@pytest.fixture(scope="module")
def whole(world):
    """The world fitted as a small table is."""
    return ordinary(ProxyCalibrator(world.roles, direction="over"), world.table())


@pytest.fixture(scope="module")
def pieces(world):
    """The world fitted in pieces, from memory; its rows have names."""
    return ProxyCalibrator(world.roles, direction="over").fit(named(world.table()))


@pytest.fixture(scope="module")
def paths(world, tmp_path_factory):
    """The world in files, for tests that leave them alone."""
    return files_of(world.table(), tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def alone(world, paths):
    """The files fitted by one process."""
    return ProxyCalibrator(world.roles, direction="over").fit_files(paths)


def named(table):
    return table.set_axis([f"row {i}" for i in range(len(table))])


def files_of(table, folder, parts=3):
    paths = []
    for number, rows in enumerate(np.array_split(np.arange(len(table)), parts)):
        paths.append(folder / f"part-{number}.parquet")
        table.iloc[rows].to_parquet(paths[-1], row_group_size=200)
    return paths


def same(one, other, rtol=1e-8):
    assert one.verdict_ == other.verdict_
    for name in ("alpha_", "alpha_se_", "share_biased_"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=rtol)
    np.testing.assert_allclose(
        one.result_.method_fit.evidence.gain, other.result_.method_fit.evidence.gain, rtol=1e-6
    )


@pytest.mark.usefixtures("short_batches")
def test_memory_files_and_partitions_agree_and_are_the_ordinary_fit(world, paths, whole):
    table = world.table()
    model = ProxyCalibrator(world.roles, direction="over").fit(table)
    assert model.result_.n == 1500
    assert model.result_.method_fit.evidence.sampled == 1500
    same(model, whole)
    same(ProxyCalibrator(world.roles, direction="over").fit_files(paths), model)
    same(
        ProxyCalibrator(world.roles, direction="over").fit(dask_frame.from_pandas(table, npartitions=4)),
        model,
    )


def same_digits(one, other):
    for name in ("alpha_", "alpha_se_", "share_biased_"):
        assert getattr(one, name) == getattr(other, name)


def test_jobs_change_no_digit_and_workers_that_stand_in_another_folder_find_the_files(
    world, alone, tmp_path, monkeypatch
):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        files_of(world.table(), tmp_path / name)
        # The workers of the first fit are there still for the second.
        model = ProxyCalibrator(world.roles, direction="over").fit_files(
            [f"part-{k}.parquet" for k in range(3)], jobs=2
        )
        same_digits(model, alone)


@pytest.mark.usefixtures("short_batches")
def test_to_hold_what_is_encoded_changes_no_digit(world, monkeypatch):
    passes = []
    transform = fit_module.Encoder.transform
    monkeypatch.setattr(fit_module.Encoder, "transform", lambda *given: passes.append(1) or transform(*given))
    held = ProxyCalibrator(world.roles, direction="over").fit(world.table())
    few = len(passes)
    monkeypatch.setattr(fit_module, "HELD", 0)
    anew = ProxyCalibrator(world.roles, direction="over").fit(world.table())
    same_digits(held, anew)
    assert len(passes) > 3 * few


def test_the_order_of_rows_changes_nothing(world, pieces):
    shuffled = world.table().sample(frac=1.0, random_state=3)
    same(pieces, ProxyCalibrator(world.roles, direction="over").fit(shuffled), rtol=1e-9)


@pytest.mark.parametrize(
    ("kind", "n", "size"),
    [("exponential", 1200, 3.0), ("zero-inflated", 1200, 3.0), ("alpha by level", 2500, 1.5)],
)
def test_a_sample_chooses_and_all_rows_fit(kind, n, size, monkeypatch, short_batches):
    sampled = 2 * n // 5
    monkeypatch.setattr("proxycal.scale.sample.SAMPLE_ROWS", sampled)
    world = draw_world(kind, n, size, seed=6)
    model = ProxyCalibrator(world.roles, direction="over").fit(world.table())
    assert sampled <= model.result_.method_fit.evidence.sampled < 1.1 * sampled
    assert model.result_.n == n
    whole = ordinary(ProxyCalibrator(world.roles, direction="over"), world.table())
    assert model.verdict_ == whole.verdict_ == "bias found"
    # All rows choose between the models that the sample leaves open, so that the model is the same. What is
    # left is the sample's own: units of the ridge and of the least width. A tenth of a standard error is what
    # `bench sampled` asks for; no reader would see it.
    assert abs(model.alpha_ - whole.alpha_) < 0.1 * whole.alpha_se_
    assert model.alpha_se_ == pytest.approx(whole.alpha_se_, rel=0.1)
    assert model.result_.method_fit.evidence.shape == whole.result_.method_fit.evidence.shape
    assert any("a sample of " in one.reading for one in model.findings_)


def test_what_the_outcome_is_more_rows_say_than_the_sample(monkeypatch):
    # The zeros of 900 rows look like a lower limit, those of all like what they are.
    monkeypatch.setattr("proxycal.scale.sample.SAMPLE_ROWS", 900)
    world = draw_world("zero-inflated", 2500, 5.0, seed=8300092)
    model = ProxyCalibrator(world.roles, direction="over").fit(world.table())
    assert not model.result_.method_fit.outcome.ranged
    assert "one spike" in model.result_.method_fit.evidence.shape


def test_without_a_bias_all_rows_decide(monkeypatch):
    monkeypatch.setattr("proxycal.scale.sample.SAMPLE_ROWS", 900)
    world = draw_world("exponential", 2500, 0.0, seed=8)
    model = ProxyCalibrator(world.roles, direction="over").fit(world.table())
    whole = ordinary(ProxyCalibrator(world.roles, direction="over"), world.table())
    # A close call (its noise is skewed, in four components): the sample alone said "no bias found", or not,
    # as rounding went.
    assert model.verdict_ == whole.verdict_ == "not identified"
    assert model.result_.method_fit.evidence.null_shape == whole.result_.method_fit.evidence.null_shape
    # BIC is flat at a maximum, so that the sample's units hardly show in it.
    assert model.result_.method_fit.evidence.gain == pytest.approx(
        whole.result_.method_fit.evidence.gain, abs=0.01
    )


def test_what_may_hide_a_bias_is_looked_for_in_all_rows(monkeypatch, short_batches):
    monkeypatch.setattr("proxycal.scale.sample.SAMPLE_ROWS", 400)
    # Without an effect of E, so that p is far from 0 and another in any other rows.
    world = draw_world("gaussian", 1000, 0.0, seed=2)
    evidence = ProxyCalibrator(world.roles, direction="over").fit(world.table()).result_.method_fit.evidence
    whole = ordinary(
        ProxyCalibrator(world.roles, direction="over"), world.table()
    ).result_.method_fit.evidence
    assert evidence.sampled < 500
    # Of E, proxies and outcome alone, so that the two paths differ by rounding.
    assert evidence.direct_p == pytest.approx(whole.direct_p, rel=1e-6)


def test_counts_are_repeated_rows(world):
    table = world.table().iloc[:800]
    times = np.random.default_rng(1).integers(1, 4, size=800)
    roles = replace(world.roles, counts="times")
    weighted = ProxyCalibrator(roles, direction="over").fit(table.assign(times=times))
    repeated = ProxyCalibrator(world.roles, direction="over").fit(
        table.iloc[np.repeat(np.arange(800), times)]
    )
    # Slopes of the rows are taken by differences, whose rounding depends on how many are added up.
    same(weighted, repeated, rtol=1e-6)
    assert repeated.result_.n == times.sum()


def test_the_unit_of_weights_changes_nothing_even_where_they_are_whole(world):
    table = world.table().iloc[:800]
    weights = np.random.default_rng(1).integers(500, 1500, size=800)
    roles = replace(world.roles, weights="w")
    one = ProxyCalibrator(roles, direction="over").fit(table.assign(w=weights))
    other = ProxyCalibrator(roles, direction="over").fit(table.assign(w=weights / 1000.0))
    same(one, other)


def test_a_few_validated_rows_are_heard_wherever_they_stand(world, pieces):
    table = world.table()
    table["t"] = np.where(np.arange(len(table)) % (len(table) // 20) == 0, table["y"], np.nan)
    roles = Roles(world.roles.outcome, world.roles.proxies, world.roles.environment, truth="t")
    model = ProxyCalibrator(roles, direction="over").fit(table)
    assert model.alpha_ == pieces.alpha_
    (finding,) = (finding for finding in model.findings_ if finding.topic == "truths")
    assert finding.statistic.startswith("0 of 2")
    assert (pieces.verdict_, model.verdict_) == ("bias found", "not identified")


def test_a_truth_column_without_a_truth_is_as_good_as_none(world, pieces):
    roles = Roles(world.roles.outcome, world.roles.proxies, world.roles.environment, truth="t")
    empty = ProxyCalibrator(roles, direction="over").fit(world.table().assign(t=np.nan))
    assert (empty.verdict_, empty.alpha_) == (pieces.verdict_, pieces.alpha_)


def test_validated_rows_are_learned_from_wherever_they_stand(world):
    table = world.table()
    table["t"] = np.where(np.arange(len(table)) % 10 == 0, world.y_true, np.nan)
    roles = Roles(world.roles.outcome, world.roles.proxies, world.roles.environment, truth="t")
    model, whole = (
        ProxyCalibrator(roles, direction="over").fit(table),
        ordinary(ProxyCalibrator(roles, direction="over"), table),
    )
    assert model.result_.settings.method == "validated"
    assert model.verdict_ == whole.verdict_
    # The rows come in another order, so that mixtures start elsewhere.
    assert model.alpha_ == pytest.approx(whole.alpha_, rel=1e-3)
    errors = [(fit.calibrate(table)["y_cal"] - world.y_true).std() for fit in (model, whole)]
    assert errors[0] == pytest.approx(errors[1], rel=0.05)
    assert errors[0] < 0.7 * (world.y - world.y_true).std()


def test_a_level_that_few_rows_have_is_known(monkeypatch):
    monkeypatch.setattr("proxycal.scale.sample.SAMPLE_ROWS", 300)
    sim = simulate(n=600, alpha=5.0, random_state=0)
    table = sim.table.assign(region=np.where(np.arange(600) == 555, "islet", "main"))
    roles = Roles(sim.roles.outcome, sim.roles.proxies, [*sim.roles.environment, "region"])
    model = ProxyCalibrator(roles, direction="over").fit(table)
    assert len(model.calibrate(table)) == 600


def test_missing_values_are_counted_over_the_whole_table(world, tmp_path, monkeypatch):
    table = world.table()
    table.loc[[7, 1400], "p_1"] = np.nan
    paths = files_of(table, tmp_path)
    monkeypatch.setattr("proxycal.scale.sample.SAMPLE_ROWS", 1400)
    with pytest.raises(TableError, match="'p_1' holds 2 missing values: pass missing='drop'"):
        ProxyCalibrator(world.roles, direction="over").fit_files(paths)
    dropped = ProxyCalibrator(world.roles, direction="over", missing="drop").fit_files(paths)
    assert dropped.result_.n == 1498
    assert any("2 of 1500 rows dropped" in one.statistic for one in dropped.findings_)
    # The sample is another one, and the units of the gate's ridge with it.
    same(dropped, ProxyCalibrator(world.roles, direction="over").fit(table.dropna()), rtol=1e-6)
    assert ProxyCalibrator(world.roles, direction="over", missing="impute").fit_files(paths).result_.n == 1500
    table.loc[3, "y"] = np.nan
    with pytest.raises(TableError, match="never imputed"):
        ProxyCalibrator(world.roles, direction="over", missing="impute").fit(table)


@pytest.mark.usefixtures("short_batches")
def test_a_piece_without_a_complete_row_adds_nothing(world):
    table = world.table()
    table.loc[256:511, "p_1"] = np.nan
    dropped = ProxyCalibrator(world.roles, direction="over", missing="drop").fit(table)
    assert dropped.result_.n == 1500 - 256
    same(dropped, ProxyCalibrator(world.roles, direction="over").fit(table.dropna()), rtol=1e-6)


def test_what_cannot_be_fitted_in_pieces_is_refused_by_name(world, tmp_path):
    clustered = files_of(world.table().assign(c=1), tmp_path)
    roles = Roles(world.roles.outcome, world.roles.proxies, world.roles.environment, cluster="c")
    for model, what in (
        (ProxyCalibrator(world.roles, direction="over", method="moments"), "method='moments'"),
        (ProxyCalibrator(world.roles, direction="over", interval="bootstrap"), "interval='bootstrap'"),
        (ProxyCalibrator(roles, direction="over"), "clusters"),
    ):
        with pytest.raises(SettingsError, match=what):
            model.fit_files(clustered)


def test_a_file_without_a_column_is_named(world, tmp_path):
    paths = files_of(world.table(), tmp_path)
    world.table().drop(columns="p_2").to_parquet(paths[1])
    with pytest.raises(TableError, match=r"part-1\.parquet' has no column 'p_2'"):
        ProxyCalibrator(world.roles, direction="over").fit_files(paths)


@pytest.mark.usefixtures("short_batches")
def test_a_wrong_value_is_named_by_its_row_in_the_table(world, tmp_path):
    table = world.table()
    table.loc[1234, "p_3"] = np.inf
    with pytest.raises(TableError, match=r"'p_3' holds 1 infinite value, at index 1234"):
        ProxyCalibrator(world.roles, direction="over").fit_files(files_of(table, tmp_path))


def test_few_rows_in_several_files_are_an_ordinary_fit(world, paths, whole, monkeypatch):
    monkeypatch.setattr(fit_module, "LARGE", 10**6)
    model = ProxyCalibrator(world.roles, direction="over").fit_files(paths)
    assert model.alpha_ == whole.alpha_
    assert model.result_.method_fit.evidence.sampled == 0


def test_it_is_saved_reported_and_questioned_like_any_other(world, pieces, tmp_path):
    table, model = named(world.table()), pieces
    model.save(tmp_path / "run")
    again = load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.calibrate(table), model.calibrate(table))
    matched = model.effects(table.iloc[:5])["matched"].str.split("; ").explode()
    assert matched.str.startswith("row ").all()
    model.report(tmp_path / "page.html")
    assert "1,500" in (tmp_path / "page.html").read_text()
    assert model.check()


def kill_once(arrays, function, marker):
    """`function` of the rows, in a worker that dies the first time."""
    if not os.path.exists(marker):
        open(marker, "w").close()
        time.sleep(0.2)
        os.kill(os.getpid(), signal.SIGKILL)
    return function(arrays)


def test_dask_changes_no_digit_nor_does_a_worker_that_dies_in_the_middle_of_a_fit(
    world, paths, alone, tmp_path, monkeypatch
):
    marker, add_up = str(tmp_path / "died"), fit_module.EncodedPieces.add_up

    def dying(table, function):
        return add_up(table, partial(kill_once, function=function, marker=marker))

    monkeypatch.setattr(fit_module.EncodedPieces, "add_up", dying)
    other = ProxyCalibrator(world.roles, direction="over").fit_files(paths, jobs=2, engine="dask")
    assert os.path.exists(marker)
    same_digits(other, alone)
