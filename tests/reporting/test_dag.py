"""The drawing of the graph: every stage once, no box on another, no arrow through a box, the same drawing each time."""

import re
from itertools import combinations
from pathlib import Path

import networkx as nx

from flows.engine.pipeline import read_pipeline
from tasks.reporting.dag import draw, stage_graph
from tasks.reporting.dag_layout import layered
from tests.support.imports import ROOT


def test_an_edge_stands_where_one_stage_reads_what_another_writes() -> None:
    stages = {
        "sample": {"outs": ["a.parquet"], "metrics": [{"t.csv": {"cache": False}}]},
        "write": {"deps": ["a.parquet", "tasks/notes"], "outs": ["b.parquet"]},
        "report": {"deps": ["t.csv", "b.parquet"]},
    }
    assert set(stage_graph(stages).edges) == {("sample", "write"), ("sample", "report"), ("write", "report")}


def test_no_two_boxes_of_a_row_overlap_in_the_project_s_own_graph() -> None:
    graph = nx.transitive_reduction(stage_graph(read_pipeline(Path(ROOT) / "dvc.yaml")))
    layout = layered(graph)
    level = {node: place for place, row in enumerate(layout.rows) for node in row}
    assert set(graph) <= set(level)
    assert all(level[a] < level[b] for a, b in graph.edges)
    for row in layout.rows:
        for a, b in combinations(row, 2):
            needed = sum(0.06 if isinstance(node, tuple) else 0.5 for node in (a, b))
            assert abs(layout.x[a] - layout.x[b]) >= needed - 1e-9, (a, b)


def test_a_long_edge_has_a_place_in_every_row_that_it_passes() -> None:
    layout = layered(nx.DiGraph([("a", "b"), ("b", "c"), ("c", "d"), ("x", "d"), ("a", "y"), ("y", "d")]))
    level = {node: place for place, row in enumerate(layout.rows) for node in row}
    path = layout.paths["y", "d"]
    assert [level[node] for node in path] == list(range(level["y"], level["d"] + 1))
    assert level["x"] == level["d"] - 1  # a start stands right above its reader


def test_the_drawing_names_each_stage_links_to_its_results_and_leaves_out_what_is_implied() -> None:
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")])
    picture = draw(graph, {"a": "data"}, {"b": "table-b"})
    assert re.findall(r'data-stage="(\w+)"', picture) == ["a", "b", "c"]
    assert re.findall(r'data-from="(\w)" data-to="(\w)"', picture) == [("a", "b"), ("b", "c")]
    assert re.findall(r'href="(#[^"]+)"', picture) == ["#table-b"]
    assert draw(graph, {"a": "data"}, {"b": "table-b"}) == picture


def test_names_are_escaped_and_an_empty_graph_is_no_picture() -> None:
    graph = nx.DiGraph()
    assert draw(graph, {}, {}) == ""
    graph.add_node("<b>&")
    assert "<b>" not in draw(graph, {}, {})
