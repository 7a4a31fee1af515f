"""Rows of the benchmark table: ours against a peer measured in the same run."""

from typing import Any


def row(
    name: str, ours: float, peer: float, peer_name: str, unit: str, n: int, *, more: bool = False
) -> dict[str, Any]:
    """A row whose ratio is above 1 where ours is better; ``more``: larger values are better."""
    ratio = ours / peer if more else peer / ours
    return {"name": name, "ours": ours, "peer": peer, "peer_name": peer_name, "ratio": ratio, "unit": unit, "n": n}
