"""`proxycal check` as a shell sees it."""

from __future__ import annotations

import json

from cli.shell import ROLES, make_table
from proxycal.cli import main


def test_check_names_what_to_look_at(capsys, here):
    make_table().assign(p_3=1.0).to_csv("flat.csv", index=False)
    assert main(["check", "flat.csv", *ROLES]) == 0
    out = capsys.readouterr().out
    assert "p_3" in out
    assert "->" in out
    assert main(["check", "flat.csv", *ROLES, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert found["rows"] == 240
