"""Formulas: what they say, what is refused, and back again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxycal.errors import RolesError
from proxycal.table.formula import formula_of, parse
from proxycal.table.roles import Roles

# A formula has no way to write these two in a name.
NAMES = st.text(st.characters(exclude_characters="`\\", exclude_categories=("Cs", "Cc")), min_size=1).filter(
    str.strip
)


def test_proxies_stand_before_the_bar_and_the_environment_after_it():
    read = parse("loss ~ wind + outage | income + hazard")
    assert read.roles() == {
        "outcome": "loss",
        "proxies": ["wind", "outage"],
        "environment": ["income", "hazard"],
    }
    assert (read.scale, read.log_proxies) == ("linear", ())


def test_logarithms_are_the_scale_of_the_outcome_and_of_single_proxies():
    read = parse("log(loss) ~ log(area) + log( `power outage` ) + wind | income")
    assert (read.scale, read.log_proxies) == ("log", ("area", "power outage"))
    assert read.proxies == ("area", "power outage", "wind")


def test_several_outcomes_are_a_list():
    assert parse("a + b ~ c | d").roles()["outcome"] == ["a", "b"]
    assert formula_of(Roles("a", ["c"], ["d"])) == "a ~ c | d"


@given(st.lists(NAMES, min_size=3, max_size=6, unique=True), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_what_is_printed_is_read_again(names, log, log_proxy):
    outcome, proxy, *environment = names
    roles = Roles(outcome, [proxy], environment)
    logs = (proxy,) if log_proxy else ()
    read = parse(formula_of(roles, "log" if log else "linear", logs))
    assert Roles(**read.roles()) == roles
    assert (read.scale, read.log_proxies) == ("log" if log else "linear", logs)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("loss ~ wind + outage", "must have one bar"),
        ("loss ~ a | b | c", "must have one bar"),
        ("~ a | b", "must have the outcome"),
        ("loss | a ~ b", "must have the outcome"),
        ("", "must have the outcome"),
        ("loss ~ | b", "cannot be read"),
        ("loss ~ a |", "cannot be read"),
        ("loss ~ a + (b | c)", "cannot be read"),
        ("loss ~ 'x' | b", "cannot be read"),
        ("loss ~ a*b | c", "holds a:b in the proxies: columns are not multiplied"),
        ("loss ~ a | c %in% b", "columns are not nested"),
        ("loss ~ a - b | c", "holds '-'"),
        ("loss ~ -a | c", "holds '-'"),
        ("loss ~ a^2 | c", "powers are not taken"),
        ("loss ~ a**2 | c", "powers are not taken"),
        ("loss ~ 1 + a | c", "name every column"),
        ("loss ~ . | c", "name every column"),
        ("loss ~ C(a) | b", r"df\['a'\] = df\['a'\].astype\(str\)"),
        ("loss ~ np.log(a) | b", r"only log\(column\) is taken"),
        ("loss ~ log(a + b) | c", r"only log\(column\) is taken"),
        ("loss ~ a | log(b)", r"df\['log_b'\] = np.log"),
        ("log(a) + b ~ c | d", "all or none"),
        (3, "must be text, not int"),
    ],
)
def test_what_a_formula_cannot_say_is_refused_with_what_to_do(text, said):
    with pytest.raises(RolesError, match=said) as caught:
        parse(text)
    assert "\x1b" not in str(caught.value)
