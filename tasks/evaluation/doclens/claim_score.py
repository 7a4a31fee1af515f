"""Claim recall and claim precision (DocLens, Xie et al. 2024, Sections 3.1 and 3.2).

A judgement is True, False or None. None is a failed judgement, which is excluded from the score and counted.
"""

from collections.abc import Sequence

Judgement = bool | None


def claim_recall(entailed: Sequence[Judgement]) -> float | None:
    """Share of the reference's claims that the output entails: (1/|L_y|) sum of I[y' => l] (Section 3.1).

    ``entailed`` holds one judgement per reference claim. Returns None if no claim was judged or the reference has no
    claims; an empty output scores 0.
    """
    return share(entailed)


def claim_precision(entailed: Sequence[Judgement]) -> float | None:
    """Share of the output's claims that the reference entails: (1/|L'_y|) sum of I[y => l] (Section 3.2)."""
    return share(entailed)


def share(judgements: Sequence[Judgement]) -> float | None:
    """Share of True among the judgements that are not None; None if there are none."""
    scored = [judgement for judgement in judgements if judgement is not None]
    return sum(scored) / len(scored) if scored else None
