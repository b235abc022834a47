"""`proxycal demo`: the main job on a real table with a bias of known size, truth beside estimate.

The fit never sees the truth; it is only compared with it here.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proxycal.cli import console
from proxycal.cli.options import Json, Quiet, Seed
from proxycal.errors import ProxycalWarning

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from proxycal.testing.simulation import Simulation


def demo(
    out: Annotated[Path, typer.Option(help="Run folder to write.")] = Path("demo"),
    seed: Seed = 0,
    quiet: Quiet = False,
    json_output: Json = False,
) -> None:
    """Fit measured weights with a known injected bias, and print the truth beside the estimate."""
    from proxycal.store import check_run_folder

    check_run_folder(out)
    with console.working("fitting weights with an injected bias", quiet):
        from proxycal.model import ProxyCalibrator
        from proxycal.testing.example import EXAMPLE_ALPHA, biased_weights

        sim = biased_weights(seed=seed)
        model = ProxyCalibrator(sim.roles, direction="under", random_state=seed).fit(sim.table)
        with warnings.catch_warnings():
            # That nothing was calibrated is said in the text below.
            warnings.simplefilter("ignore", ProxycalWarning)
            compared = compare(model.calibrate(sim.table), sim, EXAMPLE_ALPHA, model.alpha_)
        page = console.write_run(model.result_, out)
    if json_output:
        paths = {"run": str(out), "report": str(page)}
        console.print_json({**console.result(model.result_), "truth": asdict(compared), **paths})
    elif not quiet:
        console.say(
            f"Measured weights of {len(sim.table):,} adults (NHANES 2017-2018), about half of them lowered "
            f"by {EXAMPLE_ALPHA:g} kg",
            "",
        )
        console.show(model.result_)
        console.say("", *lines(compared, model.verdict_), "", f"run folder: {out}", f"report:     {page}")


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


def compare(calibrated: pd.DataFrame, sim: Simulation, alpha_true: float, alpha_found: float) -> Comparison:
    """Compare a calibrated table with the truth."""
    y_true = sim.truth["y_true"].to_numpy()
    a = sim.truth["a"].to_numpy()
    p_biased = calibrated["p_biased"].to_numpy()
    return Comparison(
        alpha_true=alpha_true,
        alpha_found=alpha_found,
        share_true=float(a.mean()),
        share_found=float(p_biased.mean()),
        accuracy=float(((p_biased > 0.5) == (a == 1)).mean()),
        rmse_reported=_rmse(sim.table[sim.roles.outcome].to_numpy(), y_true),
        rmse_calibrated=_rmse(calibrated["y_cal"].to_numpy(), y_true),
    )


def lines(compared: Comparison, verdict: str) -> list[str]:
    """The comparison as a small table of text, and one sentence about it."""
    return [
        f"{'':<24}{'truth':>9}{'estimate':>10}",
        f"{'size of the bias':<24}{compared.alpha_true:>9.1f}{compared.alpha_found:>10.1f}",
        f"{'share of biased rows':<24}{compared.share_true:>9.0%}{compared.share_found:>10.0%}",
        f"{'rows in the right group':<24}{'':>9}{compared.accuracy:>10.0%}",
        "",
        f"{'error as reported':<24}{compared.rmse_reported:>19.1f} (root mean square, against the truth)",
        f"{'error after calibration':<24}{compared.rmse_calibrated:>19.1f}",
        "",
        _conclusion(compared, verdict),
    ]


def _conclusion(compared: Comparison, verdict: str) -> str:
    if verdict != "bias found":
        return (
            f"The verdict is '{verdict}', so the outcome was left as reported. There is a bias, but the "
            "method could not detect it in this table."
        )
    saved = 1 - compared.rmse_calibrated / compared.rmse_reported
    if saved > 0:
        return f"Calibration removed {saved:.0%} of the error."
    return "Calibration made the error larger: the method is wrong on this table."


def _rmse(y: np.ndarray, y_true: np.ndarray) -> float:
    return float(((y - y_true) ** 2).mean() ** 0.5)
