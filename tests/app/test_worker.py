from __future__ import annotations

import os
import subprocess
import sys

import pandas as pd
import pytest

from proxycal.app.worker import defect, refuse_taken
from proxycal.errors import TableError
from proxycal.result import OUTPUT_COLUMNS


@pytest.mark.parametrize("column", [column.name for column in OUTPUT_COLUMNS])
def test_a_column_that_calibration_writes_is_refused_by_name(column):
    with pytest.raises(TableError, match=f"already has a column '{column}'"):
        refuse_taken(pd.DataFrame({"y": [1.0], column: [2.0]}))
    refuse_taken(pd.DataFrame({"y": [1.0]}))


def test_a_defect_says_what_happened_and_whose_it_is():
    assert "ZeroDivisionError" in defect(ZeroDivisionError("division by zero"))
    assert "bug in proxycal" in defect(ZeroDivisionError())


def test_a_job_does_not_outlive_a_program_that_was_killed(tmp_path):
    # As after kill -9 of the program: nobody is left to stop the job, only its input ends.
    command = [sys.executable, "-P", "-m", "proxycal.app.worker", str(tmp_path)]
    os.mkfifo(tmp_path / "request.json")  # it waits here until it is ended
    with (tmp_path / "log").open("wb") as log:
        worker = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
        )
    assert worker.poll() is None
    worker.stdin.close()
    assert worker.wait(60) != 0
    worker.stdout.close()
