import pytest

from proxycal.errors import SettingsError
from proxycal.methods.paper.content_config import ContentConfig
from proxycal.methods.paper.score_config import BiasVaeConfig


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("width", 0), ("depth", 0), ("depth", 2.0), ("epochs", 0), ("batch_size", 1), ("min_steps", -1),
        ("norm", "group"), ("prior", "flat"), ("beta", -0.1), ("beta", float("nan")), ("warmup", 1.0),
        ("learning_rate", 0.0), ("variance_learning_rate", float("inf")), ("d_z", 0), ("d_z", True),
    ],
)  # fmt: skip
def test_a_bad_value_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=name):
        ContentConfig.from_dict({name: value})


def test_restarts_are_checked() -> None:
    with pytest.raises(SettingsError, match="restarts"):
        BiasVaeConfig(restarts=0)


@pytest.mark.parametrize("config", [ContentConfig(d_z=3, beta=0.5), BiasVaeConfig(restarts=4, norm="layer")])
def test_settings_survive_the_way_through_plain_values(config: ContentConfig | BiasVaeConfig) -> None:
    assert type(config).from_dict(config.to_dict()) == config


def test_an_unknown_setting_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match=r"'layers'.*depth"):
        ContentConfig.from_dict({"layers": 2})
