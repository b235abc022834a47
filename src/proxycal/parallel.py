"""One `map` for everything that is many independent pieces of work: processes by joblib, or Dask.

Every piece runs with one thread of linear algebra, whoever runs it. That keeps the pieces from fighting for
the cores, and it makes results the same to the last digit whatever the engine and the number of jobs: a
sum over threads is rounded differently from a sum over one.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing, contextmanager
from functools import cache
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from threadpoolctl import ThreadpoolController

from proxycal.errors import EngineError, SettingsError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Engine = Literal["joblib", "dask"]
# What a cluster that lives for one piece of work does without.
_LEAN: dict[str, Any] = {
    # To return memory as soon as can be: pieces of work that need the same memory again fault it in again,
    # thirty times the page faults, and a quarter of calibration's time.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
    # To watch itself for a dashboard that nobody opens: a twentieth of a core in each process, idle or not.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    # To tell the web how it fares: nobody asked.
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
# For this computer only, and no dashboard: who wants one starts a scheduler and passes its address.
_PRIVATE: dict[str, Any] = {"host": "127.0.0.1", "dashboard_address": None, "worker_dashboard_address": None}
# How long a scheduler may take to answer.
ANSWER_WITHIN = "10s"
# Seconds between two looks of a worker at whether its program lives.
_LOOK = 1.0
Item = TypeVar("Item")
Result = TypeVar("Result")


def map_as_done(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    jobs: int = 1,
    engine: Engine = "joblib",
    scheduler: str | None = None,
) -> Iterator[tuple[int, Result]]:
    """Yield (position of the item, its result), each as soon as it is done, in whatever order.

    function : of a module, not a closure over open files; it runs in another process when jobs > 1.
    jobs : processes, at most as many as cores and items. With engine="dask" and no scheduler they form a
    local cluster; with the address of a scheduler its own workers are used and `jobs` says nothing.

    >>> sorted(map_as_done(abs, [-3, 2, -1]))
    [(0, 3), (1, 2), (2, 1)]
    """
    if isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1:
        raise SettingsError(f"jobs={jobs!r}: use a whole number of 1 or more")
    _check_names(engine, scheduler)
    # More processes than cores only wait for each other, and hold memory meanwhile.
    jobs = 1 if jobs == 1 else min(jobs, max(len(items), 1), _cores())
    if engine == "dask":
        return _by_dask(function, items, jobs, scheduler)
    return _in_turn(function, items) if jobs == 1 else _by_joblib(function, items, jobs)


def check_scheduler(engine: Engine, scheduler: str | None) -> None:
    """Refuse an engine that is not known and a scheduler that does not answer, before any work."""
    _check_names(engine, scheduler)
    if scheduler is not None:
        with _client(_distributed(), 1, scheduler):
            pass


def _check_names(engine: Engine, scheduler: str | None) -> None:
    if engine not in ("joblib", "dask"):
        raise SettingsError(f"engine={engine!r} is not known: use 'joblib' or 'dask'")
    if scheduler is not None and engine != "dask":
        raise SettingsError(f"scheduler={scheduler!r} belongs to engine='dask': pass that as well")


def _cores() -> int:
    import joblib

    return int(joblib.cpu_count())


def _in_turn(function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[tuple[int, Result]]:
    for position, item in enumerate(items):
        yield _numbered(function, position, item)


def _by_joblib(
    function: Callable[[Item], Result], items: Sequence[Item], jobs: int
) -> Iterator[tuple[int, Result]]:
    # Loaded here and above: it takes a tenth of a second, and small tables are fitted in this process.
    import joblib
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    parent = os.getpid()
    calls = (
        joblib.delayed(_in_worker)(parent, function, position, item) for position, item in enumerate(items)
    )
    with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
        # One item per dispatch: a batch would hold back the results that are done.
        run = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
        with closing(run(calls)) as results:
            try:
                yield from results
            except TerminatedWorkerError as error:
                raise EngineError(
                    "a worker process died, usually out of memory: run again with fewer jobs; "
                    "--resume continues the run"
                ) from error


def _by_dask(
    function: Callable[[Item], Result], items: Sequence[Item], jobs: int, scheduler: str | None
) -> Iterator[tuple[int, Result]]:
    distributed = _distributed()
    with _client(distributed, jobs, scheduler) as client:
        futures = [
            # pure=False: the same item twice is two pieces of work, as with joblib.
            client.submit(_numbered, function, position, item, pure=False)
            for position, item in enumerate(items)
        ]
        try:
            for future in distributed.as_completed(futures, loop=client.loop):
                yield cast("tuple[int, Result]", future.result())
                future.release()
        except distributed.scheduler.KilledWorker as error:
            raise EngineError(
                f"Dask gave up on a piece of work after several workers died with it ({error.task}): "
                "give the workers more memory; a sweep goes on where it stopped with --resume"
            ) from error
        finally:
            client.cancel(futures)


@contextmanager
def cluster(jobs: int, engine: Engine = "dask", scheduler: str | None = None) -> Iterator[str | None]:
    """The `scheduler` of several maps in a row: the one given, or with Dask a local cluster of `jobs`."""
    if engine != "dask" or scheduler is not None:
        check_scheduler(engine, scheduler)
        yield scheduler
        return
    with _client(_distributed(), min(jobs, _cores()), None) as client:
        yield str(client.scheduler.address)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise UnavailableError(
            "engine='dask' needs Dask: pip install 'proxycal[dask]', or use engine='joblib'"
        ) from error
    return distributed


@contextmanager
def _client(distributed: Any, jobs: int, scheduler: str | None) -> Iterator[Any]:
    """A client of the scheduler at that address, or of a local cluster that ends with the block."""
    if scheduler is not None:
        try:
            client = distributed.Client(scheduler, timeout=ANSWER_WITHIN, set_as_default=False)
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"no Dask scheduler answers at '{scheduler}' ({error}): check the address and that it runs"
            ) from error
        with client:
            yield client
        return
    import dask

    with dask.config.set(_LEAN):
        local = distributed.LocalCluster(n_workers=jobs, threads_per_worker=1, **_PRIVATE)
    with local, distributed.Client(local, set_as_default=False) as client:
        yield client


def _numbered(function: Callable[[Item], Result], position: int, item: Item) -> tuple[int, Result]:
    with ONE_THREAD:
        return position, function(item)


def _in_worker(
    parent: int, function: Callable[[Item], Result], position: int, item: Item
) -> tuple[int, Result]:
    _leave_with(parent)
    return _numbered(function, position, item)


@cache
def _leave_with(parent: int) -> None:
    """End this worker when the program that started it is gone: nobody would collect its results."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK)
        os._exit(1)

    Thread(target=watch, daemon=True).start()


class _OneThread:
    """Limit linear algebra to one thread while any piece of work runs in this process.

    The limit is of the process, and a Dask worker may run several pieces in threads of it: the first to come
    sets the limit, the last to leave lifts it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit: Any = None
        # To look for the libraries takes longer than many a small step; new ones come with new modules.
        self._libraries: tuple[int, ThreadpoolController] | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                try:
                    if self._libraries is None or self._libraries[0] != len(sys.modules):
                        self._libraries = len(sys.modules), ThreadpoolController()
                    self._limit = self._libraries[1].limit(limits=1)
                except OSError as error:  # it looks for the libraries among the files that are open
                    raise EngineError(
                        f"the threads of linear algebra cannot be limited to one: {error.strerror}; close "
                        "other programs and run again"
                    ) from error
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._limit is not None:
                self._limit.restore_original_limits()
                self._limit = None


ONE_THREAD = _OneThread()
