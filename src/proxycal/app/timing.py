"""How far a job is and how long it will still take, said honestly."""

from __future__ import annotations

from dataclasses import dataclass

from proxycal.methods.registry import METHODS

# A bar that is guided by a guess never pretends to be full.
_GUESSED_END = 0.95
# What one of many further fits takes beside a whole run with its report, on two cores.
_REFIT = 0.3


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a job is.

    stage : what it does now. step, steps : which of how many stages. done, total : of what is counted in this
    stage (total 0: nothing is). seconds, stage_seconds : since the start of the job and of the stage.
    waiting : its place in the queue, 0 once it has begun.
    """

    stage: str
    step: int
    steps: int
    done: int
    total: int
    seconds: float
    stage_seconds: float
    waiting: int = 0


class Pace:
    """How this machine compares with the one that the costs were measured on, by the last run that ended."""

    def __init__(self) -> None:
        self.ratio = 1.0

    def learn(self, expected: float, taken: float) -> None:
        """Remember what a finished run took; one odd run moves the guess no more than tenfold."""
        self.ratio = min(max(taken / expected, 0.1), 10.0) if expected > 0 else self.ratio

    def expect(self, rows: int, columns: int, method: str, refits: int = 0) -> float:
        """Seconds that a whole job will take here; refits : the fits of power and refutations."""
        return self.ratio * usual_seconds(rows, columns, method) * (1.0 + _REFIT * refits)


def usual_seconds(rows: int, columns: int, method: str) -> float:
    """Seconds that a run without power takes on an ordinary machine.

    >>> usual_seconds(1000, 10, "exact")
    5.12
    """
    base, rate = METHODS[method].cost
    return base + rate * rows / 1000 * max(columns, 1) / 10


def share_and_words(now: Progress, expected: float) -> tuple[float, str]:
    """How full the bar is (0 to 1), and what stands beside it.

    Where fits are counted, the time left is measured; before, it is judged for the whole job by the size of
    the table.

    >>> share_and_words(Progress("fitting injected biases", 3, 5, 30, 120, 70.0, 60.0), expected=6.0)
    (0.28, 'Step 3 of 5: fitting injected biases, 30 of 120 done. About 3 min left.')
    >>> share_and_words(Progress("fitting 614 rows", 2, 4, 0, 0, 2.0, 1.0), expected=6.0)
    (0.3333333333333333, 'Step 2 of 4: fitting 614 rows. About 5 s left, by the size of the table.')
    """
    if now.waiting:
        return 0.0, f"Waiting for other runs on this computer: place {now.waiting} in the queue."
    head = f"Step {now.step} of {now.steps}: {now.stage}"
    if now.total > 0 and now.done > 0:
        left = now.stage_seconds / now.done * (now.total - now.done)
        share = round(min(now.seconds / max(now.seconds + left, 1e-9), _GUESSED_END), 3)
        return share, f"{head}, {now.done} of {now.total} done. {_left(left)}."
    if now.step >= now.steps - 1 and now.total == 0:
        return _GUESSED_END, f"{head}. Nearly done."
    share = min(now.seconds / expected, _GUESSED_END)
    if now.seconds > expected:
        return (
            share,
            f"{head}. Longer than usual for this size: {in_words(now.seconds)} so far, still working.",
        )
    return share, f"{head}. {_left(expected - now.seconds)}, by the size of the table."


def in_words(seconds: float) -> str:
    """A time as people say it.

    >>> in_words(7.2), in_words(64), in_words(200), in_words(7300)
    ('10 s', '65 s', '3 min', '2 h')
    """
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5 + 0.4))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{round(seconds / 3600)} h"


def _left(seconds: float) -> str:
    return f"About {in_words(seconds)} left"
