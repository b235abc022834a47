"""Run folders of every format that there was: they answer what they answered, or are refused by number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal.errors import StoreError
from proxycal.store.folder import FORMAT

KEPT = sorted(path for path in Path(__file__).with_name("formats").iterdir() if path.is_dir())


def number_of(folder: Path) -> int:
    return int(folder.name.partition("-")[0])


def test_the_present_format_is_kept():
    # Written by scripts/keep_format.py; who raises FORMAT runs it, and the earlier ones stay.
    assert FORMAT in {number_of(folder) for folder in KEPT}


@pytest.mark.parametrize("folder", KEPT, ids=lambda folder: folder.name)
def test_a_kept_run_means_what_it_meant(folder):
    manifest = json.loads((folder / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["format"] == number_of(folder)
    if number_of(folder) < FORMAT:
        with pytest.raises(StoreError, match=f"older proxycal .format {number_of(folder)}"):
            proxycal.load(folder / "run")
        return
    table, answers = (pd.read_csv(folder / f"{name}.csv") for name in ("table", "answers"))
    made = proxycal.load(folder / "run").calibrate(table)
    assert list(made.columns) == list(answers.columns)
    for name in answers:
        # The last digits are those of the processor; another meaning of a number shows before them. Raise
        # FORMAT where this fails for a good reason: whoever has such a run must be told to fit again.
        np.testing.assert_allclose(made[name], answers[name], rtol=1e-7, atol=1e-7, err_msg=name)
