"""Layered layout of a directed acyclic graph (Sugiyama, Tagawa and Toda 1981).

Rows by longest path, a dummy node wherever an edge passes a row, rows sorted by the mean position of their neighbours
to reduce crossings. Ties break by name, so the layout of a graph is deterministic.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import networkx as nx

_SWEEPS = 24
_SETTLES = 200
_STRAIGHT = 8  # weight of the pull between two dummies of an edge; that of a box is 1
Node = Hashable


@dataclass(frozen=True)
class Layout:
    """``rows`` of nodes and dummies, top to bottom; ``x`` of each in box widths; ``paths`` from edge to its nodes."""

    rows: list[list[Node]]
    x: dict[Node, float]
    paths: dict[tuple[Node, Node], list[Node]]


def layered(graph: nx.DiGraph, *, dummy_width: float = 0.12) -> Layout:
    """Lay out ``graph``: boxes are 1 wide, passing edges ``dummy_width``; x is 0 at the centre of the page."""
    rows, paths, proper = _with_dummies(graph)
    rows = _uncrossed(rows, proper)
    width = {node: dummy_width if isinstance(node, tuple) else 1.0 for node in proper}
    return Layout(rows, _settled(rows, proper, width), paths)


def _row_of(graph: nx.DiGraph) -> dict[Node, int]:
    """Row of each node by longest path; a source is moved down to the row above its first reader."""
    row: dict[Node, int] = {}
    for node in nx.topological_sort(graph):
        row[node] = max((row[before] + 1 for before in graph.predecessors(node)), default=0)
    for node in reversed(list(nx.topological_sort(graph))):
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
            rows[level] = _sorted_by_neighbours(rows[level], other, proper)
        crossings = _crossings(rows, proper)
        if crossings < least:
            best, least = rows, crossings
    return best


def _sorted_by_neighbours(row: list[Node], other: dict[Node, int], proper: nx.Graph) -> list[Node]:
    def key(place: int) -> tuple[float, int]:
        near = [other[node] for node in proper[row[place]] if node in other]
        return (fmean(near) if near else place, place)

    return [row[place] for place in sorted(range(len(row)), key=key)]


def _crossings(rows: list[list[Node]], proper: nx.Graph) -> int:
    count = 0
    for upper, lower in pairwise(rows):
        below = {node: place for place, node in enumerate(lower)}
        ends = [below[n] for node in upper for n in sorted((m for m in proper[node] if m in below), key=below.get)]  # type: ignore[arg-type]
        count += sum(a > b for i, a in enumerate(ends) for b in ends[i + 1 :])
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
    """Least-squares fit to ``wanted`` under order and width constraints (pool adjacent violators)."""
    offsets = [0.0]
    for left, right in pairwise(widths):
        offsets.append(offsets[-1] + (left + right) / 2)
    blocks: list[list[float]] = []
    for place, offset in zip(wanted, offsets, strict=True):
        blocks.append([place - offset])
        while len(blocks) > 1 and fmean(blocks[-2]) > fmean(blocks[-1]):
            last = blocks.pop()
            blocks[-1] += last
    level = [fmean(block) for block in blocks for _ in block]
    return [place + offset for place, offset in zip(level, offsets, strict=True)]
