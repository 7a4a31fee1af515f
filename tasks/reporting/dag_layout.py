"""Places the nodes of a directed acyclic graph in rows, few crossings, edges kept clear of boxes.

The layered drawing of Sugiyama, Tagawa and Toda (1981): rows by longest path, a dummy node wherever an edge passes a
row, rows sorted by the median of their neighbours. Ties break by name, so one graph has one drawing.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import networkx as nx

_SWEEPS = 24
_SETTLES = 200
_STRAIGHT = 8  # how much harder two places of one passing edge draw each other than boxes do
Node = Hashable


@dataclass(frozen=True)
class Layout:
    """``rows`` of nodes and dummies from top to bottom; ``x`` of each, in widths; ``paths`` from edge to its nodes."""

    rows: list[list[Node]]
    x: dict[Node, float]
    paths: dict[tuple[Node, Node], list[Node]]


def layered(graph: nx.DiGraph, *, dummy_width: float = 0.12) -> Layout:
    """Lay out ``graph``; a box is 1 wide, the place of a passing edge ``dummy_width``, the middle of the page 0."""
    rows, paths, proper = _with_dummies(graph)
    rows = _uncrossed(rows, proper)
    width = {node: dummy_width if isinstance(node, tuple) else 1.0 for node in proper}
    return Layout(rows, _settled(rows, proper, width), paths)


def _row_of(graph: nx.DiGraph) -> dict[Node, int]:
    """Rows by longest path from the start, then each node without need to be early moved down to its first reader."""
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
        # Edges to one reader run together: a dummy belongs to (end, row), so a bundle needs the width of one.
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
    """x of each node: drawn to the mean of its neighbours, in its row's order, never nearer than widths allow."""
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
    """Where its neighbours draw a node; dummies draw each other hardest, so that long edges run straight."""
    near = list(proper[node])
    if not near:
        return x[node]
    return fmean(
        [x[n] for n in near], weights=[8 if isinstance(node, tuple) and isinstance(n, tuple) else 1 for n in near]
    )


def _spread(wanted: list[float], widths: list[float]) -> list[float]:
    """The places nearest to ``wanted``, in least squares, that keep order and widths (pool adjacent violators)."""
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
