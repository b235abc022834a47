"""A table in pieces on the log scale: the same answer as in memory, and counts of all rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

import proxycal as pc
from loss_tables import ROLES, losses
from proxycal.scale.pieces import FramePieces


def test_pieces_agree_with_the_table_in_memory(monkeypatch, tmp_path):
    table, _, _ = losses(n=900, zeros=0.2)
    memory = pc.ProxyCalibrator(ROLES, direction="under", scale="log").fit(table)
    monkeypatch.setattr("proxycal.scale.pieces.BATCH", 250)
    monkeypatch.setattr("proxycal.scale.fit.LARGE", 800)
    pieces = pc.ProxyCalibrator(ROLES, direction="under", scale="log").fit(table)
    assert pieces.verdict_ == memory.verdict_ == "bias found"
    # The sample is all rows: what differs is rounding.
    assert abs(pieces.alpha_ - memory.alpha_) < 1e-3 * memory.alpha_se_
    zeros = pieces.result_.method_fit.zeros
    assert (zeros.count, zeros.n) == (int((table["loss"] == 0).sum()), 900)
    np.testing.assert_allclose(pieces.calibrate(table), memory.calibrate(table), rtol=1e-4, atol=1e-4)
    pieces.save(tmp_path / "run")
    pd.testing.assert_frame_equal(pc.load(tmp_path / "run").totals(table), pieces.totals(table))
    assert FramePieces(table).frame is table


def test_validated_rows_in_pieces_agree_with_the_table_in_memory(monkeypatch):
    table, true, _ = losses(n=900, zeros=0.2)
    table["truth"] = np.where(np.random.default_rng(0).random(900) < 0.2, true, np.nan)
    roles = replace(ROLES, truth="truth")
    memory = pc.ProxyCalibrator(roles, direction="under", scale="log").fit(table)
    monkeypatch.setattr("proxycal.scale.pieces.BATCH", 250)
    monkeypatch.setattr("proxycal.scale.fit.LARGE", 800)
    pieces = pc.ProxyCalibrator(roles, direction="under", scale="log").fit(table)
    assert pieces.result_.settings.method == "validated"
    assert pieces.verdict_ == memory.verdict_ == "bias found"
    # Rows are learned from in another order, which folds and trees do not mind much.
    assert abs(pieces.alpha_ - memory.alpha_) < 1e-6
    own, other = pieces.totals(table).iloc[-1], memory.totals(table).iloc[-1]
    assert abs(own["calibrated"] - other["calibrated"]) < 0.2 * (other["high"] - other["low"])
