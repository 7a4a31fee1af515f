"""Rows of the benchmark table: ours against a peer measured in the same run."""

from typing import Any

Row = dict[str, Any]


def row(name: str, ours: float, peer: float | None, peer_name: str, unit: str, n: int) -> Row:
    """A row whose ratio is above 1 where ours is better: larger in units a second or shares, otherwise smaller."""
    more = unit.endswith("/s") or unit in ("share right", "cosine")
    ratio = None if peer is None else ours / peer if more else peer / ours
    of_peer = {"peer": peer, "peer_name": peer_name or None, "ratio": ratio}
    return {"name": name, "ours": ours, **of_peer, "unit": unit, "n": n}
