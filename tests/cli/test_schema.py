"""`proxycal schema`: the list, and one schema as JSON."""

from __future__ import annotations

import json

from proxycal.cli import main
from proxycal.cli.schemas import names, schema_of


def test_the_list_and_one_of_it(capsys):
    assert main(["schema"]) == 0
    assert capsys.readouterr().out.split() == names()
    assert main(["schema", "fit"]) == 0
    assert json.loads(capsys.readouterr().out) == schema_of("fit")
    assert main(["schema", "nothing"]) == 2
    assert "use one of audit" in capsys.readouterr().err
