"""The settings of the paper's method refuse what no network can be trained with."""

import ast
import re
from dataclasses import fields, replace

import pytest

from proxycal.errors import SettingsError
from proxycal.methods.paper.settings import PaperSettings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("d_z", 0), ("d_z", True), ("k", 0), ("width", 0), ("depth", 0), ("depth", 2.0), ("epochs", 0),
        ("batch_size", 1), ("min_steps", -1), ("restarts", 0), ("norm", "group"), ("prior", "flat"),
        ("cut", "mean"), ("quantile", 1.0), ("variance", "free"), ("beta", -0.1), ("beta", float("nan")),
        ("score_beta", 0.0), ("warmup", 1.0), ("learning_rate", 0.0),
        ("variance_learning_rate", float("inf")), ("validation", 0.5), ("device", "tpu"),
    ],
)  # fmt: skip
def test_a_bad_value_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(SettingsError, match=rf"paper\.{name} = "):
        replace(PaperSettings(), **{name: value})


def test_every_field_is_documented_with_its_default() -> None:
    stated = dict(re.findall(r"^ *(\w+) : .*default (\S+)$", PaperSettings.__doc__ or "", re.MULTILINE))
    assert stated.pop("validation") == "1/9"
    defaults = {field.name: field.default for field in fields(PaperSettings) if field.name != "validation"}
    assert {name: ast.literal_eval(text) for name, text in stated.items()} == defaults
