from __future__ import annotations

import numpy as np
import pytest

from proxycal import PaperSettings
from proxycal.errors import SettingsError
from proxycal.studies.tedvae import TedvaeSettings, fit_tedvae


def test_tedvae_finds_the_effect_of_a_treatment_it_is_told():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(500, 3))
    t = (rng.random(500) < 0.5).astype(float)
    y = x[:, 0] + 3.0 * t + 0.2 * rng.normal(size=500)
    rows = np.arange(500)
    network = PaperSettings(width=32, epochs=20, min_steps=120, learning_rate=5e-3)
    long = TedvaeSettings(network, d_latent=2)
    assert fit_tedvae([x], [t], y, [rows[:450]], [rows[450:]], long, seed=0)[0].alpha == pytest.approx(
        3.0, rel=0.1
    )


@pytest.mark.parametrize("wrong", [{"d_latent": 0}, {"aux_t": -0.1}, {"aux_y": -1.0}])
def test_a_setting_that_cannot_be_is_refused(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        TedvaeSettings(**wrong)
