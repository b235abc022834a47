"""The rooms stay apart: who may import what, read from the source itself.

    table -> content -> bias -> effect -> check -> report

Rooms never import each other; only the orchestrators see several of them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import proxycal

PACKAGE = Path(proxycal.__file__).parent
ROOMS = ("table", "content", "bias", "effect", "check", "report")
# What every room may use of the package: errors, the Finding, settings; torch rooms share `neural`.
COMMON = {"errors", "finding", "config"}
ORCHESTRATORS = (
    "model.py",
    "answers.py",
    "cli.py",
    "console.py",
    "demo.py",
    "methods/",
    "experiments/",
    "app/",
    "scale/",
)
# The page is thin: of the package it knows what any user may call, and the report's words.
APP_USES = {
    "app",
    "config",
    "console",
    "demo",
    "errors",
    "extras",
    "files",
    "finding",
    "model",
    "report",
    "table",
}
WEB = {"shiny", "htmltools", "starlette", "uvicorn", "openpyxl"}
FRAMES = {"pandas", "narwhals", "polars", "pyarrow"}
NUMERIC = {"numpy", "scipy", "sklearn"}
TORCH_HOMES = ("content/", "neural/", "bias/vae.py", "experiments/tedvae.py")
UNSAFE = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}


def sources() -> list[str]:
    return sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


def imports(name: str) -> set[str]:
    """Dotted names of everything a file imports, wherever in it, for types only or not."""
    found = set()
    for node in ast.walk(ast.parse((PACKAGE / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import; write the full name"
            assert node.module is not None
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def third_party(name: str) -> set[str]:
    roots = {dotted.split(".")[0] for dotted in imports(name)}
    return roots - set(sys.stdlib_module_names) - {"proxycal"}


def rooms_used(name: str) -> set[str]:
    parts = [dotted.split(".") for dotted in imports(name)]
    return {part[1] for part in parts if part[0] == "proxycal" and len(part) > 1} & set(ROOMS)


def in_room(room: str) -> list[str]:
    return [name for name in sources() if name.startswith(room + "/")]


def test_the_parser_sees_imports_inside_functions_and_for_types():
    assert "proxycal.report.plots" in imports("model.py")
    assert "matplotlib.axes" in imports("model.py")
    assert {"table", "report"} <= rooms_used("model.py")


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_do_not_import_sideways(room):
    own = COMMON | {room} | ({"neural"} if room in ("content", "bias") else set())
    for name in in_room(room):
        used = {dotted.split(".")[1] for dotted in imports(name) if dotted.startswith("proxycal.")}
        assert used <= own, f"{name} imports {sorted(used - own)}"


def test_torch_lives_in_its_homes_and_never_with_frames():
    for name in sources():
        if "torch" in third_party(name):
            assert name.startswith(TORCH_HOMES), name
        if name.startswith(TORCH_HOMES):
            assert not third_party(name) & FRAMES, name


@pytest.mark.parametrize("room", ["bias", "effect", "check"])
def test_estimators_see_arrays_only(room):
    for name in in_room(room):
        allowed = NUMERIC | {"bias/vae.py": {"torch"}, "effect/nearest.py": {"faiss"}}.get(name, set())
        assert third_party(name) <= allowed, f"{name} imports {sorted(third_party(name) - allowed)}"


def test_table_knows_frames_and_no_torch():
    for name in in_room("table"):
        assert third_party(name) <= FRAMES | NUMERIC, name


def test_the_report_computes_nothing():
    for name in in_room("report"):
        assert not third_party(name) & (FRAMES | {"sklearn", "torch"}), name


def test_only_orchestrators_see_several_rooms():
    for name in sources():
        if not name.startswith(ORCHESTRATORS):
            assert len(rooms_used(name)) <= 1, f"{name} sees {sorted(rooms_used(name))}"


def test_the_page_calls_the_public_api_and_nobody_calls_the_page():
    for name in sources():
        used = {dotted.split(".")[1] for dotted in imports(name) if dotted.startswith("proxycal.")}
        if name.startswith("app/"):
            assert used - {"audit"} <= APP_USES, f"{name} imports {sorted(used - APP_USES)}"
            assert not third_party(name) & {"torch", "sklearn", "scipy", "numpy"}, name
        else:
            assert not third_party(name) & WEB, name
            assert name == "cli.py" or "app" not in used, name


def test_nothing_is_pickled_and_no_global_seed_is_set():
    for name in sources():
        tree = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
        assert not {dotted.split(".")[0] for dotted in imports(name)} & UNSAFE, name
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                dotted = ast.unparse(node)
                assert dotted not in ("np.random.seed", "torch.manual_seed", "torch.save", "torch.load"), (
                    f"{name}:{node.lineno} uses {dotted}"
                )


def test_importing_the_package_loads_neither_torch_nor_pandas():
    code = "import proxycal, sys; print({'torch', 'pandas', 'sklearn', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_model_object_loads_no_torch():
    code = "from proxycal import ProxyCalibrator, Roles, load; import sys; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
