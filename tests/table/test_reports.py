import numpy as np
import pandas as pd
import pytest

from proxycal.errors import RolesError, TableError
from proxycal.table.audit import audit
from proxycal.table.encode import Encoder
from proxycal.table.roles import Roles
from proxycal.table.training import training_from, training_state


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    own, register = rng.normal(size=(2, 60))
    own[:10], register[5:20] = np.nan, np.nan
    return pd.DataFrame({"own": own, "register": register, "e": rng.normal(size=60)})


ROLES = Roles(["own", "register"], environment=["e"])


def test_a_list_of_outcomes_is_the_outcome_and_further_reports():
    assert Roles("own", environment=["e"], reports=["register"]) == ROLES
    assert ROLES.columns == ("own", "e", "register")
    assert Roles.from_dict(ROLES.to_dict()) == ROLES
    assert Roles(["y"], ["p"], ["e"]) == Roles("y", ["p"], ["e"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"outcome": []}, "outcome is empty"),
        ({"outcome": "own"}, "proxies is empty"),
        ({"outcome": "own", "proxies": ["p"]}, "environment is empty"),
        ({"outcome": ["own", "own"]}, "two roles"),
        ({"outcome": ["own", "register"], "truth": "t"}, "role truth goes with a single outcome"),
        ({"outcome": ["own", "register"], "exposure": "t"}, "role exposure goes with a single outcome"),
    ],
)
def test_roles_that_do_not_go_together_are_refused(given, said):
    with pytest.raises(RolesError, match=said):
        Roles(**given)


def test_the_outcome_of_a_row_is_the_first_report_that_was_made(table):
    encoder, arrays = Encoder.fit_transform(table, ROLES, "drop")
    assert arrays.n == 55
    assert arrays.report_names == ("own", "register")
    np.testing.assert_array_equal(arrays.y[:5], table["register"][:5])
    np.testing.assert_array_equal(arrays.y[5:], table["own"][10:])
    assert arrays.reports.shape == (55, 2)
    assert Encoder.from_dict(encoder.to_dict()) == encoder
    assert arrays.take(np.array([0, 7])).reports.shape == (2, 2)
    again = training_from(*training_state(arrays))
    np.testing.assert_array_equal(again.reports, arrays.reports)
    assert again.report_names == arrays.report_names


def test_only_rows_without_any_report_are_gaps(table):
    with pytest.raises(TableError, match="'own' holds 5 missing values"):
        Encoder.fit(table, ROLES)
    assert Encoder.fit(table[10:], ROLES).rows_kept == 50
    missing = next(finding for finding in audit(table[10:], ROLES) if finding.topic == "missing")
    assert missing.ok


def test_reports_are_numbers(table):
    with pytest.raises(TableError, match="'register' \\(outcome\\) must be numeric"):
        Encoder.fit(table.assign(register="low")[10:], ROLES)
