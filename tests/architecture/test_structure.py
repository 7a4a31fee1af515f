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


def test_no_import_cycle_at_any_depth() -> None:
    graph = nx.DiGraph([(m, other) for m in project_modules() for other in run_imports(m) if other != m])
    cycles = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert cycles == []


def test_no_module_is_too_long_to_read() -> None:
    lengths = {m: len(file.read_text(encoding="utf-8").splitlines()) for m, file in project_modules().items()}
    assert {module: length for module, length in lengths.items() if length > LONGEST} == {}


def test_only_listed_modules_import_the_simulator() -> None:
    importers = {m for m in project_modules() if any(n.startswith("tasks.simulator") for n in run_imports(m))}
    assert {module for module in importers if not module.startswith(KNOW_THE_SIMULATOR)} == set()
    unused = [known for known in KNOW_THE_SIMULATOR if not any(m.startswith(known) for m in importers)]
    assert unused == []
