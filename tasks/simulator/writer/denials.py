"""Sentences that deny symptoms."""

import re

from tasks.simulator.writer.draft import Draft, Node, Piece
from tasks.simulator.writer.rates import writer_rates
from tasks.simulator.writer.rules import grammar
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
        first, last = (_PLURAL.search(name) is not None for name in (names[0], names[-1]))
        plural, singular = ("were", "was") if draft.past else ("are", "is")
        draft.variables["is"] = plural if first else singular
        draft.variables["has"] = "have" if first else "has"
        draft.variables["be"] = plural if last else singular
        _once(draft, frame)

    return write


def _once(draft: Draft, frame: Node) -> None:
    """Write a denial; one that adds a complaint of which the note speaks already is drawn again."""
    for _ in range(_DRAWS):
        before, said = draft.snapshot(), draft.text
        frame(draft)
        if not (_TIRED.search(draft.text[len(said) :]) and _TIRED.search(said)):
            return
        draft.restore(before)
    frame(draft)


_DRAWS = 8
_TIRED = re.compile(r"fatigue|tired|unwell|malaise|under the weather|run-down|weakness", re.IGNORECASE)
_PLURAL = re.compile(r"\b\w+[^su\W]s\b")
