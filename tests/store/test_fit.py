X


def test_a_run_whose_parts_do_not_fit_is_refused(tmp_path):
    model = found()
    model.save(tmp_path / "run")
    run = folder.load_run(tmp_path / "run")
    broken = [
        replace(run, results={key: value for key, value in run.results.items() if key != "fit"}),
        replace(run, tensors={}),
        replace(run, config='method = "toy"\nlevel = 7\n'),
        replace(run, rows=run.rows.drop(columns="mu")),
        replace(run, roles={"outcome": "y"}),
    ]
    for one in broken:
        folder.save_run(tmp_path / "broken", one)
        with pytest.raises(StoreError, match=r"broken' is inconsistent .*restore it"):
            load(tmp_path / "broken")
