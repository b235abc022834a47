X


def test_answers_come_back_from_a_run_folder_as_they_were(place):
    model = proxycal.load(place / "run")
    asked = model.refute("drop-proxy", 2)
    again = answers_from_dict(json.loads(json.dumps(answers_to_dict({"drop-proxy": asked}))))["drop-proxy"]
    pd.testing.assert_frame_equal(again.table, asked.table, check_column_type=False, check_dtype=False)
    assert str(again) == str(asked)
    assert (again.value, again.ok) == (pytest.approx(asked.value, nan_ok=True), asked.ok)
