"""The methods of the model are there, and documented."""

from __future__ import annotations

import proxycal as pc
from proxycal.analysis.after import AfterCalibration


def test_every_method_is_the_models_own():
    for name, method in vars(AfterCalibration).items():
        if not name.startswith("_"):
            assert getattr(pc.ProxyCalibrator, name) is method
            assert "Examples" in method.__doc__
