"""Rows of the benchmark table: ours against a peer measured in the same run."""

from typing import Any

Row = dict[str, Any]


def row(name: str, ours: float, peer: float, peer_name: str, unit: str, n: int) -> Row:
    """A row whose ratio is above 1 where ours, seconds or megabytes, is less."""
    of_peer = {"peer": peer, "peer_name": peer_name, "ratio": peer / ours}
    return {"name": name, "ours": ours, **of_peer, "unit": unit, "n": n}
