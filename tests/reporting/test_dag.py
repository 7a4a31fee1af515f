"""The stage graph: each stage once, no overlapping boxes, deterministic output."""

import re
from itertools import combinations, pairwise
from pathlib import Path

import networkx as nx

from flows.repository.pipeline import read_pipeline
from tasks.reporting.dag import draw, layered, stage_graph
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


def test_two_stages_are_drawn_below_each_other_with_a_curve_from_box_to_box() -> None:
    """A box of 150 x 28 in a cell of 164 x 50, 4 from the upper edge, its name on the middle of the box."""
    picture = draw(nx.DiGraph([("a", "b")]), {"a": "data"}, {})
    assert 'viewBox="0 0 164 86"' in picture
    boxes = re.findall(r'class="box (\w+)" x="([\d.]+)" y="([\d.]+)" rx="6" width="(\d+)" height="(\d+)"', picture)
    assert boxes == [("data", "7.0", "4.0", "150", "28"), ("other", "7.0", "54.0", "150", "28")]
    assert re.findall(r'<text x="([\d.]+)" y="([\d.]+)"', picture) == [("82.0", "22.0"), ("82.0", "72.0")]
    assert 'd="M82.0 32.0C82.0 43.0 82.0 43.0 82.0 54.0"' in picture
    assert re.findall("<title>(.*?)</title>", picture) == ["a: reads nothing; feeds b", "b: reads a; feeds nothing"]


def test_an_edge_that_passes_a_row_is_vertical_there_and_every_box_is_within_the_picture() -> None:
    picture = draw(nx.DiGraph([("s", "a"), ("a", "b"), ("b", "c"), ("s", "y"), ("y", "c")]), {}, {})
    (passing,) = re.findall(r'data-from="y" data-to="c" d="([^"]+)"', picture)
    ends, (_, top, bottom) = passing.split("C"), re.findall(r"([\d.]+) ([\d.]+)V([\d.]+)", passing)[0]
    assert len(ends) == 3 and (top, bottom) == ("104.0", "132.0")
    lefts = [float(x) for x in re.findall(r'<rect[^>]* x="([\d.]+)"', picture)]
    assert (min(lefts), max(lefts) + 150) == (7, 328 - 7) and 'viewBox="0 0 328 186"' in picture


def test_a_tree_is_drawn_without_crossings_and_symmetric() -> None:
    names = [f"{n * 7 % 31:02}" for n in range(31)]  # no order by name has anything to do with the tree
    tree = nx.DiGraph([(names[(n - 1) // 2], names[n]) for n in range(1, 31)])
    layout = layered(tree)
    x, level = layout.x, {node: place for place, row in enumerate(layout.rows) for node in row}
    for (a, b), (c, d) in combinations(tree.edges, 2):
        assert level[a] != level[c] or (x[a] - x[c]) * (x[b] - x[d]) >= 0, (a, b, c, d)
    for row in layout.rows:
        assert [round(x[node], 6) for node in row] == [round(-x[node], 6) for node in reversed(row)]
        assert row == sorted(row, key=x.__getitem__)


def test_crossed_edges_are_exchanged_over_several_rows() -> None:
    graph = nx.DiGraph([("a", "n"), ("b", "m"), ("n", "x"), ("m", "y"), ("a", "o"), ("o", "z")])
    layout = layered(graph)
    for upper, lower in pairwise(layout.rows):
        ends = [(upper.index(a), lower.index(b)) for a, b in graph.edges if a in upper and b in lower]
        assert all((a - c) * (b - d) >= 0 for (a, b), (c, d) in combinations(ends, 2))
