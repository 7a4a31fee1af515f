"""Citation recall and citation precision (DocLens, Section 3.3), and the one-call variant (Section 3.5)."""

from collections.abc import Sequence
from dataclasses import dataclass

from tasks.evaluation.doclens.claim_score import Judgement, share


@dataclass(frozen=True)
class CitedStatement:
    """The judgements of one output statement s with citations C (Section 3.3).

    ``supported``: C => s. ``alone`` and ``without``: for each citation c, whether {c} => s, and whether the rest => s.
    A statement without citations is unsupported and has no citation to judge.
    """

    supported: Judgement
    alone: tuple[Judgement, ...] = ()
    without: tuple[Judgement, ...] = ()


def citation_recall(supported: Sequence[Judgement]) -> float | None:
    """Share of an output's statements that their citations together entail (Section 3.3).

    ``supported`` holds one judgement per statement. A statement without citations is not supported.
    """
    return share(supported)


def citation_precision(necessary: Sequence[Judgement]) -> float | None:
    """Share of an output's citations that are necessary (Section 3.3); None for an output without citations.

    ``necessary`` holds one judgement per citation, see `necessary_citations`.
    """
    return share(necessary)


def necessary_citations(statement: CitedStatement) -> list[Judgement]:
    """For each citation c of a statement: C => s, and c => s or C without c does not entail s (Section 3.3 (i), (ii)).

    None if a judgement needed for the decision is missing.
    """
    return [
        _necessary(statement.supported, alone, without)
        for alone, without in zip(statement.alone, statement.without, strict=True)
    ]


def _necessary(supported: Judgement, alone: Judgement, without: Judgement) -> Judgement:
    if supported is False:
        return False
    if supported is None:
        return None
    if alone is True or without is False:
        return True
    return None if alone is None or without is None else False


def provenance_citations(supported: Judgement, cited: Sequence[int], supporting: Sequence[int]) -> list[Judgement]:
    """The one-call variant (Section 3.5): the evaluator names the supporting citations; the others are redundant."""
    if supported is None:
        return [None] * len(cited)
    return [bool(supported) and citation in supporting for citation in cited]
