"""What the gradual method says beside a study: an answer with its condition, a refusal with its reason."""

import math

import numpy as np
import pandas as pd
import pytest

from proxycal import Roles
from proxycal.methods.gradual.wording import EXCLUSION
from proxycal.result import Estimate
from proxycal.studies.graded import Graded, along_grid, ask_graded, beside_grid, in_words

PROXIES = ["p1", "p2", "p3"]


@pytest.fixture(scope="module")
def losses():
    """Losses in dollars, reported too low by 1.2 log points for each standard deviation of "wealth" less."""
    rng = np.random.default_rng(3)
    wealth, other = rng.normal(size=(2, 800))
    damage = 0.4 * wealth + 0.8 * rng.normal(size=800)
    proxies = damage[:, None] + 0.5 * rng.normal(size=(800, 3))
    true = 10.0 + 1.5 * damage + 0.5 * rng.normal(size=800)
    table = pd.DataFrame(proxies, columns=PROXIES).assign(wealth=wealth, other=other, log_true=true)
    return table.assign(log_loss=true + 1.2 * wealth, loss=np.exp(true + 1.2 * wealth))


def test_a_graded_bias_is_told_with_its_condition(losses):
    graded = ask_graded(losses, Roles("log_loss", PROXIES, ["wealth", "other"]), direction="under")
    assert graded.verdict == "bias found"
    assert math.isnan(graded.change_pct)
    along = {row.name: row for row in graded.along}
    # From the 10th to the 90th percentile of a normal column: 2.56 standard deviations.
    assert along["gradual, wealth"].alpha == pytest.approx(-2.56 * 1.2, abs=0.4)
    words = " ".join(in_words(graded))
    assert "less under-reporting where wealth is high, by 3." in words
    assert "where other" not in words
    assert EXCLUSION in words
    assert "times the effect of 'wealth' through content" in words
    assert along_grid(graded, "t").rows[0][2] == "yes"
    row = beside_grid([("all rows", "no bias found", graded)], "t").rows[0]
    assert row[:3] == ("all rows", "no bias found", "bias found")
    assert row[3] == f"{graded.alpha:.2f} ({graded.low:.2f} to {graded.high:.2f})"


def test_levels_are_told_beside_the_commonest():
    row = Estimate("gradual, hazard=Tornado", -0.4, 0.1, -0.6, -0.2)
    graded = Graded("bias found", 1.0, 0.8, 1.2, "reading", (row,))
    wanted = "less under-reporting at hazard=Tornado, by 0.4 log points beside the commonest level"
    assert wanted in in_words(graded)[0]


def test_totals_are_asked_for_in_dollars(losses):
    roles = Roles("loss", PROXIES, ["wealth", "other"])
    graded = ask_graded(losses, roles, with_total=True, direction="under", scale="log")
    # Relative to the least biased tenth, the true total with everybody reporting like it.
    shift = 1.2 * (losses["wealth"] - losses["wealth"].nlargest(80).mean())
    true = np.sum(losses["loss"] / np.exp(shift)) / losses["loss"].sum() - 1.0
    assert graded.change_pct == pytest.approx(100.0 * true, rel=0.25)


def test_a_refusal_says_why_and_shows_no_number(losses):
    graded = ask_graded(losses, Roles("log_loss", PROXIES[:1], ["wealth"]), direction="under")
    assert graded.verdict == "not identified"
    assert beside_grid([("a", "b", graded)], "t").rows[0][3] == "-"
    assert "The method refuses: With 1 proxy" in in_words(graded)[0]
    assert in_words(graded)[-1].endswith("There is no answer to undo.")
    constant = ask_graded(
        losses.assign(wealth=1.0), Roles("log_loss", PROXIES, ["wealth"]), direction="under"
    )
    assert (constant.verdict, constant.size) == ("not identified", "-")


def test_a_refused_estimate_says_what_would_have_undone_it(losses):
    # A proxy that wealth reaches: there is an estimate, and it is held back.
    reached = losses.assign(p3=losses["p3"] + losses["wealth"])
    graded = ask_graded(reached, Roles("log_loss", PROXIES, ["wealth", "other"]), direction="under")
    assert graded.verdict == "not identified"
    last = in_words(graded)[-1]
    assert EXCLUSION in last
    assert "% of the outcome's variance given content would look the same" in last


def test_none_is_told_as_none(losses):
    graded = ask_graded(losses, Roles("log_true", PROXIES, ["wealth", "other"]), direction="under")
    assert graded.verdict == "no bias found"
    assert "no bias that grades with them is found" in in_words(graded)[0]
