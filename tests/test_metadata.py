"""What package indexes and reference managers read agrees with the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

import proxycal

ROOT = Path(__file__).parent.parent
AUTHORS = ["Vishnubhatla", "Wan", "Harrison", "Raglin", "Liu"]
TITLE = "Proxy-Guided Measurement Calibration"


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_citation_names_this_version_and_the_paper():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == proxycal.__version__
    assert citation["url"] == project()["urls"]["Homepage"]
    (paper,) = citation["references"]
    assert paper["title"] == TITLE
    assert [author["family-names"] for author in paper["authors"]] == AUTHORS


def test_the_paper_is_named_where_people_meet_it():
    pages = ["README.md", "docs/index.md", "docs/method.md", "src/proxycal/report/templates/report.html"]
    for text in [project()["description"], *((ROOT / name).read_text(encoding="utf-8") for name in pages)]:
        assert TITLE in text
        assert all(author in text for author in AUTHORS)


def test_torch_comes_with_the_extra_alone():
    assert not [name for name in project()["dependencies"] if name.startswith("torch")]
    with_torch = {
        extra
        for extra, names in project()["optional-dependencies"].items()
        if any(name.startswith("torch") for name in names)
    }
    assert with_torch == {"paper"}


def test_links_of_the_readme_work_outside_the_repository():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not re.findall(r"\]\((?!https://)[^)]+\)", text)
    targets = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, flags=re.MULTILINE))
    assert set(re.findall(r"\]\[([^\]]+)\]", text)) == set(targets)
    home = project()["urls"]["Homepage"]
    places = {f"{home}/blob/main/", home.replace("github.com", "raw.githubusercontent.com") + "/main/"}
    for address in targets.values():
        (start,) = (place for place in places if address.startswith(place))
        assert (ROOT / address.removeprefix(start)).exists(), address


def test_every_file_that_names_the_version_names_this_one():
    import json

    zenodo = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    assert zenodo["version"] == proxycal.__version__
    assert zenodo["license"] == project()["license"]


def test_workflows_and_forms_are_yaml_and_publish_without_a_password():
    forms = sorted((ROOT / ".github").rglob("*.yml"))
    assert len(forms) == 5
    for path in forms:
        assert yaml.safe_load(path.read_text(encoding="utf-8"))
    release = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert yaml.safe_load(release)["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert "password" not in release.replace("no password", "")
    assert "secrets." not in release


def test_the_paper_cites_what_its_references_hold():
    text = (ROOT / "paper/paper.md").read_text(encoding="utf-8")
    keys = set(re.findall(r"@\w+\{(\w+),", (ROOT / "paper/paper.bib").read_text(encoding="utf-8")))
    assert set(re.findall(r"@(\w+)", text)) == keys
    assert 300 < len(text.split()) < 1200
