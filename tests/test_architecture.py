"""The rooms stay apart: who may import what is written in CONTRIBUTING.md, and read from the source here."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import proxycal

PACKAGE = Path(proxycal.__file__).parent
TESTS = Path(__file__).parent
GUIDE = TESTS.parent / "CONTRIBUTING.md"
DOORS = {"cli", "app"}
WEB = {"shiny", "htmltools", "starlette", "uvicorn"}
FRAMES = {"pandas", "narwhals", "polars", "pyarrow"}
NUMERIC = {"numpy", "scipy", "sklearn"}
# The rooms of data frames; elsewhere a frame is made on demand, inside a function that returns it.
FRAME_ROOMS = {
    "table",
    "files",
    "reading",
    "scale",
    "store",
    "datasets",
    "testing",
    "studies",
    "analysis",
    "model",
    "fitting",
} | DOORS
TORCH_HOMES = ("methods/paper/", "studies/tedvae.py")
# Modules whose tests stand in a file of another name, and why they have none of their own.
TESTED_ELSEWHERE = {
    # What a model is made of, tested where it is fitted.
    "engine/covariates.py": "engine/test_terms.py",
    "engine/size_sums.py": "methods/one_model/test_fit.py",
    "engine/model.py": "engine/test_maximise.py",
    "engine/likelihood.py": "engine/test_maximise.py",
    "engine/families/cells.py": "engine/families/test_counts.py",
    "engine/families/bins.py": "engine/families/test_normal.py",
    "engine/families/moments.py": "engine/families/test_normal.py",
    "engine/standard.py": "engine/test_search.py",
    "engine/inference.py": "engine/test_search.py",
    # Records and steps of one search, which means something as a whole only.
    "mixture/candidates.py": "mixture/test_compare.py",
    "mixture/refits.py": "mixture/test_compare.py",
    "mixture/settle.py": "mixture/test_full_data.py",
    # A fit and what is said of it, asked of real fits.
    "methods/exact/findings.py": "methods/exact/test_evidence.py",
    "methods/exact/record.py": "methods/exact/test_answers.py",
    "methods/one_model/closed_form.py": "methods/one_model/test_fit.py",
    "methods/one_model/coefficients.py": "methods/one_model/test_fit.py",
    "methods/one_model/collect.py": "methods/one_model/test_fit.py",
    "methods/one_model/compare.py": "methods/one_model/test_fit.py",
    "methods/one_model/details.py": "methods/one_model/test_fit.py",
    "methods/one_model/detectable.py": "methods/one_model/test_fit.py",
    "methods/one_model/in_pieces.py": "methods/one_model/test_fit.py",
    "methods/one_model/law.py": "methods/one_model/test_fit.py",
    "methods/one_model/more_rows.py": "methods/one_model/test_fit.py",
    "methods/one_model/record.py": "methods/one_model/test_fit.py",
    "methods/one_model/refits.py": "methods/one_model/test_fit.py",
    "methods/one_model/thresholds.py": "methods/one_model/test_fit.py",
    "methods/one_model/wording.py": "methods/one_model/test_fit.py",
    "methods/one_model/findings.py": "methods/one_model/test_evidence.py",
    "methods/exact/in_pieces.py": "scale/test_fit.py",
    "methods/paper/thresholds.py": "methods/paper/test_findings.py",
    # The zeros of fits on the log scale, asked of them.
    "methods/log_zeros.py": "methods/test_log_scale.py",
    # The record of totals, as they are concluded.
    "effect/grouped.py": "effect/test_totals.py",
    "effect/row_truth.py": "effect/test_totals.py",
    # Coefficients, as the tables that show them.
    "effect/coefficients.py": "analysis/test_tidy.py",
    "methods/exact/coefficients.py": "analysis/test_tidy.py",
    # The attributes of the model.
    "pages.py": "test_model.py",
    "found.py": "test_model.py",
    # The record that the questions of the audit share.
    "table/audited.py": "table/test_questions.py",
    # Arithmetic that means something as a whole only: a database must come to what `calibrate` says.
    "methods/exact/closed_form.py": "sql/test_view.py",
    "methods/moments/closed_form.py": "sql/test_view.py",
    "sql/columns.py": "sql/test_view.py",
    "sql/dialects.py": "sql/test_view.py",
    # Steps of one estimate, each asked of it.
    "methods/gradual/anchor.py": "methods/gradual/test_answer.py",
    "methods/gradual/direct.py": "methods/gradual/test_answer.py",
    "methods/gradual/estimate.py": "methods/gradual/test_answer.py",
    "methods/gradual/refusals.py": "methods/gradual/test_answer.py",
    "methods/gradual/sensitivity.py": "methods/gradual/test_answer.py",
    "methods/gradual/shape.py": "methods/gradual/test_answer.py",
    "methods/gradual/in_pieces.py": "methods/gradual/test_fit.py",
    "studies/polls_page.py": "studies/test_polls.py",
    "methods/gradual/rows.py": "methods/gradual/test_answer.py",
    "methods/gradual/tables.py": "methods/gradual/test_fit.py",
    "methods/gradual/surface.py": "methods/gradual/test_fit.py",
    "methods/gradual/thresholds.py": "methods/gradual/test_answer.py",
    # Pages and answers, end to end.
    "app/answer.py": "app/test_job.py",
    "app/results.py": "app/test_browser.py",
    "studies/nhanes_figures.py": "studies/test_nhanes.py",
    "studies/nhanes_page.py": "studies/test_nhanes.py",
}
# Tests that still touch private names; the list may only get shorter.
PRIVATE_STILL = {}
UNSAFE = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}


@cache
def sources() -> tuple[str, ...]:
    return tuple(sorted(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")))


def room_of(name: str) -> str:
    """The folder of the package, or the module at its top, that a file belongs to."""
    return name.split("/")[0].removesuffix(".py")


@cache
def tree_of(name: str) -> ast.Module:
    return ast.parse((PACKAGE / name).read_text(encoding="utf-8"))


@cache
def imported(name: str) -> tuple[tuple[str, bool, bool], ...]:
    """What a file imports, as dotted names; whether for types only; whether inside a function."""
    found: list[tuple[str, bool, bool]] = []
    left: list[tuple[ast.AST, bool, bool]] = [(tree_of(name), False, False)]
    while left:
        node, types, inside = left.pop()
        types |= isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        inside |= isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.Import):
            found += [(alias.name, types, inside) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: relative import; write the full name"
            assert node.module is not None
            dotted = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            found += [(one, types, inside) for one in dotted]
        # No expression imports anything.
        children = (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
        left += [(child, types, inside) for child in children]
    return tuple(found)


def imports(name: str, types: bool = True, functions: bool = True) -> set[str]:
    """Dotted names of what a file imports: with or without types only, and what functions import."""
    return {
        dotted
        for dotted, for_types, inside in imported(name)
        if (types or not for_types) and (functions or not inside)
    }


def third_party(name: str, functions: bool = True) -> set[str]:
    roots = {dotted.split(".")[0] for dotted in imports(name, types=False, functions=functions)}
    return roots - set(sys.stdlib_module_names) - {"proxycal"}


def rooms_used(name: str, types: bool = False) -> set[str]:
    parts = [dotted.split(".") for dotted in imports(name, types)]
    used = {part[1] for part in parts if part[0] == "proxycal" and len(part) > 1}
    return (used & rooms()) - {room_of(name)}


@cache
def rooms() -> frozenset[str]:
    return frozenset(room_of(name) for name in sources()) - {"__init__", "__main__"}


@cache
def written_map() -> dict[str, set[str]]:
    """Room -> rooms it may use, as CONTRIBUTING.md says."""
    rows = re.findall(
        r"^\| `(\w+)` \| [^|]+ \| ([\w, ]*)\|$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE
    )
    return {room: {used.strip() for used in uses.split(",") if used.strip()} for room, uses in rows}


def test_the_parser_sees_imports_inside_functions_and_for_types():
    assert "proxycal.report.plots" in imports("found.py", types=False)
    assert "matplotlib.axes" in imports("found.py")
    assert "matplotlib.axes" not in imports("found.py", types=False)


def test_the_guide_names_every_room_and_no_other():
    assert set(written_map()) == rooms()
    assert set().union(*written_map().values()) <= rooms()


@pytest.mark.parametrize("room", sorted(written_map()))
def test_a_room_uses_what_the_guide_says(room):
    used = {name: rooms_used(name) for name in sources() if room_of(name) == room}
    for name, others in used.items():
        extra = others - written_map()[room]
        assert not extra, f"{name} imports {sorted(extra)}: move the code, or write it in CONTRIBUTING.md"
    # What nobody uses any more must leave the guide as well.
    assert written_map()[room] == set().union(*used.values()) | (written_map()[room] & {"result"})


def test_no_room_imports_a_door():
    for name in sources():
        if room_of(name) not in DOORS | {"__main__"}:
            assert not rooms_used(name, types=True) & DOORS, name
    assert not any("cli" in rooms_used(name) for name in sources() if room_of(name) == "app")


def test_torch_lives_in_its_homes_and_never_with_frames():
    for name in sources():
        if "torch" in third_party(name):
            assert name.startswith(TORCH_HOMES), name
            assert not third_party(name) & FRAMES, name


def test_frames_are_known_to_the_rooms_of_frames_only():
    for name in sources():
        if room_of(name) not in FRAME_ROOMS:
            assert not third_party(name, functions=False) & FRAMES, name


@pytest.mark.parametrize("room", ["mixture", "effect", "methods"])
def test_estimators_see_arrays_only(room):
    for name in sources():
        if room_of(name) == room and not name.startswith(TORCH_HOMES):
            allowed = NUMERIC | {"effect/nearest.py": {"faiss"}}.get(name, set())
            assert third_party(name) <= allowed, f"{name} imports {sorted(third_party(name) - allowed)}"


def test_the_report_computes_nothing():
    for name in sources():
        if room_of(name) == "report":
            assert not third_party(name) & (FRAMES | {"sklearn", "torch"}), name


def test_web_packages_are_for_the_page():
    for name in sources():
        if room_of(name) != "app":
            assert not third_party(name) & WEB, name


def test_a_method_is_known_through_the_registry_only():
    """Outside methods/, no file names the module of a method; the studies compare two of them by name."""
    folders = {path.parent.name for path in (PACKAGE / "methods").glob("*/__init__.py")} - {"checks"}
    assert {"exact", "gradual", "moments", "paper", "validated"} <= folders
    modules = {f"proxycal.methods.{folder}" for folder in folders}
    known = {"__init__.py", "questions/refute/null.py"}  # PaperSettings; tables drawn from the exact null
    for name in sources():
        if room_of(name) not in ("methods", "studies") and name not in known:
            used = {".".join(dotted.split(".")[:3]) for dotted in imports(name, types=False)}
            assert not used & modules, f"{name} imports {sorted(used & modules)}"


def test_files_and_functions_stay_short():
    for name in sources():
        tree = tree_of(name)
        assert len((PACKAGE / name).read_text(encoding="utf-8").splitlines()) <= 420, name
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno
                assert lines <= 75, f"{name}:{node.lineno} {node.name} has {lines} lines"


def own_test(name: str) -> Path | None:
    """The test file of a module's name in the mirrored folder, or that of the folder that it stands in."""
    module = Path(name)
    folder = [module.parent] if len(module.parts) > 2 else []
    mirrored = (TESTS / path.parent / f"test_{path.stem}.py" for path in (module, *folder))
    return next((path for path in mirrored if path.exists()), None)


def test_every_module_has_a_test_file_of_its_name():
    modules = [name for name in sources() if Path(name).stem not in ("__init__", "__main__")]
    without = {name for name in modules if own_test(name) is None}
    missing = sorted(without - TESTED_ELSEWHERE.keys())
    assert not missing, f"no test file of their name: {missing}; write tests/x/test_y.py for x/y.py"
    settled = sorted(TESTED_ELSEWHERE.keys() - without)
    assert not settled, f"have a test file of their own, or are gone: take {settled} off the list"
    for name, other in TESTED_ELSEWHERE.items():
        assert (TESTS / other).exists(), f"{name} is said to be tested in {other}"


def private_names(path: Path) -> list[str]:
    """Names of the package that begin with one underscore and that a test file touches."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules: dict[str, str] = {}
    touched: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "proxycal":
            for alias in node.names:
                dotted = f"{node.module}.{alias.name}"
                modules |= {alias.asname or alias.name: dotted} if is_module(dotted) else {}
                touched += [dotted] if is_private(alias.name) else []
        elif isinstance(node, ast.Import):
            modules |= {
                alias.asname: alias.name for alias in node.names if alias.asname and is_module(alias.name)
            }
        elif isinstance(node, ast.Constant) and re.fullmatch(r"proxycal(\.\w+)+", str(node.value)):
            # As monkeypatch names what it replaces.
            touched += [str(node.value)] if any(map(is_private, str(node.value).split("."))) else []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and is_private(node.attr):
            touched += [f"{modules[node.value.id]}.{node.attr}"] if node.value.id in modules else []
        elif isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            held, name = node.args[0], node.args[1].value
            if isinstance(held, ast.Name) and held.id in modules and is_private(str(name)):
                touched.append(f"{modules[held.id]}.{name}")
    return touched


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def is_module(dotted: str) -> bool:
    path = PACKAGE.parent / Path(*dotted.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()


def test_the_search_for_private_names_sees_them(tmp_path):
    path = tmp_path / "test_x.py"
    path.write_text(
        "from proxycal.app import server as page\n"
        "from proxycal.files import _read_csv, write_text\n"
        "page._need\n"
        "write_text.__doc__\n"
        "monkeypatch.setattr('proxycal.app.server._need', 1)\n"
        "monkeypatch.setattr(page, '_need', 1)\n"
    )
    assert [name.rpartition(".")[2] for name in private_names(path)] == ["_read_csv", *["_need"] * 3]


def test_no_test_touches_a_private_name():
    found = {path.relative_to(TESTS).as_posix(): private_names(path) for path in TESTS.rglob("*.py")}
    touched = {name: names for name, names in found.items() if names and name not in PRIVATE_STILL}
    assert not touched, "drop the underscore of what deserves a test, or test what calls it"
    settled = sorted(name for name in PRIVATE_STILL if not found.get(name))
    assert not settled, f"touch no private name any more: take {settled} off the list"


def test_nothing_is_pickled_and_no_global_seed_is_set():
    for name in sources():
        assert not {dotted.split(".")[0] for dotted in imports(name)} & UNSAFE, name
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.Attribute) and node.attr in ("seed", "manual_seed", "save", "load"):
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
