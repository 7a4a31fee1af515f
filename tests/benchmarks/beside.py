"""A benchmark's row: ours beside its peer, measured in the same run."""

from typing import Any


def row(
    name: str, ours: float, peer: float, peer_name: str, unit: str, n: int, *, more: bool = False
) -> dict[str, Any]:
    """A row whose ratio is above 1 where ours is better; ``more``: a larger figure is the better one."""
    ratio = ours / peer if more else peer / ours
    return {"name": name, "ours": ours, "peer": peer, "peer_name": peer_name, "ratio": ratio, "unit": unit, "n": n}
