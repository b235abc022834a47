X


def test_large_tables_are_shown_by_a_sample(monkeypatch):
    monkeypatch.setattr("proxycal.table.answers.ROWS_SHOWN", 25)
    fit = found().result_
    assert (len(fit.rows.y_obs), len(fit.rows.predicted.y_cal), fit.n) == (25, 25, 60)
    assert set(fit.rows.y_obs) <= set(table()["y"])
