"""Draws the stage graph of dvc.yaml as SVG, in a layered layout (Sugiyama, Tagawa and Toda 1981).

Rows by longest path, a dummy node wherever an edge passes a row, rows sorted by the mean position of their neighbours
to reduce crossings. Ties break by name, so the layout of a graph is deterministic. Edges to one reader share their
dummies: without that the graph is twice as wide.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from html import escape
from itertools import combinations, pairwise
from statistics import fmean
from typing import Any

import networkx as nx
import numpy as np
from scipy.optimize import isotonic_regression

_SWEEPS = 24
_SETTLES = 200
_DUMMY_WIDTH = 0.12
_STRAIGHT = 8  # weight of the pull between two dummies of an edge; that of a box is 1
Node = Hashable


@dataclass(frozen=True)
class Layout:
    """``rows`` of nodes and dummies, top to bottom; ``x`` of each in box widths; ``paths`` from edge to its nodes."""

    rows: list[list[Node]]
    x: dict[Node, float]
    paths: dict[tuple[Node, Node], list[Node]]


def layered(graph: nx.DiGraph) -> Layout:
    """Lay out ``graph``: boxes are 1 wide, passing edges `_DUMMY_WIDTH`; x is 0 at the centre of the page."""
    rows, paths, proper = _with_dummies(graph)
    rows = _uncrossed(rows, proper)
    width = {node: _DUMMY_WIDTH if isinstance(node, tuple) else 1.0 for node in proper}
    return Layout(rows, _settled(rows, proper, width), paths)


def _row_of(graph: nx.DiGraph) -> dict[Node, int]:
    """Row of each node by longest path; a source is moved down to the row above its first reader."""
    row = {node: level for level, nodes in enumerate(nx.topological_generations(graph)) for node in nodes}
    for node in row:
        if graph.in_degree(node) == 0 and graph.out_degree(node):
            row[node] = min(row[after] for after in graph.successors(node)) - 1
    return row


def _with_dummies(
    graph: nx.DiGraph,
) -> tuple[list[list[Node]], dict[tuple[Node, Node], list[Node]], nx.Graph]:
    row = _row_of(graph)
    rows: list[list[Node]] = [[] for _ in range(max(row.values()) + 1)]
    for node in sorted(row, key=str):
        rows[row[node]].append(node)
    paths, proper = {}, nx.Graph()
    proper.add_nodes_from(row)
    for start, end in sorted(graph.edges):
        # Edges to one reader are bundled: a dummy is identified by (end, row).
        between: list[Node] = [(end, level) for level in range(row[start] + 1, row[end])]
        for dummy, level in zip(between, range(row[start] + 1, row[end]), strict=True):
            if dummy not in proper:
                rows[level].append(dummy)
        path = [start, *between, end]
        nx.add_path(proper, path)
        paths[start, end] = path
    return rows, paths, proper


def _uncrossed(rows: list[list[Node]], proper: nx.Graph) -> list[list[Node]]:
    best, least = rows, _crossings(rows, proper)
    for sweep in range(_SWEEPS):
        order = range(1, len(rows)) if sweep % 2 == 0 else range(len(rows) - 2, -1, -1)
        rows = [list(row) for row in rows]
        for level in order:
            other = {node: place for place, node in enumerate(rows[level - 1 if sweep % 2 == 0 else level + 1])}
            near = {node: [other[n] for n in proper[node] if n in other] for node in rows[level]}
            mean = {node: fmean(near[node]) if near[node] else place for place, node in enumerate(rows[level])}
            rows[level].sort(key=mean.__getitem__)
        crossings = _crossings(rows, proper)
        if crossings < least:
            best, least = rows, crossings
    return best


def _crossings(rows: list[list[Node]], proper: nx.Graph) -> int:
    count = 0
    for upper, lower in pairwise(rows):
        below = {node: place for place, node in enumerate(lower)}
        ends = [end for node in upper for end in sorted(below[n] for n in proper[node] if n in below)]
        count += sum(a > b for a, b in combinations(ends, 2))
    return count


def _settled(rows: list[list[Node]], proper: nx.Graph, width: dict[Node, float]) -> dict[Node, float]:
    """x of each node, moved towards the mean of its neighbours; row order and box widths are kept."""
    x: dict[Node, float] = {}
    for row in rows:
        at = -sum(width[node] for node in row) / 2
        for node in row:
            x[node] = at + width[node] / 2
            at += width[node]
    for _ in range(_SETTLES):
        for row in rows:
            wanted = [_pulled(node, x, proper) for node in row]
            for node, place in zip(row, _spread(wanted, [width[node] for node in row]), strict=True):
                x[node] = place
    return x


def _pulled(node: Node, x: dict[Node, float], proper: nx.Graph) -> float:
    """Weighted mean x of a node's neighbours; dummies of one edge weigh most, so that long edges are straight."""
    near = list(proper[node])
    if not near:
        return x[node]
    weights = [_STRAIGHT if isinstance(node, tuple) and isinstance(n, tuple) else 1 for n in near]
    return fmean([x[n] for n in near], weights=weights)


def _spread(wanted: list[float], widths: list[float]) -> list[float]:
    """Least-squares fit to ``wanted`` under order and width constraints."""
    offsets = np.concatenate([[0.0], np.cumsum([(left + right) / 2 for left, right in pairwise(widths)])])
    fitted: list[float] = (isotonic_regression(np.array(wanted) - offsets).x + offsets).tolist()
    return fitted


_BOX_WIDTH, _BOX_HEIGHT, _CELL, _ROW = 150, 28, 164, 50


def stage_graph(stages: Mapping[str, Mapping[str, Any]]) -> nx.DiGraph:
    """Stage graph: an edge from the stage that writes a file to each stage that reads it."""
    writer = {path: name for name, stage in stages.items() for path in _paths(stage, ("outs", "metrics", "plots"))}
    graph = nx.DiGraph()
    graph.add_nodes_from(stages)
    for name, stage in stages.items():
        for dep in _paths(stage, ("deps",)):
            graph.add_edges_from((writer[path], name) for path in writer if path == dep or path.startswith(f"{dep}/"))
    return graph


def _paths(stage: Mapping[str, Any], kinds: tuple[str, ...]) -> list[str]:
    entries = [entry for kind in kinds for entry in stage.get(kind, [])]
    return [next(iter(entry)) if isinstance(entry, dict) else entry for entry in entries]


def draw(graph: nx.DiGraph, groups: Mapping[str, str], targets: Mapping[str, str]) -> str:
    """SVG of the graph, top to bottom.

    ``groups`` maps stages to CSS classes; ``targets`` maps stages to the page element they link to (absent: no link).
    Draws the transitive reduction, because the full graph has too many edges to read.
    """
    if not graph:
        return ""
    needed = nx.transitive_reduction(graph)
    layout = layered(needed)
    left = min(layout.x.values()) - 0.5
    width = (max(layout.x.values()) + 0.5 - left) * _CELL
    level = {node: row for row, nodes in enumerate(layout.rows) for node in nodes}
    place = {node: ((x - left) * _CELL, level[node] * _ROW + 4.0) for node, x in layout.x.items()}
    edges = "".join(_edge(edge, layout, place) for edge in sorted(needed.edges))
    boxes = "".join(
        _box(name, place[name], groups.get(name, "other"), targets.get(name), graph) for name in sorted(graph)
    )
    height = len(layout.rows) * _ROW - (_ROW - _BOX_HEIGHT) + 8
    return (
        f'<svg class="dag" viewBox="0 0 {width:.0f} {height}" role="group" aria-label="graph of stages">'
        f'<defs><marker id="tip" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="5" markerHeight="5" orient="auto">'
        f'<path d="M0 0L6 3L0 6z"/></marker></defs>{edges}{boxes}</svg>'
    )


def _edge(edge: tuple[str, str], layout: Layout, place: Mapping[Any, tuple[float, float]]) -> str:
    """Curve between two boxes, vertical where it passes a row."""
    path = layout.paths[edge]
    x, y = place[path[0]]
    bottom = y + _BOX_HEIGHT
    drawn = [f"M{x:.1f} {bottom:.1f}"]
    for node in path[1:]:
        next_x, top = place[node]
        middle = (bottom + top) / 2
        drawn.append(f"C{x:.1f} {middle:.1f} {next_x:.1f} {middle:.1f} {next_x:.1f} {top:.1f}")
        x, bottom = next_x, top
        if node != path[-1]:
            bottom = top + _BOX_HEIGHT
            drawn.append(f"V{bottom:.1f}")
    start, end = (escape(name) for name in edge)
    return f'<path class="edge" data-from="{start}" data-to="{end}" d="{"".join(drawn)}" marker-end="url(#tip)"/>'


def _box(name: str, place: tuple[float, float], group: str, target: str | None, graph: nx.DiGraph) -> str:
    x, y = place
    reads, feeds = (", ".join(sorted(names)) or "nothing" for names in (graph.pred[name], graph.succ[name]))
    body = (
        f'<g class="stage" data-stage="{escape(name)}"><title>{escape(f"{name}: reads {reads}; feeds {feeds}")}</title>'
        f'<rect class="box {escape(group)}" x="{x - _BOX_WIDTH / 2:.1f}" y="{y:.1f}" rx="6" '
        f'width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}"/>'
        f'<text x="{x:.1f}" y="{y + 18:.1f}" text-anchor="middle">{escape(name)}</text></g>'
    )
    return f'<a href="#{escape(target)}">{body}</a>' if target else body
