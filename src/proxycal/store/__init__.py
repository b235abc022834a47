"""Run folders: a finished fit (fit.py) as plain files that are checked when they are read (folder.py).

What may be written where is decided by place.py.
"""

from proxycal.store.fit import keep_answers, load_fit, save_fit, versions
from proxycal.store.folder import run_digest
from proxycal.store.place import MANIFEST, RUN_FILES, check_folder, check_output, check_run_folder

__all__ = [
    "MANIFEST",
    "RUN_FILES",
    "check_folder",
    "check_output",
    "check_run_folder",
    "keep_answers",
    "load_fit",
    "run_digest",
    "save_fit",
    "versions",
]
