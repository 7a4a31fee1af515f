"""Draws the graph between stages as SVG, from the stages of dvc.yaml."""

from collections.abc import Mapping
from html import escape
from typing import Any

import networkx as nx

_BOX_WIDTH, _BOX_HEIGHT, _GAP_X, _GAP_Y = 132, 30, 44, 14


def stage_graph(stages: Mapping[str, Mapping[str, Any]]) -> nx.DiGraph:
    """Stages as nodes; an edge where one writes a file that another reads."""
    writer = {path: name for name, stage in stages.items() for path in _paths(stage, ("outs", "metrics", "plots"))}
    graph = nx.DiGraph()
    graph.add_nodes_from(stages)
    for name, stage in stages.items():
        graph.add_edges_from((writer[path], name) for path in _paths(stage, ("deps",)) if path in writer)
    return graph


def _paths(stage: Mapping[str, Any], kinds: tuple[str, ...]) -> list[str]:
    entries = [entry for kind in kinds for entry in stage.get(kind, [])]
    return [next(iter(entry)) if isinstance(entry, dict) else entry for entry in entries]


def draw(graph: nx.DiGraph, groups: Mapping[str, str]) -> str:
    """SVG of the graph, left to right. ``groups`` gives each stage's CSS class.

    Only the edges that no longer path implies are drawn, so that the picture shows the order and stays readable.
    """
    layers = [sorted(layer) for layer in nx.topological_generations(graph)]
    tallest = max(len(layer) for layer in layers)
    height = tallest * (_BOX_HEIGHT + _GAP_Y) + _GAP_Y
    width = len(layers) * (_BOX_WIDTH + _GAP_X)
    place = {
        name: (column * (_BOX_WIDTH + _GAP_X), (height - len(layer) * (_BOX_HEIGHT + _GAP_Y)) / 2 + row * 44 + 7)
        for column, layer in enumerate(layers)
        for row, name in enumerate(layer)
    }
    edges = "".join(_edge(place[a], place[b]) for a, b in sorted(nx.transitive_reduction(graph).edges))
    boxes = "".join(_box(name, place[name], groups.get(name, "other")) for name in sorted(place))
    return (
        f'<svg class="dag" viewBox="-4 0 {width} {height:g}" width="{width}" height="{height:g}" role="img" '
        f'aria-label="graph of stages">{edges}{boxes}</svg>'
    )


def _edge(start: tuple[float, float], end: tuple[float, float]) -> str:
    x1, y1 = start[0] + _BOX_WIDTH, start[1] + _BOX_HEIGHT / 2
    x2, y2 = end[0], end[1] + _BOX_HEIGHT / 2
    middle = (x1 + x2) / 2
    return f'<path class="edge" d="M{x1:g} {y1:g} C{middle:g} {y1:g} {middle:g} {y2:g} {x2:g} {y2:g}"/>'


def _box(name: str, place: tuple[float, float], group: str) -> str:
    x, y = place
    return (
        f'<a href="#stage-{escape(name)}"><rect class="box {escape(group)}" x="{x:g}" y="{y:g}" rx="6" '
        f'width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}"/>'
        f'<text x="{x + _BOX_WIDTH / 2:g}" y="{y + 19:g}" text-anchor="middle">{escape(name)}</text></a>'
    )
