"""A whole estimator in one file, as somebody else would bring it: its fit, its record, and its entry.

Everything follows from the mean of y: the upper half is biased by 2, every match is row 1. `random_state`
says which verdict it gives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxycal.methods.registry import Method
from proxycal.result import Details, Effects, Estimate, Finding, Prediction

VERDICTS = ("bias found", "not identified", "no bias found")
TOY = Method(
    name="toy",
    label="toy (half of the rows)",
    summary="the upper half of the rows is biased by 2",
    home="toy_method:fit_toy",
    record="toy_method:ToyFit",
    cost=(1.0, 0.5),
)


@dataclass(frozen=True)
class ToyFit:
    mean: float
    verdict: str

    estimate = Estimate("match", 2.0, 0.1, 1.8, 2.2)
    estimates = (Estimate.missing("exact", "not run"), Estimate("moments", 1.9, 0.3, 1.3, 2.5), estimate)
    share_biased = 0.5
    details = Details(history={"toy.loss": np.array([1.0, 0.5])})

    @property
    def findings(self):
        ok = self.verdict == "bias found"
        return (Finding("Is it there?", "z = 20", "The toy <says> so.", "Nothing.", ok=ok),)

    def predict(self, arrays):
        p = (arrays.y > self.mean).astype(float)
        y_cal = arrays.y - 2.0 * p
        return Prediction(
            y_cal=y_cal,
            y_cal_low=y_cal - 1,
            y_cal_high=y_cal + 1,
            p_biased=p,
            shift=2.0 * p,
            mu=np.full(arrays.n, self.mean),
            z=np.column_stack([arrays.P[:, 0], arrays.E[:, 0]]),
            a=arrays.y - self.mean,
        )

    def effects(self, arrays):
        n = arrays.n
        distances = np.tile([0.25, np.nan], (n, 1))
        return Effects(self.mean - arrays.y, np.ones(n, dtype=int), np.tile([1, -1], (n, 1)), distances)

    def state(self):
        return {"verdict": self.verdict}, {"mean": np.array([self.mean])}

    @classmethod
    def from_state(cls, values, tensors):
        return cls(float(tensors["mean"][0]), values["verdict"])


def fit_toy(arrays, settings):
    return ToyFit(float(arrays.y.mean()), VERDICTS[settings.random_state])
