"""Modules are short, import each other in one direction, and few of them know the simulator."""

import re

import networkx as nx

from tasks.code import ROOT, room
from tests.architecture.code import CODE

LONGEST = 450
KNOW_THE_SIMULATOR = (
    "tasks.simulator",
    "tasks.judges.simulated_notes",  # asks for the truth of written notes, of which the cases of measures are made
    "tasks.judges.consistency_checks",
    "tasks.judges.shortening",
    "tasks.audit.planted_assertions",
    "tasks.measures.doclens.planted",
    "tasks.measures.doclens.evaluators",  # the evaluator without a model
    "tasks.transport.fingerprint",  # hashes its rules
    "flows.runtime.clients",  # asks it within the process
    "flows.runtime.domain",  # checks the files that the simulator reads
)

LOOKS_UP, LOOKED_UP_AT = "tasks.transport.fingerprint", {"tasks.simulator", "tasks.domains"}
"""A module that imports from rooms above its own, to hash the code of the simulator and the domain."""


def run_imports(module: str) -> set[str]:
    """Modules of the project that a module imports at run time, in functions too; no type-only imports."""
    statements = CODE.statements(module)
    bases = {base for one in statements for base, _ in one.imports} & {*CODE.modules}
    return bases | {name for name, _ in CODE.imported(module, statements)}


def test_no_import_cycle_at_any_depth() -> None:
    graph = nx.DiGraph([(m, other) for m in CODE.modules for other in run_imports(m) if other != m])
    cycles = [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1]
    assert cycles == []


def test_rooms_import_each_other_in_one_direction() -> None:
    """Whoever reads a room needs those below it only."""
    graph = nx.DiGraph((room(m), room(other)) for m in CODE.modules for other in run_imports(m))
    graph.remove_edges_from([(name, name) for name in graph])
    assert {room(other) for other in run_imports(LOOKS_UP)} & {*nx.ancestors(graph, room(LOOKS_UP))} == LOOKED_UP_AT
    graph.remove_edges_from([(room(LOOKS_UP), other) for other in LOOKED_UP_AT])
    assert [sorted(part) for part in nx.strongly_connected_components(graph) if len(part) > 1] == []


def test_packages_of_flows_import_those_below_them_in_the_list_of_the_docs() -> None:
    listed = re.findall(r"^  (\w+)/ ", (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"), re.MULTILINE)
    packages = {m.split(".")[1] for m in CODE.modules if m.startswith("flows.")}
    assert set(listed) == packages
    for module in (name for name in CODE.modules if name.startswith("flows.")):
        own, *_ = below = listed[listed.index(module.split(".")[1]) :]
        used = {name.split(".")[1] for name in run_imports(module) if name.startswith("flows.")}
        assert used <= {*below}, f"{module} imports {used - {*below}}; docs/architecture.md lists that above {own}"


def test_no_module_is_too_long_to_read() -> None:
    lengths = {m: len(file.read_text(encoding="utf-8").splitlines()) for m, file in CODE.modules.items()}
    assert {module: length for module, length in lengths.items() if length > LONGEST} == {}


def test_the_tests_of_a_room_are_in_the_folder_of_its_name() -> None:
    """After an edit, ``pytest tests/<room>`` runs what is most likely to notice it."""
    rooms = {m.split(".")[1] for m, file in CODE.modules.items() if not m.startswith("schemas") and m.count(".") > 1}
    assert {name for name in rooms if not [*(ROOT / "tests" / name).glob("test_*.py")]} == set()


def test_only_listed_modules_import_the_simulator() -> None:
    importers = {m for m in CODE.modules if any(n.startswith("tasks.simulator") for n in run_imports(m))}
    assert {module for module in importers if not module.startswith(KNOW_THE_SIMULATOR)} == set()
    writer = {m for m in importers if any(n.startswith("tasks.simulator.writer") for n in run_imports(m))}
    assert {module for module in writer if not module.startswith("tasks.simulator")} == set()
    unused = [known for known in KNOW_THE_SIMULATOR if not any(m.startswith(known) for m in importers)]
    assert unused == []
