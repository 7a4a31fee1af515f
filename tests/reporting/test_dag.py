"""The stage graph: each stage once, no overlapping boxes, deterministic output."""

import re
from itertools import combinations
from pathlib import Path

import networkx as nx

from flows.engine.pipeline import read_pipeline
from tasks.reporting.dag import draw, stage_graph
from tasks.reporting.dag_layout import layered
from tests.support.imports import ROOT


def test_an_edge_joins_the_writer_of_a_file_to_its_reader() -> None:
    stages = {
        "sample": {"outs": ["a.parquet"], "metrics": [{"tables/t.csv": {"cache": False}}]},
        "write": {"deps": ["a.parquet", "tasks/notes"], "outs": ["b.parquet"]},
        "report": {"deps": ["tables/t.csv", "b.parquet"]},
        "record": {"deps": ["tables"]},
    }
    edges = {("sample", "write"), ("sample", "report"), ("write", "report"), ("sample", "record")}
    assert set(stage_graph(stages).edges) == edges


def test_boxes_of_a_row_do_not_overlap_in_the_graph_of_dvc_yaml() -> None:
    graph = nx.transitive_reduction(stage_graph(read_pipeline(Path(ROOT) / "dvc.yaml")))
    layout = layered(graph)
    level = {node: place for place, row in enumerate(layout.rows) for node in row}
    assert set(graph) <= set(level)
    assert all(level[a] < level[b] for a, b in graph.edges)
    for row in layout.rows:
        for a, b in combinations(row, 2):
            needed = sum(0.06 if isinstance(node, tuple) else 0.5 for node in (a, b))
            assert abs(layout.x[a] - layout.x[b]) >= needed - 1e-9, (a, b)


def test_a_long_edge_has_a_dummy_node_in_each_row_that_it_passes() -> None:
    layout = layered(nx.DiGraph([("a", "b"), ("b", "c"), ("c", "d"), ("x", "d"), ("a", "y"), ("y", "d")]))
    level = {node: place for place, row in enumerate(layout.rows) for node in row}
    path = layout.paths["y", "d"]
    assert [level[node] for node in path] == list(range(level["y"], level["d"] + 1))
    assert level["x"] == level["d"] - 1  # a source is placed directly above its reader


def test_stages_link_to_their_results_and_implied_edges_are_not_drawn() -> None:
    graph = nx.DiGraph([("a", "b"), ("b", "c"), ("a", "c")])
    picture = draw(graph, {"a": "data"}, {"b": "table-b"})
    assert re.findall(r'data-stage="(\w+)"', picture) == ["a", "b", "c"]
    assert re.findall(r'data-from="(\w)" data-to="(\w)"', picture) == [("a", "b"), ("b", "c")]
    assert re.findall(r'href="(#[^"]+)"', picture) == ["#table-b"]
    assert draw(graph, {"a": "data"}, {"b": "table-b"}) == picture


def test_names_are_escaped_and_an_empty_graph_gives_no_svg() -> None:
    graph = nx.DiGraph()
    assert draw(graph, {}, {}) == ""
    graph.add_node("<b>&")
    assert "<b>" not in draw(graph, {}, {})


def test_a_chain_is_straight_and_two_readers_lie_on_both_sides() -> None:
    chain = layered(nx.DiGraph([("a", "a stage with a long name"), ("a stage with a long name", "c")]))
    assert list(chain.x.values()) == [0, 0, 0]
    fork = layered(nx.DiGraph([("a", "b"), ("a", "c")]))
    assert fork.x["b"] == -fork.x["c"] != 0
    assert fork.x["a"] == 0
