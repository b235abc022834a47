"""One table of methods: somebody else's method, in one file, goes all the way without a change of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import proxycal
from proxycal.app.timing import usual_seconds
from proxycal.app.views import columns
from proxycal.cli import main
from proxycal.errors import SettingsError, StoreError, UnavailableError
from proxycal.methods.registry import METHODS, Method, register
from proxycal.scale.fit import refuse_large
from proxycal.settings import Settings
from toy_method import TOY


@pytest.fixture
def toy():
    with register(TOY) as method:
        yield method


@pytest.fixture(scope="module")
def sim():
    return proxycal.simulate(n=80, alpha=2.0, random_state=0)


@pytest.mark.usefixtures("toy")
def test_a_method_in_one_file_goes_all_the_way(sim, tmp_path):
    assert Settings(direction="over", method="toy").method == "toy"
    model = proxycal.ProxyCalibrator(sim.roles, direction="over", method="toy").fit(sim.table)
    assert (model.verdict_, model.alpha_) == ("bias found", 2.0)
    calibrated = model.calibrate(sim.table)
    np.testing.assert_array_equal(calibrated["shift"], 2.0 * (sim.table["y"] > sim.table["y"].mean()))
    assert list(model.summary().index) == ["exact", "moments", "match", "gradual"]
    model.report(tmp_path / "report.html")
    assert "The toy &lt;says&gt; so." in (tmp_path / "report.html").read_text(encoding="utf-8")
    model.save(tmp_path / "run")
    pd.testing.assert_frame_equal(proxycal.load(tmp_path / "run").calibrate(sim.table), calibrated)
    assert "toy.loss,1,0.5" in (tmp_path / "run" / "history.csv").read_text()


@pytest.mark.usefixtures("toy")
def test_the_command_line_fits_with_it(sim, tmp_path, capsys):
    sim.table.to_csv(tmp_path / "t.csv", index=False)
    options = ["--outcome", "y", "--proxies", ",".join(sim.roles.proxies)]
    options += ["--environment", ",".join(sim.roles.environment), "--method", "toy", "--direction", "over"]
    assert main(["fit", str(tmp_path / "t.csv"), *options, "--out", str(tmp_path / "run"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["method"], said["alpha"]) == ("toy", 2.0)


@pytest.mark.usefixtures("toy")
def test_the_page_offers_it_and_knows_its_time(sim):
    from proxycal.app.tables import Table
    from proxycal.table.guess import guess_roles

    assert usual_seconds(2000, 10, "toy") == 2.0
    table = Table("t.csv", Path("t.csv"), sim.table)
    page = columns(table, 0, guess_roles(sim.table), "over")
    assert '<option value="toy">toy (half of the rows)</option>' in page
    assert all(f'<option value="{name}">' in page for name in METHODS)


@pytest.mark.usefixtures("toy")
def test_what_it_cannot_do_is_said_with_what_can(sim):
    with pytest.raises(UnavailableError, match="effect='linear' is not available with method='toy': use"):
        proxycal.ProxyCalibrator(sim.roles, direction="over", method="toy", effect="linear").fit(sim.table)
    assert "use method='exact' or method='validated' or method='gradual'" in refuse_large(
        sim.roles, Settings(direction="over", method="toy")
    )


def test_afterwards_it_is_gone(sim, tmp_path):
    with register(TOY):
        proxycal.ProxyCalibrator(sim.roles, direction="over", method="toy").fit(sim.table).save(
            tmp_path / "run"
        )
        with pytest.raises(SettingsError, match="there is a method 'toy' already"), register(TOY):
            pass
    assert "toy" not in METHODS
    with pytest.raises(SettingsError, match="method = 'toy' is not known"):
        Settings(direction="over", method="toy")
    with pytest.raises(StoreError, match="method = 'toy' is not known"):
        proxycal.load(tmp_path / "run")


def test_a_package_that_is_missing_is_named_with_what_to_install():
    absent = Method(
        name="absent", label="", summary="", home="", record="", cost=(1, 1), needs="paper",
        libraries=("no_such_package",),
    )  # fmt: skip
    with pytest.raises(UnavailableError, match=r"needs no_such_package: .*proxycal\[paper\]"):
        absent.fit(None, Settings(direction="over"))


def test_listing_the_methods_loads_none_of_them():
    code = (
        "import sys; from proxycal.methods.registry import METHODS; from proxycal.settings import Settings;"
        "Settings(direction='over'); print([*METHODS], {'torch', 'numpy', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        done.stdout.strip()
        == "['auto', 'exact', 'validated', 'moments', 'gradual', 'counts', 'binary', 'reporters', 'paper'] "
        "set()"
    )


@pytest.mark.parametrize("name", ["auto", "exact", "validated", "moments", "gradual", "paper"])
def test_every_entry_leads_somewhere(name):
    method = METHODS[name]
    assert method.name == name
    for place in filter(None, (method.home, method.record, method.pieces, method.section, method.chooser)):
        module, _, member = place.partition(":")
        assert hasattr(__import__(module, fromlist=[member]), member)
