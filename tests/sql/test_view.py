"""Calibration inside a database: what the view says is what `calibrate` says, to 1e-9."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tempfile
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal.errors import ProxycalWarning, SettingsError
from proxycal.methods.expression import NoClosedForm
from proxycal.sql.view import view

ANSWERS = ["y_cal", "p_biased", "shift"]
BASE = "y ~ p_1 + p_2 + p_3 | e_1 + e_2 + kind + flag"


def table(n: int = 600, seed: int = 1) -> pd.DataFrame:
    sim = proxycal.simulate(n=n, d_z=2, d_e=2, n_proxies=3, alpha=1.5, random_state=seed)
    kind = np.array(["fire's", "flood\\", 'a "storm"'])[np.arange(n) % 3]
    return sim.table.assign(kind=kind, flag=np.arange(n) % 2 == 0, note="kept")


def sizes(n: int = 600) -> pd.DataFrame:
    """Losses with zeros, of which biased rows report 40%."""
    rng = np.random.default_rng(5)
    z, e = rng.normal(size=n), rng.normal(size=n)
    biased = rng.random(n) < 1 / (1 + np.exp(-2 * e))
    loss = np.exp(8 + z + 0.15 * rng.normal(size=n)) * np.where(biased, 0.4, 1.0)
    loss[::15] = 0.0
    area = np.exp(z + 0.1 * rng.normal(size=n))
    area[::40] = 0.0
    return pd.DataFrame({"y": loss, "area": area, "p": z + 0.1 * rng.normal(size=n), "e": e})


def two_kinds(n: int = 900) -> pd.DataFrame:
    """Two kinds of content with slopes of their own, so that the mixture has two components."""
    rng = np.random.default_rng(2)
    z, e = rng.normal(size=n), rng.normal(size=n)
    kind = rng.random(n) < 0.4
    biased = rng.random(n) < 1 / (1 + np.exp(-2 * e))
    y = np.where(kind, 3.0 - 2.0 * z, z) + 0.15 * rng.normal(size=n) + 6.0 * biased
    return pd.DataFrame(
        {"y": y, "p": z + 0.05 * rng.normal(size=n), "q": z + 0.05 * rng.normal(size=n), "e": e}
    )


MODELS = {
    "moments": (table, BASE, {"method": "moments"}),
    "exact": (table, BASE, {"method": "exact"}),
    "by level": (table, BASE, {"method": "exact", "effect": "by:kind"}),
    "log scale": (sizes, "log(y) ~ log(area) + p | e", {"method": "exact", "direction": "under"}),
    "components": (two_kinds, "y ~ p + q | e", {"method": "exact"}),
    "no bias": (lambda: table().assign(y=lambda df: df["p_1"] * 2), BASE, {"method": "moments"}),
}


@pytest.fixture(scope="module")
def fits():
    made = {}
    for name, (rows, formula, settings) in MODELS.items():
        frame = rows()
        made[name] = frame, proxycal.fit(formula, frame, **{"direction": "over"} | settings)
    return made


def new_rows(frame: pd.DataFrame, times: int) -> pd.DataFrame:
    """Rows around the fitted ones, so that who is biased is in doubt for some."""
    rng = np.random.default_rng(0)
    rows = pd.concat([frame] * times, ignore_index=True)
    spread = 0.3 * frame["y"].std()
    moved = rows["y"] + spread * rng.normal(size=len(rows)) if frame["y"].min() < 0 else rows["y"]
    scaled = rows["y"] * np.exp(0.3 * rng.normal(size=len(rows)))
    return rows.assign(y=moved if frame["y"].min() < 0 else scaled)


def calibrated(model, rows: pd.DataFrame) -> pd.DataFrame:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        return model.calibrate(rows)[ANSWERS]


def in_duckdb(sql: str, rows: pd.DataFrame) -> pd.DataFrame:
    with duckdb.connect() as database:
        database.register("reports", rows)
        database.execute(sql)
        return database.execute("SELECT * FROM calibrated").df()


def same(answer: pd.DataFrame, expected: pd.DataFrame, scale: float) -> None:
    """To 1e-9 of the outcome's own spread; sums in another order differ in the last digits."""
    for name in ANSWERS:
        unit = 1.0 if name == "p_biased" else scale
        np.testing.assert_allclose(answer[name] / unit, expected[name] / unit, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_the_view_is_calibrate_in_duckdb(fits, name):
    frame, model = fits[name]
    rows = new_rows(frame, 5)
    answer = in_duckdb(view(model.result_, "duckdb"), rows)
    assert list(answer.columns) == [*rows.columns, *ANSWERS]
    assert answer["y"].equals(rows["y"])
    expected = calibrated(model, rows)
    same(answer, expected, frame["y"].std())
    # The test means something only where rows are in doubt.
    assert ((expected["p_biased"] > 0.05) & (expected["p_biased"] < 0.95)).any() or name == "no bias"
    assert (expected["shift"] != 0.0).any() == (model.verdict_ == "bias found")


def test_the_models_are_of_the_kinds_that_they_are_meant_to_be(fits):
    assert fits["components"][1].result_.method_fit.spec.shape.J > 1
    assert fits["by level"][1].result_.method_fit.spec.frame.effect == "by:kind"
    assert fits["log scale"][1].result_.settings.scale == "log"
    verdicts = {name: fits[name][1].verdict_ for name in ("moments", "exact", "by level", "log scale")}
    assert set(verdicts.values()) == {"bias found"}
    assert fits["no bias"][1].verdict_ != "bias found"


def test_gaps_and_new_levels_have_no_answer_in_the_database(fits):
    frame, model = fits["moments"]
    rows = frame.head(6).copy()
    rows.loc[0, "p_1"] = np.nan
    rows.loc[1, "y"] = np.nan
    rows["kind"] = ["fire's", "fire's", "hail", None, "flood\\", 'a "storm"']
    answer = in_duckdb(view(model.result_, "duckdb"), rows)
    assert answer[ANSWERS].isna().all(axis=1).tolist() == [True, True, True, True, False, False]


def test_gaps_that_were_filled_in_are_filled_in_there_too():
    frame = table()
    frame.loc[::7, "p_1"] = np.nan
    frame.loc[::11, "kind"] = None
    model = proxycal.fit(BASE, frame, direction="over", method="moments", missing="impute")
    same(in_duckdb(view(model.result_, "duckdb"), frame), calibrated(model, frame), frame["y"].std())


def test_names_of_tables_are_quoted_and_the_comment_says_which_run(fits):
    frame, model = fits["moments"]
    sql = view(model.result_, "duckdb", table='my "reports"', name="as it was")
    assert sql.startswith(f"-- {model.formula_}\n")
    with duckdb.connect() as database:
        database.register('my "reports"', frame)
        database.execute(sql)
        assert len(database.execute('SELECT * FROM "as it was"').df()) == len(frame)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"method": "gradual"}, "method='gradual' has no answer in closed form"),
        ({"method": "moments", "trusted": "flag"}, "answered apart"),
    ],
)
def test_what_has_no_closed_form_is_refused_with_the_reason(settings, said):
    formula = "y ~ p_1 + p_2 + p_3 | e_1 + e_2 + kind"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProxycalWarning)
        model = proxycal.fit(formula, table(), direction="over", **settings)
    with pytest.raises(NoClosedForm, match=said):
        view(model.result_, "duckdb")


def test_another_database_is_refused(fits):
    with pytest.raises(SettingsError, match="use one of duckdb, postgres, spark"):
        view(fits["moments"][1].result_, "oracle")


def test_spark_quotes_in_its_own_way(fits):
    sql = view(fits["moments"][1].result_, "spark")
    assert "t.`kind`" in sql
    assert r"'fire\'s'" in sql
    assert "E0D)" in sql


# --- Postgres -----------------------------------------------------------------------------------------


def _server() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@pytest.fixture(scope="module")
def postgres():
    """folder, psql = postgres; psql(statement): a server of its own, as a user that may run one."""
    home = _server()
    if home is None or shutil.which("psql") is None:
        pytest.skip("no Postgres on this computer")
    # Not below pytest's own folder, which the next session of pytest closes to other users.
    folder = Path(tempfile.mkdtemp(prefix="proxycal-postgres-"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # it refuses to run as root
        if shutil.which("setpriv") is None:
            pytest.skip("Postgres does not run as root")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        folder.chmod(0o755)
        shutil.chown(folder, "postgres", "postgres")

    def run(*command: str) -> str:
        done = subprocess.run(
            [*as_user, *command],
            capture_output=True,
            text=True,
            cwd="/",
            env=os.environ | {"LC_ALL": "C.UTF-8"},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    data = str(folder / "data")
    run(str(home / "initdb"), "-D", data, "-A", "trust", "-U", "test", "-E", "UTF8")
    server = [str(home / "pg_ctl"), "-D", data, "-w", "-l", str(folder / "log")]
    run(*server, "-o", f"-k {folder} -h ''", "start")
    try:
        psql = ("psql", "-h", str(folder), "-U", "test", "-d", "postgres", "-qX")
        yield folder, lambda *more: run(*psql, *more)
    finally:
        run(*server, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def in_postgres(server, sql: str, rows: pd.DataFrame) -> pd.DataFrame:
    """The answers of the view for these rows, in their order."""
    folder, postgres = server
    types = {"f": "double precision", "b": "boolean"}
    columns = ", ".join(f'"{each}" {types.get(rows[each].dtype.kind, "text")}' for each in rows)
    rows.assign(row=range(len(rows))).to_csv(folder / "rows.csv", index=False)
    postgres(
        "-v", "ON_ERROR_STOP=1",
        "-c", "DROP TABLE IF EXISTS reports CASCADE",
        "-c", f"CREATE TABLE reports ({columns}, row integer)",
        "-c", f"\\copy reports FROM '{folder / 'rows.csv'}' CSV HEADER",
        "-c", sql,
    )  # fmt: skip
    text = postgres("--csv", "-c", f"SELECT {', '.join(ANSWERS)} FROM calibrated ORDER BY row")
    return pd.read_csv(io.StringIO(text))


@pytest.mark.parametrize("name", MODELS)
def test_the_view_is_calibrate_in_postgres(fits, name, postgres):
    frame, model = fits[name]
    rows = new_rows(frame, 5)
    answer = in_postgres(postgres, view(model.result_, "postgres"), rows)
    same(answer, calibrated(model, rows), frame["y"].std())


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_a_hundred_thousand_rows_of_every_model_in_both(fits, name, postgres):
    frame, model = fits[name]
    rows = new_rows(frame, -(-100_000 // len(frame)))
    assert len(rows) >= 100_000
    expected = calibrated(model, rows)
    same(in_duckdb(view(model.result_, "duckdb"), rows), expected, frame["y"].std())
    answer = in_postgres(postgres, view(model.result_, "postgres"), rows)
    same(answer, expected, frame["y"].std())
