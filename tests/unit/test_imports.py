"""The import rule: graph <- streams <- infra <- services, and the core touches no driver."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

import graphtide

ROOT = Path(__file__).parents[2]
LAYERS = ["graph", "streams", "infra", "services"]
MAX_MODULES = 12
CORE_MAY_IMPORT = {"graph", "numpy", "networkit", "sortedcontainers"}


def layer_of(module: str) -> str:
    """Return the folder of a module of the package; of any other module its top-level name."""
    first, _, rest = module.partition(".")
    return rest.split(".")[0] if first == "graphtide" and rest else first


def imported(file: Path) -> Iterator[str]:
    """Yield the top-level names of all modules a file imports, also inside functions."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (layer_of(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module == "graphtide":
                yield from (layer_of(f"graphtide.{alias.name}") for alias in node.names)
            else:
                yield layer_of(node.module)


@pytest.mark.thorough
@pytest.mark.parametrize("layer", LAYERS)
def test_imports_run_one_way_in_every_layer(layer: str) -> None:
    """No module imports from a layer above its own."""
    above = set(LAYERS[LAYERS.index(layer) + 1 :]) | {"tests", "graphtide"}
    found = {
        f"{file.relative_to(ROOT)} imports {name}"
        for file in (ROOT / layer).rglob("*.py")
        for name in imported(file)
        if name in above
    }
    assert not found


@pytest.mark.thorough
def test_core_imports_no_driver_and_no_event_loop() -> None:
    """graph/ needs numpy, networkit, sortedcontainers and the standard library; no asyncio, sockets or files."""
    standard = set(sys.stdlib_module_names) - {"asyncio", "socket", "sqlite3", "subprocess", "http", "urllib"}
    found = {
        f"{file.relative_to(ROOT)} imports {name}"
        for file in (ROOT / "graph").rglob("*.py")
        for name in imported(file)
        if name not in standard | CORE_MAY_IMPORT
    }
    assert not found


def test_import_scan_sees_a_forbidden_import_when_there_is_one(tmp_path: Path) -> None:
    """The scan detects imports inside functions, too."""
    file = tmp_path / "module.py"
    file.write_text("def f():\n    from graphtide.services.cli import main\n")
    assert list(imported(file)) == ["services"]


@pytest.mark.thorough
def test_service_and_command_line_import_no_optional_part() -> None:
    """The client of a language model takes a third of a process's start time; `graphtide eval` loads the evaluation."""
    modules = ("process.serve", "wiring", "cluster.wiring", "cli", "cli.top_level.app")
    imports = ", ".join(f"graphtide.services.{module}" for module in modules)
    script = f"import {imports}, sys; print([n for n in sys.modules if n == 'openai' or 'services.evaluation' in n])"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.thorough
def test_processes_of_a_cluster_import_no_pandas() -> None:
    """It is installed with gqlalchemy, and the driver of the graph database would load it: 69 MiB in each process."""
    script = "import graphtide.infra.bolt.backend, sys; print('pandas' in sys.modules); import pandas"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def modules_imported(file: Path) -> Iterator[str]:
    """Yield the modules of the package that a file imports at its top level, for types alone too."""
    top = ast.parse(file.read_text()).body
    blocks = [node.body for node in top if isinstance(node, ast.If)]
    for node in (inner for body in (top, *blocks) for inner in body):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.thorough
def test_no_modules_import_each_other_in_a_circle() -> None:
    """Neither at run time nor for types: modules without an order of reading cannot be understood one by one."""
    files = {module_of(file): file for layer in LAYERS for file in (ROOT / layer).rglob("*.py")}
    plain = {name: file for name, file in files.items() if file.name != "__init__.py"}
    graph = networkx.DiGraph()
    for name, file in plain.items():
        graph.add_edges_from((name, other) for other in modules_imported(file) if other in plain)
    assert [sorted(circle) for circle in networkx.strongly_connected_components(graph) if len(circle) > 1] == []


def module_of(file: Path) -> str:
    """Return the dotted name of a file of the package."""
    return ".".join(("graphtide", *file.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def test_folders_hold_few_modules() -> None:
    """A folder of the package that outgrows the limit is divided into subpackages by subject."""
    folders = {file.parent for layer in LAYERS for file in (ROOT / layer).rglob("*.py")}
    sizes = {str(folder.relative_to(ROOT)): module_count(folder) for folder in sorted(folders)}
    assert {name: size for name, size in sizes.items() if size > MAX_MODULES} == {}


def module_count(folder: Path) -> int:
    """Count the modules in a folder, without its `__init__.py` and without those of its subfolders."""
    return sum(file.name != "__init__.py" for file in folder.glob("*.py"))


def test_old_public_name_works_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match=r"graphtide\.Piece is now graphtide\.AnswerChunk"):
        assert graphtide.Piece is graphtide.AnswerChunk
    assert "Piece" not in graphtide.__all__
