"""The process of one job: fit, power if asked, calibrate, report.

    python -m proxycal.app.worker JOB_FOLDER

What it says on standard output is one JSON object a line, for `job`. It ends with the page that started it:
its standard input is held open by that page and ends when the page's server does, however that happens.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxycal.app.request import REFITS, Request
from proxycal.errors import ProxycalError, ProxycalWarning, TableError
from proxycal.limits import out_of_memory
from proxycal.reading.options import Reading, reading_as
from proxycal.result import OUTPUT_COLUMNS
from proxycal.table.surface import speaking

if TYPE_CHECKING:
    import pandas as pd

Tell = Callable[[dict[str, Any]], None]

RUN, CALIBRATED = "run", "calibrated.csv"


def main(folder: Path) -> int:
    """Do what request.json asks; 0 done, 2 bad input, 1 a defect."""
    tell = _voice()
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        asked = json.loads((folder / "request.json").read_text(encoding="utf-8"))
        with speaking("app"), reading_as(_reading(asked["reading"])):
            run(folder, Path(asked["table"]), Request.from_dict(asked["request"]), tell)
    except ProxycalError as error:
        tell({"error": str(error)})
        return 2
    except MemoryError:
        tell({"error": str(out_of_memory("working"))})
        return 2
    except Exception as error:
        tell({"error": defect(error)})
        raise
    return 0


def _reading(values: dict[str, Any]) -> Reading:
    return Reading(**{**values, "missing_values": tuple(values["missing_values"])})


def defect(error: Exception) -> str:
    """The message of an unexpected error."""
    return (
        f"unexpected {type(error).__name__}: {error}. This is a bug in proxycal, not a problem with your data"
    )


def run(folder: Path, table: Path, request: Request, tell: Tell) -> None:
    """The stages, in order; every one is told before it begins."""
    steps = 4 + (request.repetitions > 0) + bool(request.refute)
    numbers = iter(range(1, steps + 1))

    def begin(stage: str, total: int = 0) -> Callable[[int, int], None]:
        step = next(numbers)

        def count(done: int, total: int) -> None:
            tell({"stage": stage, "step": step, "steps": steps, "done": done, "total": total})

        count(0, total)
        return count

    begin("reading the table")
    from proxycal.reading.table import read_table

    frame = read_table(table, text=request.roles.text)
    refuse_taken(frame)
    from proxycal.app.answer import REPORT, write_answer
    from proxycal.files import write_text
    from proxycal.model import ProxyCalibrator
    from proxycal.report.page import render
    from proxycal.report.pictures import pictures_of

    begin(f"fitting {len(frame):,} rows")
    model = ProxyCalibrator.from_settings(request.roles, request.settings).fit(frame)
    if request.repetitions > 0:
        import joblib

        model.n_jobs = joblib.cpu_count()
        count = begin("fitting injected biases", request.repetitions)
        model.power(repetitions=request.repetitions, progress=count)
    if request.refute:
        import joblib

        model.n_jobs = joblib.cpu_count()
        model.refute(request.refute, REFITS, begin("trying to refute the fit", REFITS))  # type: ignore[arg-type]
    begin("calibrating")
    model.save(folder / RUN)
    warned = write_calibrated(folder / RUN, table, folder / CALIBRATED)
    begin("drawing the report")
    pictures = pictures_of(model.result_)  # drawn once, for the report and for the page
    write_text(folder / REPORT, render(model.result_, pictures))
    # Why nothing was calibrated is what the answer itself says.
    others = [text for text in warned if text != model.result_.why_left_alone]
    write_answer(model.result_, pictures, others, folder)


def refuse_taken(frame: pd.DataFrame) -> None:
    """Find out before the fit that the calibrated table would have a column twice."""
    taken = [column.name for column in OUTPUT_COLUMNS if column.name in frame.columns]
    if taken:
        raise TableError(
            f"the table already has a column '{taken[0]}', which calibration writes: rename it first"
        )


def write_calibrated(run: Path, table: Path, path: Path) -> list[str]:
    """Write the table with its calibration, as `proxycal calibrate` does; return what it warned of."""
    from proxycal.scale.calibrate import calibrate_files

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ProxycalWarning)
        # Somebody else may have written the table, and most people open the answer in a spreadsheet.
        calibrate_files(run, [table], path, safe=True)
    return [str(item.message) for item in caught if issubclass(item.category, ProxycalWarning)]


def _voice() -> Tell:
    """Standard output for us alone: what a library prints goes to the log with the errors."""
    ours = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def tell(words: dict[str, Any]) -> None:
        print(json.dumps(words), file=ours, flush=True)

    return tell


def _leave_with_parent() -> None:
    # Not through sys.stdin, whose lock a thread that waits would keep until the very end.
    while os.read(0, 1):
        pass
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpgrp(), signal.SIGKILL)  # with the workers that power started
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
