from benchmarks import counts


def test_a_trial_holds_both_grades_and_the_error_of_the_total():
    (row,) = counts.run_block({"world": "half in some rows, mean 20", "n": 1_500, "seeds": [1]})
    assert row["error"] is None
    assert row["second"]
    assert abs(row["total"]) < 0.3
    (null,) = counts.run_block({"world": "yes-no, prevalence 0.4", "n": 800, "seeds": [1]})
    assert null["error"] is None
    assert not null["first"]


def test_every_cell_is_a_world_and_the_page_is_made_of_them():
    from benchmarks.bench import trials
    from proxycal.studies.sweep import Done

    bench = counts.bench(quick=True)
    assert {cell.settings["world"] for cell in bench.cells} == set(counts.WORLDS)
    done = [
        Done(cell.key, cell.settings, [
            {"seed": seed, "first": False, "second": False, "lead": -1.0, "seconds": 0.5, "error": None}
            for seed in cell.settings["seeds"]
        ], None, 0.5)
        for cell in bench.cells
    ]  # fmt: skip
    page = counts.page(trials(done))
    assert [row["first grade"] for row in page.parts[0].rows] == ["0 (0.0%)"] * 6
