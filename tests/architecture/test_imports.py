"""Imports go in one direction, and each heavy framework has one importer."""

import pytest

from tests.support.imports import imports_of, project_imports, project_modules

LEAVES = tuple(
    f"tasks.{room}" for room in ("domains", "llm", "simulator", "text", "statistics", "encoder", "progress", "device")
)
NETWORK_READERS = ("tasks.baselines", "tasks.evaluation")  # they compute posteriors with the network's public functions
SOLE_IMPORTERS = {
    "prefect": "flows",
    "mlflow": "tasks.tracking",
    "pgmpy": "tasks.network",
    "openai": "tasks.llm",
    "xgboost": "tasks.baselines",
    "sentence_transformers": "tasks.encoder",
    "transformers": "tasks.encoder",
    "krippendorff": "tasks.statistics",
    "spacy": "tasks.exchange",
    "huggingface_hub": "tasks.dataset",
    "mkdocs": "flows.reference",
}


def room(module: str) -> str:
    return ".".join(module.split(".")[:2])


@pytest.mark.parametrize("module", sorted(project_modules()))
def test_module_imports_only_packages_allowed_for_its_layer(module: str) -> None:
    for imported in project_imports(module):
        if module.startswith("schemas"):
            assert imported.startswith("schemas"), f"{module} imports {imported}; schemas import nothing else"
        if module.startswith("tasks"):
            assert not imported.startswith("flows"), f"{module} imports {imported}; nothing imports flows"
            stage_room = imported.startswith("tasks.") and room(imported) not in (*LEAVES, room(module))
            if stage_room and room(module) in NETWORK_READERS:
                assert room(imported) == "tasks.network", f"{module} imports the insides of {imported}"
            else:
                assert not stage_room, f"{module} imports {imported}, another stage room"


@pytest.mark.parametrize("leaf", LEAVES)
def test_leaf_rooms_import_no_stage_room(leaf: str) -> None:
    for module in project_modules():
        if module.startswith(leaf):
            rooms = {room(name) for name in project_imports(module) if name.startswith("tasks.")}
            assert rooms <= set(LEAVES), f"{module} imports {rooms - set(LEAVES)}"


@pytest.mark.parametrize(("framework", "home"), SOLE_IMPORTERS.items())
def test_heavy_framework_has_one_importer(framework: str, home: str) -> None:
    importers = [m for m in project_modules() if any(n.split(".")[0] == framework for n in imports_of(m))]
    assert importers, f"{framework} is a fixed package and nobody imports it"
    assert all(module.startswith(home) for module in importers), f"{framework} is imported by {importers}"


def test_judges_never_see_the_writer_or_the_truth() -> None:
    embedded = "tasks.simulator."
    for module in project_modules():
        if module.startswith(tuple(embedded + name for name in ("annotator", "judge", "answerer", "clinical"))):
            seen = {n for n in project_imports(module) if n.startswith((embedded + "writer", embedded + "truth"))}
            assert not seen, f"{module} imports {seen}; a judge that knows the writer's grammar measures nothing"


def test_every_package_has_a_docstring() -> None:
    for module, file in project_modules().items():
        if file.name == "__init__.py":
            assert file.read_text(encoding="utf-8").lstrip().startswith('"""'), f"{module} has no docstring"
