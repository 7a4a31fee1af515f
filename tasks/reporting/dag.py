"""Draws the stage graph of dvc.yaml as SVG."""

from collections.abc import Mapping
from html import escape
from typing import Any

import networkx as nx

from tasks.reporting.dag_layout import Layout, layered

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
