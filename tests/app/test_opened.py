from __future__ import annotations

import pandas as pd

from proxycal.app.opened import EXAMPLE, open_example, open_upload
from proxycal.table.guess import UNUSED, guess_roles
from proxycal.testing.example import EXAMPLE_ALPHA, biased_weights


def test_a_file_that_was_sent_is_opened_under_its_owners_name_with_guessed_roles(tmp_path):
    frame = pd.DataFrame({"loss": [1.5, 2.0, 4.0], "county": ["a", "b", "c"]})
    frame.to_csv(tmp_path / "table-1.csv", index=False)
    opened = open_upload(3, tmp_path / "table-1.csv", "my losses.csv")
    assert (opened.number, opened.table.name, opened.source.name) == (3, "my losses.csv", "my losses.csv")
    assert opened.guesses == guess_roles(frame)
    assert opened.source.example_alpha is None
    assert opened.direction == ""


def test_the_example_has_its_true_roles_and_says_its_bias(tmp_path):
    opened = open_example(1, tmp_path / "table-1.csv")
    known = biased_weights(seed=0)
    pd.testing.assert_frame_equal(opened.table.frame, known.table, check_dtype=False)
    roles = {name: role for role, name in known.roles}
    assert {guess.column: guess.role for guess in opened.guesses} == {
        name: roles.get(name, UNUSED) for name in known.table.columns
    }
    assert all(guess.why for guess in opened.guesses)
    assert (opened.table.name, opened.source.example_alpha) == (EXAMPLE, EXAMPLE_ALPHA)
