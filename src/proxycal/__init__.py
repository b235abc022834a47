"""Calibrate a biased measurement with proxies that never saw the report.

files -> table -> methods (on mixture, effect) -> Fit -> questions -> report

Names are loaded on first use, so that `import proxycal` is quick and loads no torch.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from proxycal.errors import ProxycalError, ProxycalWarning

if TYPE_CHECKING:
    from proxycal import datasets as datasets
    from proxycal.analysis.impute_files import impute_files as impute_files
    from proxycal.analysis.pool import pool as pool
    from proxycal.analysis.surveys import Survey as Survey
    from proxycal.datasets.nation import simulate_disasters as simulate_disasters
    from proxycal.formula import fit as fit
    from proxycal.methods.paper.settings import PaperSettings as PaperSettings
    from proxycal.model import ProxyCalibrator as ProxyCalibrator
    from proxycal.model import load as load
    from proxycal.questions.answers import Power as Power
    from proxycal.questions.answers import Refutation as Refutation
    from proxycal.reading.table import read_table as read_table
    from proxycal.result import Finding as Finding
    from proxycal.result import Fit as Fit
    from proxycal.scale.calibrate import calibrate_files as calibrate_files
    from proxycal.table.audit import audit as audit
    from proxycal.table.roles import Roles as Roles
    from proxycal.testing.simulation import inject_bias as inject_bias
    from proxycal.testing.simulation import simulate as simulate

__version__ = "0.1.0"

_HOME = {
    "Finding": "proxycal.result",
    "Fit": "proxycal.result",
    "PaperSettings": "proxycal.methods.paper.settings",
    "Power": "proxycal.questions.answers",
    "ProxyCalibrator": "proxycal.model",
    "Survey": "proxycal.analysis.surveys",
    "Refutation": "proxycal.questions.answers",
    "Roles": "proxycal.table.roles",
    "audit": "proxycal.table.audit",
    "calibrate_files": "proxycal.scale.calibrate",
    "datasets": "proxycal.datasets",
    "fit": "proxycal.formula",
    "impute_files": "proxycal.analysis.impute_files",
    "inject_bias": "proxycal.testing.simulation",
    "load": "proxycal.model",
    "pool": "proxycal.analysis.pool",
    "read_table": "proxycal.reading.table",
    "simulate": "proxycal.testing.simulation",
    "simulate_disasters": "proxycal.datasets.nation",
}

__all__ = ["ProxycalError", "ProxycalWarning", "__version__", *sorted(_HOME)]


# One logger, silent until somebody listens: logging.basicConfig(level="INFO"), or -v in a shell.
logging.getLogger("proxycal").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(
            f"module 'proxycal' has no attribute {name!r}; public names: {', '.join(__all__)}"
        )
    module = importlib.import_module(_HOME[name])
    value = module if name == "datasets" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
