import numpy as np

from proxycal.effect.reporters import q_values, ranked


def test_the_rank_is_by_what_a_report_is_off_on_average():
    size = np.array([1.0, 4.0, np.nan])
    table = ranked(
        np.array(["a", "b", "c"], dtype=object),
        np.array([10, 20, 30]),
        np.array([0.5, 0.3, 0.0]),
        (size, size - 0.5, size + 0.5),
        np.array([0.2, 0.01, 1.0]),
    )
    columns = table.columns()
    assert columns["reporter"].tolist() == ["b", "a", "c"]
    assert columns["rank"].tolist() == [1, 2, 3]
    assert columns["n"].tolist() == [20, 10, 30]
    np.testing.assert_allclose(columns["q_value"], [0.01, 0.105, 0.403333], atol=1e-6)


def test_the_rate_of_false_discoveries_of_a_list_is_the_mean_of_its_chances():
    rng = np.random.default_rng(0)
    chance = rng.random(4_000) ** 3
    false = rng.random(4_000) < chance
    for limit in (0.02, 0.1):
        listed = q_values(chance) <= limit
        # Of a thousand discoveries or more the rate has a standard error below a hundredth.
        assert false[listed].mean() <= limit + 0.02
    alike = q_values(np.array([0.1, 0.1, 0.4]))
    np.testing.assert_allclose(alike, [0.1, 0.1, 0.2])
