from benchmarks import reporters


def test_a_trial_holds_the_size_and_the_errors_of_the_truth():
    (row,) = reporters.run_block({"world": "size 2", "n": 400, "seeds": [1]})
    assert row["error"] is None
    assert row["found"]
    assert abs(row["size"] - 2.0) < 0.6
    assert row["rmse"] < row["rmse_mean"]
    (null,) = reporters.run_block({"world": "no bias, tails", "n": 200, "seeds": [1]})
    assert null["error"] is None
    assert not null["wrong"]


def test_every_cell_is_a_world_and_the_page_is_made_of_them():
    from benchmarks.bench import trials
    from proxycal.studies.sweep import Done

    bench = reporters.bench(quick=True)
    assert {cell.settings["world"] for cell in bench.cells} == set(reporters.WORLDS)
    plain = {"found": False, "wrong": False, "verdict": "no bias found", "lead": -1.0, "seconds": 0.5}
    done = [
        Done(
            cell.key,
            cell.settings,
            [{"seed": seed, "error": None, **plain} for seed in cell.settings["seeds"]],
            None,
            0.5,
        )
        for cell in bench.cells
    ]
    page = reporters.page(trials(done))
    assert {row["false claims"] for row in page.parts[0].rows} == {"0 (0.00%)"}
    assert len(page.parts[1].rows) == 2 * len(reporters.BIASED)
