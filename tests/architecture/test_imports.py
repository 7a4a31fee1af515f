"""Imports go in one direction, and each heavy framework has one importer."""

import ast
from functools import cache

from tasks.code import room
from tests.architecture.code import CODE, nodes_of
from tests.support.cases import each

LEAVES = {
    f"tasks.{room}"
    for room in (
        "domains",
        "llm",
        "transport",
        "simulator",
        "text",
        "statistics",
        "encoder",
        "code",
        "progress",
    )
}
"""Rooms that every other may use."""
ALSO = {
    "tasks.audit": {"tasks.judges", "tasks.measures", "tasks.reporting", "tasks.spans", "tasks.texts"},
    "tasks.baselines": {"tasks.judges", "tasks.network"},
    "tasks.domains": {"tasks.network"},
    "tasks.measures": {"tasks.judges", "tasks.network", "tasks.people", "tasks.texts", "tasks.visits"},
    "tasks.judges": {"tasks.notes", "tasks.texts"},
    "tasks.notes": {"tasks.network"},
    "tasks.people": {"tasks.texts"},
    "tasks.papers": {"tasks.measures"},
    "tasks.simulator": {"tasks.network"},
    "tasks.reporting": {"tasks.measures", "tasks.papers", "tasks.texts", "tasks.tracking"},
    "tasks.tracking": {"tasks.measures"},
    "tasks.visits": {"tasks.network", "tasks.notes"},
}
"""The other rooms that a room may use."""
SOLE_IMPORTERS = {
    "prefect": "flows",
    "mlflow": "tasks.tracking",
    "pgmpy": "tasks.network",
    "sqlalchemy": "tasks.transport",
    "openai": "tasks.transport",
    "xgboost": "tasks.baselines",
    "sentence_transformers": "tasks.encoder",
    "transformers": "tasks.encoder",
    "huggingface_hub": "tasks.dataset",
}


@cache
def imports_of(module: str) -> set[str]:
    """Modules and names that a module imports, at any depth of its code, as dotted paths; type-only imports too."""
    found = set()
    for node in nodes_of(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def project_imports(module: str) -> set[str]:
    return imports_of(module) & {*CODE.modules}


@each("module", sorted(CODE.modules))
def test_module_imports_only_packages_allowed_for_its_layer(module: str) -> None:
    for imported in project_imports(module):
        if module.startswith("schemas"):
            assert imported.startswith("schemas"), f"{module} imports {imported}; schemas import nothing else"
        if module.startswith("tasks"):
            assert not imported.startswith("flows"), f"{module} imports {imported}; nothing imports flows"
            if imported.startswith("tasks."):
                allowed = LEAVES | ALSO.get(room(module), set()) | {room(module)}
                assert room(imported) in allowed, f"{module} imports {imported}, another stage room"


@each("framework, home", SOLE_IMPORTERS.items())
def test_heavy_framework_has_one_importer(framework: str, home: str) -> None:
    importers = [m for m in CODE.modules if any(n.split(".")[0] == framework for n in imports_of(m))]
    assert importers, f"{framework} is a fixed package and nobody imports it"
    assert all(module.startswith(home) for module in importers), f"{framework} is imported by {importers}"


def test_judges_never_see_the_writer_or_the_truth() -> None:
    simulator = "tasks.simulator."
    for module in CODE.modules:
        if module.startswith(simulator + "reader"):
            seen = {n for n in project_imports(module) if n.startswith((simulator + "writer", simulator + "truth"))}
            assert not seen, f"{module} imports {seen}; a judge that knows the writer's grammar measures nothing"
