from __future__ import annotations

import pytest

from proxycal.app.timing import Pace, Progress, share_and_words, usual_seconds


def now(done=0, total=0, seconds=2.0, stage=2.0, step=2, steps=4):
    return Progress("fitting", step, steps, done, total, seconds, stage)


def test_counted_fits_give_the_time_that_is_left():
    share, words = share_and_words(now(done=25, total=100, stage=60.0, step=3, steps=5), expected=1.0)
    assert share == pytest.approx(2.0 / 182.0, abs=0.001)
    assert "25 of 100" in words
    assert "3 min left" in words  # 75 more at 2.4 s


def test_the_time_is_that_of_the_whole_job():
    expected = Pace().expect(1000, 10, "exact", refits=120)
    assert expected > 10 * Pace().expect(1000, 10, "exact")
    words = share_and_words(now(step=2, steps=5, seconds=1.0), expected)[1]
    assert "min left, by the size" in words
    counted = share_and_words(now(total=100, step=3, steps=5), expected)[1]
    assert "min left, by the size" in counted


def test_a_guess_is_called_one_and_never_fills_the_bar():
    assert "by the size" in share_and_words(now(seconds=1.0), expected=10.0)[1]
    share, words = share_and_words(now(seconds=1000.0), expected=10.0)
    assert share < 1.0
    assert "Longer than usual" in words
    assert "left" not in words


def test_the_last_steps_are_nearly_done():
    assert share_and_words(now(step=4, seconds=1000.0), expected=10.0) == (
        0.95,
        "Step 4 of 4: fitting. Nearly done.",
    )


@pytest.mark.parametrize("method", ["exact", "gradual", "paper", "moments"])
def test_more_rows_take_longer(method):
    assert (
        usual_seconds(100_000, 20, method) > usual_seconds(1000, 20, method) > usual_seconds(1000, 5, method)
    )


def test_the_pace_is_learnt_from_the_last_run():
    pace = Pace()
    usual = pace.expect(1000, 10, "exact")
    pace.learn(usual, 3 * usual)
    assert pace.expect(1000, 10, "exact") == pytest.approx(3 * usual)
    pace.learn(usual, 1000 * usual)
    assert pace.expect(1000, 10, "exact") == pytest.approx(10 * usual)


def test_a_job_that_waits_says_its_place():
    waiting = Progress("starting", 0, 4, 0, 0, 0.0, 0.0, waiting=3)
    share, words = share_and_words(waiting, expected=6.0)
    assert share == 0
    assert "place 3 in the queue" in words
