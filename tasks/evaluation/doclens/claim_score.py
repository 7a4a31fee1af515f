"""Claim recall and claim precision (DocLens, Xie et al. 2024, Sections 3.1 and 3.2).

A judgement is True, False or None; None is one that failed, and is left out of the score and counted.
"""

from collections.abc import Sequence

Judgement = bool | None


def claim_recall(entailed: Sequence[Judgement]) -> float | None:
    """Share of the reference's claims that the output entails: (1/|L_y|) sum of I[y' => l] (Section 3.1).

    ``entailed`` holds one judgement a reference claim. None when nothing could be scored; an empty output entails
    nothing and so scores 0, a reference without claims has no score.
    """
    return share(entailed)


def claim_precision(entailed: Sequence[Judgement]) -> float | None:
    """Share of the output's claims that the reference entails: (1/|L'_y|) sum of I[y => l] (Section 3.2)."""
    return share(entailed)


def share(judgements: Sequence[Judgement]) -> float | None:
    """Share of the judgements made that are True; None without any."""
    scored = [judgement for judgement in judgements if judgement is not None]
    return sum(scored) / len(scored) if scored else None
