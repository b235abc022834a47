"""Settings refuse what is not allowed, and a TOML file gives back exactly what was written."""

from __future__ import annotations

import dataclasses
import tomllib

import numpy as np
import pytest

from proxycal.errors import SettingsError
from proxycal.methods.paper.settings import PaperSettings
from proxycal.settings import Settings
from proxycal.table.surface import speaking


def test_defaults_are_those_of_the_contract():
    settings = Settings(direction="over")
    assert (settings.method, settings.scale, settings.effect) == ("auto", "linear", "constant")
    assert (settings.level, settings.missing, settings.random_state, settings.n_jobs) == (0.95, "raise", 0, 1)


def test_toml_round_trip_is_exact():
    settings = Settings(
        direction="over",
        method="paper",
        effect='by:hazard "x"\\ \x7f é😀\n',
        level=0.1 + 0.2,
        sections={
            "paper": PaperSettings(learning_rate=1e-7, beta=3e17, encode_environment=True, validation=1 / 7)
        },
    )
    assert Settings.from_toml(settings.to_toml()) == settings


def test_toml_is_plain_keys_then_sections():
    found = tomllib.loads(Settings(direction="over", level=0.9).to_toml())
    assert found["level"] == 0.9
    assert found["paper"]["epochs"] == 50


def test_every_field_survives_toml_at_a_value_that_is_not_its_default():
    other = {
        "cut": "otsu",
        "prior": "conditional",
        "quantile": 0.7,
        "variance": "by row",
        "scale_outcome": False,
        "norm": "layer",
        "encode_environment": True,
        "adjust": False,
        "warmup": 0.5,
        "device": "cuda:1",
    }
    for item in dataclasses.fields(PaperSettings):
        value = other[item.name] if item.name in other else item.default * 2
        settings = Settings(
            direction="over", sections={"paper": dataclasses.replace(PaperSettings(), **{item.name: value})}
        )
        again = Settings.from_toml(settings.to_toml()).section("paper")
        assert getattr(again, item.name) == value != item.default


def test_missing_keys_keep_their_defaults():
    assert Settings.from_toml('direction = "over"\n[paper]\nk = 3\n') == Settings(
        direction="over", sections={"paper": PaperSettings(k=3)}
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("methd = 'paper'", r"unknown setting methd; known settings: method, .*paper"),
        ("[paper]\nepoch = 3", r"unknown setting paper\.epoch; known settings: .*paper\.epochs"),
        ("direction = 'up'", r"direction = 'up' is not known; use one of: \"over\", \"under\""),
        ("effect = 'by:'", r"effect = 'by:' is not known; .*\"by:COLUMN\""),
        ("level = 1.0", r"level = 1\.0 must be a number above 0 and below 1"),
        ("level = nan", r"level = nan must be"),
        ("level = '0.9'", r"level = '0\.9' must be a number"),
        ("level = true", r"level = True must be a number"),
        ("random_state = -1", r"random_state = -1 must be a whole number of at least 0"),
        ("random_state = 1.5", r"random_state = 1\.5 must be a whole number"),
        ("n_jobs = 0", r"n_jobs = 0 must be .* not 0"),
        ("method = 3", r"method = 3 is not known"),
        ("paper = 3", r"paper must be a section"),
        ("[paper]\nencode_environment = 1", r"paper\.encode_environment = 1 must be true or false"),
        ("[paper]\nbatch_size = 1", r"paper\.batch_size = 1 must be a whole number of at least 2"),
        ("[paper]\nbeta = 0", r"paper\.beta = 0 must be a number above 0"),
        ("[paper]\nwarmup = 1.0", r"paper\.warmup = 1\.0 must be a number of at least 0 and below 1"),
        ("[paper]\nwarmup = -0.1", r"paper\.warmup = -0\.1 must be a number of at least 0 and below 1"),
        ("level = ", r"not valid TOML"),
    ],
)
def test_what_is_not_allowed_is_named(text, message):
    with pytest.raises(SettingsError, match=message):
        Settings.from_toml(text if "direction" in text else f"direction = 'over'\n{text}")


@pytest.mark.parametrize(
    ("surface", "advice"),
    [
        ("python", "pass direction='over' or 'under'"),
        ("shell", "pass --direction over or --direction under, or put direction"),
        ("app", "choose “too high” or “too low” in step 2"),
    ],
)
def test_the_direction_is_asked_for_and_never_guessed(surface, advice):
    for make in (Settings, lambda: Settings(direction=None), lambda: Settings.from_toml("level = 0.9")):
        with (
            speaking(surface),
            pytest.raises(SettingsError, match=f"data cannot tell over-reporting .*{advice}"),
        ):
            make()


def test_numpy_numbers_become_plain_ones():
    settings = Settings(direction="over", random_state=np.int64(4), level=np.float32(0.5))
    assert type(settings.random_state) is int
    assert type(settings.level) is float


def test_a_section_of_the_wrong_kind_is_refused():
    with pytest.raises(SettingsError, match="paper must be a PaperSettings"):
        Settings(direction="over", sections={"paper": {"k": 3}})


def test_settings_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings(direction="over").level = 0.5


def test_the_published_preset_has_no_step_floor_one_start_and_plain_differences():
    literal = PaperSettings.literal()
    assert (literal.min_steps, literal.restarts, literal.warmup, literal.adjust) == (0, 1, 0.0, False)
    assert (literal.epochs, literal.batch_size, literal.width, literal.learning_rate) == (50, 512, 256, 1e-3)
    assert (literal.prior, literal.encode_environment, literal.score_beta) == ("conditional", True, 1.0)


def test_the_setting_nearest_to_the_tables_differs_from_ours_in_start_cut_and_adjustment_alone():
    ours, published = PaperSettings(), PaperSettings.published()
    names = [field.name for field in dataclasses.fields(ours)]
    changed = {name for name in names if getattr(ours, name) != getattr(published, name)}
    assert changed == {"restarts", "adjust", "cut", "quantile"}
