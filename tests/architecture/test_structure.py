"""Modules are short, import each other in one direction, and few of them know the simulator."""

import networkx as nx

from tests.support.imports import project_modules, run_imports

LONGEST = 450
KNOW_THE_SIMULATOR = (
    "tasks.simulator",
    "tasks.judges",  # measures judges, the annotator and the writer's rules on planted truth
    "tasks.measures.doclens.evaluators",  # the evaluator without a model
    "tasks.transport.simulator_code",
    "flows.commands.domain",  # checks the files that the simulator reads
)

LOOKS_UP = "tasks.transport.simulator_code"
"""Hashes the code of the simulator, whose room stands above its own."""


def test_no_import_cycle_at_any_depth() -> None:
    graph = nx.DiGraph([(m, other) for m in project_modules() for other in run_imports(m) if other != m])
    cycles = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert cycles == []


def test_rooms_import_each_other_in_one_direction() -> None:
    """Whoever reads a room needs those below it only, see the order in docs/architecture.md."""
    pairs = {(room(m), room(other)) for m in project_modules() if m != LOOKS_UP for other in run_imports(m)}
    graph = nx.DiGraph((one, other) for one, other in pairs if one != other)
    assert [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1] == []
    looked_at = {room(other) for other in run_imports(LOOKS_UP)}
    assert "tasks.simulator" in looked_at, "an exception that is none"


def room(module: str) -> str:
    return ".".join(module.split(".")[:2])


def test_no_module_is_too_long_to_read() -> None:
    lengths = {m: len(file.read_text(encoding="utf-8").splitlines()) for m, file in project_modules().items()}
    assert {module: length for module, length in lengths.items() if length > LONGEST} == {}


def test_only_listed_modules_import_the_simulator() -> None:
    importers = {m for m in project_modules() if any(n.startswith("tasks.simulator") for n in run_imports(m))}
    assert {module for module in importers if not module.startswith(KNOW_THE_SIMULATOR)} == set()
    unused = [known for known in KNOW_THE_SIMULATOR if not any(m.startswith(known) for m in importers)]
    assert unused == []
