from __future__ import annotations

import joblib

from proxycal.app.queue import Queue


class Job:
    begun = 0

    def begin(self):
        self.begun += 1


def test_as_many_run_as_there_are_places_and_the_others_know_theirs():
    queue, jobs = Queue(2), [Job() for _ in range(4)]
    for job in jobs:
        queue.enter(job)
    assert [job.begun for job in jobs] == [1, 1, 0, 0]
    assert [queue.place(job) for job in jobs] == [0, 0, 1, 2]
    queue.leave(jobs[0])
    assert [job.begun for job in jobs] == [1, 1, 1, 0]
    assert queue.place(jobs[3]) == 1


def test_who_leaves_while_waiting_is_never_begun_and_who_leaves_twice_frees_one_place():
    queue, jobs = Queue(1), [Job() for _ in range(4)]
    for job in jobs:
        queue.enter(job)
    queue.leave(jobs[1])
    queue.leave(jobs[0])
    queue.leave(jobs[0])
    assert [job.begun for job in jobs] == [1, 0, 1, 0]


def test_there_is_a_place_for_every_core():
    assert Queue().places == joblib.cpu_count()
