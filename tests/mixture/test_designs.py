"""Features of rows: each way to form them once, whatever the order or the units of the rows."""

from dataclasses import fields, replace

import numpy as np
import pytest

from proxycal.mixture import designs
from proxycal.mixture.designs import Data, candidate_frames, canonical_order
from proxycal.testing.worlds import draw_world


def data_of(world):
    numeric = np.arange(5 + world.E.shape[1]) < 10
    levels = None if world.level is None else {"level": world.level}
    return Data(world.y, world.P, world.E, np.ones(len(world.y)), numeric, world.cluster, levels)


@pytest.fixture(scope="module")
def zeros():
    return draw_world("zero-inflated", 300, 1.0, seed=1)


def test_canonical_order_depends_on_the_values_only(zeros):
    data = data_of(zeros)
    assert len(np.unique(data.y)) < len(data.y)
    order = np.random.default_rng(5).permutation(len(data.y))
    shuffled = data.take(order)
    one, other = data.take(canonical_order(data)), shuffled.take(canonical_order(shuffled))
    for name in ("y", "P", "E", "weights"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_frames_offer_each_way_once():
    world = draw_world("gaussian", 200, 0.0, seed=0)
    data = data_of(world)
    names = ["linear", "splines of P", "splines of E", "splines of P and E", "products of E"]
    assert list(candidate_frames(data, "constant")) == names
    stiff = replace(data, curved=np.zeros(10, bool))
    assert list(candidate_frames(stiff, "constant")) == ["linear", "products of E"]
    frame = candidate_frames(data, "constant")["linear"]
    rows = frame.rows(data)
    assert rows.y.mean() == pytest.approx(0.0, abs=1e-12)
    assert rows.y.std() == pytest.approx(1.0, rel=1e-12)


def test_taking_rows_takes_all_of_them():
    world = draw_world("alpha by level", 50, 1.0, seed=0)
    data = replace(data_of(world), cluster=np.arange(50), trusted=np.arange(50) % 7 == 0)
    part = data.take(np.array([3, 1]))
    for field in fields(Data):
        if not field.init:
            continue
        value, kept = getattr(data, field.name), getattr(part, field.name)
        if field.name == "levels":
            np.testing.assert_array_equal(kept["level"], value["level"][[3, 1]])
        elif field.name == "curved":
            np.testing.assert_array_equal(kept, value)
        else:
            np.testing.assert_array_equal(kept, value[[3, 1]])


def test_features_of_a_few_rows_are_formed_once_and_those_of_others_anew(monkeypatch):
    data = data_of(draw_world("gaussian", 80, 1.0, seed=0))
    frames = candidate_frames(data, "constant")
    rows = frames["linear"].rows(data)
    assert frames["linear"].rows(data) is rows
    assert frames["splines of P"].rows(data).X.shape != rows.X.shape
    part, moved = data.take(np.arange(30)), replace(data, y=data.y + 1.0)
    np.testing.assert_array_equal(frames["linear"].rows(part).y, rows.y[:30])
    np.testing.assert_allclose(frames["linear"].rows(moved).y, rows.y + 1.0 / frames["linear"].scale)
    monkeypatch.setattr(designs, "CHUNK", 40)
    many = replace(data)
    assert frames["linear"].rows(many) is not frames["linear"].rows(many)


def test_a_slice_of_pieces_is_a_list_of_them():
    data = data_of(draw_world("gaussian", 400, 3.0, seed=1))
    frame = designs.candidate_frames(data, "constant")["linear"]
    chunks = frame.chunks(data)
    assert len(chunks[0:1]) == len(chunks) == 1
    assert chunks[0].X.shape[0] == 400


def test_spaced_rows_are_even_and_all_of_a_small_table():
    np.testing.assert_array_equal(designs.spaced(5, 10), np.arange(5))
    np.testing.assert_array_equal(designs.spaced(100, 10), np.arange(0, 100, 10))


def test_pieces_hold_every_row_once_in_order(monkeypatch):
    monkeypatch.setattr(designs, "CHUNK", 7)
    made = designs.pieces(23)
    assert [len(piece) for piece in made] == [7, 7, 7, 2]
    np.testing.assert_array_equal(np.concatenate(made), np.arange(23))
    assert designs.pieces(0) == []


@pytest.mark.parametrize("kept", [True, False])
def test_pieces_have_the_features_of_the_whole(monkeypatch, kept):
    data = data_of(draw_world("gaussian", 90, 2.0, seed=2))
    frame = candidate_frames(data, "constant")["splines of P and E"]
    monkeypatch.setattr(designs, "CHUNK", 40)
    monkeypatch.setattr(designs, "KEEP_ROWS", 1000 if kept else 10)
    whole, chunks = frame.rows(data), frame.chunks(data)
    assert len(chunks) == 3
    for name in ("y", "X", "G", "D"):
        joined = np.concatenate([getattr(piece, name) for piece in chunks])
        # The same columns: products over fewer rows may round otherwise.
        np.testing.assert_allclose(joined, getattr(whole, name), rtol=1e-10, atol=1e-12)


def test_the_shift_has_a_column_per_level_or_per_gate_column():
    data = data_of(draw_world("alpha by level", 60, 1.0, seed=0))
    by_level = candidate_frames(data, "by:level")["linear"].rows(data)
    np.testing.assert_array_equal(by_level.D.argmax(axis=1), data.levels["level"])
    np.testing.assert_array_equal(by_level.D.sum(axis=1), 1.0)
    linear = candidate_frames(data, "linear")["linear"].rows(data)
    np.testing.assert_array_equal(linear.D, linear.G)
