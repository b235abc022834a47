"""Run folders: a finished fit (fit.py) as plain files that are checked when they are read (folder.py)."""

from proxycal.store.fit import keep_answers, load_fit, save_fit, versions
from proxycal.store.folder import MANIFEST, RUN_FILES, run_digest

__all__ = ["MANIFEST", "RUN_FILES", "keep_answers", "load_fit", "run_digest", "save_fit", "versions"]
