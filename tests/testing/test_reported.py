import numpy as np
import pytest

from proxycal.testing.reported import DIRECT, UNUSUAL, ReportedWorld


@pytest.mark.parametrize("outcome", ["counts", "yes/no"])
def test_a_complete_report_is_the_truth_and_the_others_miss_their_share(outcome):
    level = 5.0 if outcome == "counts" else 0.4
    drawn = {
        report: ReportedWorld(outcome, report, level).draw(0, 20_000)
        for report in ("complete", "some rows", "graded", "everybody alike")
    }
    assert (drawn["complete"].table["y"] == drawn["complete"].y_true).all()
    for world in drawn.values():
        assert (world.table["y"] <= world.y_true).all()
        expected = (world.rate * world.y_true).sum() / world.y_true.sum()
        # The sd of the reported share is below 1% at this size.
        assert world.table["y"].sum() / world.y_true.sum() == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("unusual", UNUSUAL)
@pytest.mark.parametrize("outcome", ["counts", "yes/no"])
def test_unusual_tables_can_be_drawn(outcome, unusual):
    drawn = ReportedWorld(outcome, level=5.0 if outcome == "counts" else 0.4, unusual=unusual).draw(1, 300)
    assert np.isfinite(drawn.table.to_numpy()).all()


def test_a_direct_effect_moves_the_truth_beyond_content():
    plain, moved = (ReportedWorld(direct=direct).draw(2, 5_000) for direct in ("", "line"))
    assert set(DIRECT) == {"line", "step", "curve", "slope"}
    high = plain.table["e_1"] > 1.0
    assert moved.y_true[high].mean() > 1.2 * plain.y_true[high].mean()
