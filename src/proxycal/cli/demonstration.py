"""The main job on a real table with a bias of known size: what was put in beside what was found.

JOBS has no known bias of its own, so one is injected: A ~ Bernoulli(logistic(w'E)), the outcome standardised,
then + alpha * A. The fit never sees the truth; it is only compared with it here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from proxycal.cli.request import DEFAULT_METHOD
from proxycal.datasets import load_jobs
from proxycal.model import ProxyCalibrator
from proxycal.testing.simulation import inject_bias

if TYPE_CHECKING:
    import pandas as pd

    from proxycal.testing.simulation import Simulation

ALPHA = 1.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Truth beside estimate.

    share_true, share_found : share of biased rows. accuracy : rows whose more likely group is the true one.
    rmse_reported, rmse_calibrated : error of y_obs and of y_cal against y_true, in the outcome's units.
    """

    alpha_true: float
    alpha_found: float
    share_true: float
    share_found: float
    accuracy: float
    rmse_reported: float
    rmse_calibrated: float

    def to_dict(self) -> dict[str, float]:
        """The comparison as plain JSON values."""
        return asdict(self)


def biased_jobs(alpha: float = ALPHA, seed: int = 0) -> Simulation:
    """JOBS with a bias of size `alpha` (in standard deviations of the outcome) and its truth."""
    jobs = load_jobs()
    return inject_bias(jobs.table, jobs.roles, alpha=alpha, random_state=seed)


def fit_demo(sim: Simulation, method: str = DEFAULT_METHOD, seed: int = 0) -> ProxyCalibrator:
    """The fit, as a user would run it on a table without truth."""
    return ProxyCalibrator(sim.roles, method=method, random_state=seed).fit(sim.table)


def compare(calibrated: pd.DataFrame, sim: Simulation, alpha_true: float, alpha_found: float) -> Comparison:
    """Hold the calibrated table against the truth that was put in."""
    y_true = sim.truth["y_true"].to_numpy()
    a = sim.truth["a"].to_numpy()
    p_biased = calibrated["p_biased"].to_numpy()
    return Comparison(
        alpha_true=alpha_true,
        alpha_found=alpha_found,
        share_true=float(a.mean()),
        share_found=float(p_biased.mean()),
        accuracy=float(np.mean((p_biased > 0.5) == (a == 1))),
        rmse_reported=_rmse(sim.table[sim.roles.outcome].to_numpy(), y_true),
        rmse_calibrated=_rmse(calibrated["y_cal"].to_numpy(), y_true),
    )


def lines(compared: Comparison, verdict: str) -> list[str]:
    """The comparison as a small table of text, and one honest sentence about it."""
    head = f"{'':<24}{'truth':>9}{'found':>9}"
    size = f"{'size of the bias':<24}{compared.alpha_true:>9.3f}{compared.alpha_found:>9.3f}"
    share = f"{'share of biased rows':<24}{compared.share_true:>9.1%}{compared.share_found:>9.1%}"
    who = f"{'who is biased':<24}{compared.accuracy:>18.1%} of rows put in the right group"
    before = f"{'error as reported':<24}{compared.rmse_reported:>18.3f} (RMSE against the truth)"
    after = f"{'error after calibration':<24}{compared.rmse_calibrated:>18.3f}"
    return [head, size, share, who, before, after, "", _moral(compared, verdict)]


def _moral(compared: Comparison, verdict: str) -> str:
    if verdict != "bias found":
        return (
            f"The verdict is '{verdict}', so the outcome was left as reported. A bias was there: "
            "on this table the method could not show it."
        )
    saved = 1 - compared.rmse_calibrated / compared.rmse_reported
    if saved > 0:
        return f"Calibration removed {saved:.0%} of the error."
    return "Calibration made the error larger: on this table the method went wrong."


def _rmse(y: np.ndarray, y_true: np.ndarray) -> float:
    return float(np.sqrt(np.mean((y - y_true) ** 2)))
