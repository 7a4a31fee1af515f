"""Sentences that deny symptoms."""

import re

from tasks.simulator.writer.draft import Draft, Node, Piece
from tasks.simulator.writer.grammar import grammar
from tasks.simulator.writer.rates import writer_rates
from tasks.simulator.writer.sentences import absent_list


def denials(draft: Draft, absent: list[str]) -> list[Piece]:
    """Return sentences that deny the symptoms, in groups of one to four."""
    pieces, left = [], list(absent)
    while left:
        size = draft.rng.choices((1, 2, 3, 4), (30, 32, 26, 12))[0]
        group, left = left[:size], left[size:]
        place = 1.3 + 2.2 * draft.random()
        if len(group) == 1 and draft.random() < 0.42:
            pieces.append(Piece(place, grammar()[f"{group[0]}.denied"], "absent"))
        else:
            pieces.append(Piece(place, denial(group), "absent"))
    return pieces


def denial(group: list[str]) -> Node:
    """Return a sentence that denies the symptoms of ``group``."""
    frame = grammar()["frame.absent"]

    def write(draft: Draft) -> None:
        names = [draft.rendered(grammar()[f"{symptom}.absent"]) for symptom in group]
        draft.variables["list"] = absent_list(group, writer_rates().spans["absent_list"], names)
        first, many = bool(_PLURAL.search(names[0])), len(group) > 1
        draft.variables["is"] = ("were" if draft.past else "are") if first else ("was" if draft.past else "is")
        draft.variables["has"] = "have" if first else "has"
        draft.variables["be"] = ("were" if draft.past else "are") if first or many else ("was" if draft.past else "is")
        frame(draft)

    return write


_PLURAL = re.compile(r"\b\w+[^su\W]s\b")
