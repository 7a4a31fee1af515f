"""Penalties to a consistency score (SimSUM, Appendix E.1.1)."""


def consistency_score(penalties: int) -> int:
    """5 for no penalty, 4 for one, 3 for two, 2 for three, 1 for more."""
    return max(5 - penalties, 1)
