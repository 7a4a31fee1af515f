"""Sentences about the context of a visit, none of which states a symptom."""

import re

from tasks.simulator.writer.draft import Draft, Piece
from tasks.simulator.writer.repetition import avoiding
from tasks.simulator.writer.rules import grammar

_CONTEXT = ("course", "medication", "exposure", "travel", "general", "past")
_CONTEXT_WEIGHTS = (2.2, 2.6, 2.0, 1.4, 3.4, 1.4)
_COMPLAINT = re.compile(
    r"symptom|complaint|relief|benefit|improve|effect|onset|episode|similar|treatment|remed|over-the-counter|help|feeling|"
    r"can be done|worr|concern|recovery|recover|managing|missed|reduce|limit",
    re.IGNORECASE,
)


def context_pieces(draft: Draft, count: int, *, past: bool, complaint: bool) -> list[Piece]:
    """Return sentences of different kinds about no symptom.

    ``past``: whether "no past history" may be stated. ``complaint``: whether the patient has complaints, to which a
    sentence may refer.
    """
    kinds: list[str] = []
    while len(kinds) < max(count, 0):
        kind = draft.rng.choices(_CONTEXT, _CONTEXT_WEIGHTS)[0]
        if (kind not in kinds or kind == "general") and (past or kind != "past") and (complaint or kind != "course"):
            kinds.append(kind)
    late = {"course": 1.0, "medication": 1.9, "past": 2.4}
    pieces = []
    for kind in kinds:
        node = grammar()[f"context.{kind}"]
        place = late.get(kind, 2.1) + 1.8 * draft.random()
        pieces.append(Piece(place, node if complaint else avoiding(node, _COMPLAINT), optional=True))
    return pieces
