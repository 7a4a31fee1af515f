"""Omissions, citations and answers that are harder than those of `tasks.judges.planted`, and why each kind is certain.

A part of a fact is left out; a statement needs two sentences, of which one is missing or a third superfluous; a
citation is of the nearest other sentence; an answer names two choices, differs from the right one in a number, or gives
a part of it.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import pandas as pd

from tasks.audit.claims import joined
from tasks.judges.edits import change, words
from tasks.judges.planted import MIN_WORDS, PlantedCitation, PlantedOmission, is_gone
from tasks.measures.note_qa.answering import CASES
from tasks.text.sentences import sentences

STREAM = 103
PART_LEFT_OUT = ("part left out", "nothing left out")
"""Kinds of facts of which a part was left out, and of the others."""
_CLAUSES = re.compile(r"^(?P<first>[A-Z][^;]{20,}); (?P<second>[a-z][^;]{15,})\.$")
_ADDED = re.compile(r"^(?P<first>[^,;]{20,}), (?:particularly|especially|mainly|mostly|notably) (?P<second>[^,;]+)\.$")
LETTERS = "ABCDE"


@cache
def _kinds() -> dict[str, tuple[str, str]]:
    listed = words("kinds", "tasks.audit")
    return {kind: (difficulty, reason) for difficulty, kinds in listed.items() for kind, reason in kinds.items()}


def about_kind(kind: str) -> tuple[str, str]:
    """How difficult cases of a kind are (easy, medium or hard), and why their truth is certain."""
    name = kind.partition(": ")[2] or kind
    return _kinds()[name if name in _kinds() else name.partition(",")[0]]


def part_omissions(notes: Mapping[str, str]) -> list[PlantedOmission]:
    """Each note without the second clause, or the addition, of its first sentence that has one said nowhere else."""
    found = []
    for name in sorted(notes):
        note = notes[name]
        facts = tuple(one for one in sentences(note) if len(one.split()) >= MIN_WORDS and note.count(one) == 1)
        for at, fact in enumerate(facts):
            match = _CLAUSES.match(fact) or _ADDED.match(fact)
            shorter = note if match is None else note.replace(fact, f"{match['first']}.")
            if match is not None and is_gone(match["second"], shorter):
                found.append(PlantedOmission(name, facts, frozenset({at}), shorter))
                break
    return found


def joint_citations(notes: Mapping[str, str], *, seed: int) -> list[PlantedCitation]:
    """For each note a statement of two sentences with both, one, and one too many cited, and a near sentence cited."""
    random = np.random.default_rng([seed, STREAM])
    found = []
    for name in sorted(notes):
        source = tuple(sentences(notes[name]))
        alone = [at for at, one in enumerate(source) if _stands_alone(source, at)]
        if len(alone) < 2 or len(source) < 4:
            continue
        first, second = sorted(int(at) for at in random.choice(alone, size=2, replace=False))
        others = [at for at in range(len(source)) if at not in (first, second) and len(source[at].split()) >= MIN_WORDS]
        if not others:
            continue
        third, one = int(random.choice(others)), source[first]
        near = max((at for at in range(len(source)) if at != first), key=lambda at: _alike(one, source[at]))
        both = joined(one, source[second])
        cases: list[tuple[str, str, tuple[int, ...], bool, tuple[bool, ...]]] = [
            ("both needed citations", both, (first, second), True, (True, True)),
            ("one of two needed citations", both, (second,), False, (False,)),
            ("needed and superfluous citations", both, (first, third, second), True, (True, False, True)),
            ("citation of a near sentence", one, (near,), False, (False,)),
        ]
        found += [
            PlantedCitation(name, kind, said, cited, source, supported, necessary)
            for kind, said, cited, supported, necessary in cases
        ]
    return found


def _stands_alone(source: Sequence[str], at: int) -> bool:
    """Whether a sentence of prose says what the others do not."""
    rest = " ".join([*source[:at], *source[at + 1 :]])
    one = source[at]
    return one.endswith(".") and one[0].isupper() and len(one.split()) >= MIN_WORDS and is_gone(one, rest)


def _alike(one: str, other: str) -> float:
    """Share of the words of both that are in both."""
    words, more = (set(re.findall(r"[a-z]{4,}", text.lower())) for text in (one, other))
    return len(words & more) / max(len(words | more), 1)


def further_answers(planted: pd.DataFrame, questions: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Wrong answers (`CASES`) in free text: two choices, the right one with another number, or a part of the right one.

    ``planted``: answers whose questions are asked; ``questions``: QUESTIONS. Those in part follow all others.
    """
    numbers, parts = (np.random.default_rng([seed, STREAM, stream]) for stream in (1, 2))
    rows, in_part = [], []
    asked = questions.set_index("question")
    for patient, question in planted[["patient", "question"]].drop_duplicates().itertuples(index=False):
        choices, at = json.loads(asked.loc[question, "choices"]), LETTERS.index(asked.loc[question, "answer"])
        right, wrong = choices[at], choices[(at + 1) % len(choices)]
        rows.append((patient, question, "free_text", "two answers", f"Either {right} or {wrong}.", False))
        other = change(right, "number", numbers)
        if other is not None and other not in choices:
            rows.append((patient, question, "free_text", "wrong in a number", f"{other}.", False))
        part = _part(right, bool(parts.integers(2)))
        if part is not None:
            in_part.append((patient, question, "free_text", "right in part", f"{part}.", False))
    return pd.DataFrame([*rows, *in_part], columns=CASES)


_PAIR = re.compile(r"^(?!As )(?P<first>[^,\d]+) and (?P<second>[^,\d]+)$")
_COURSE = re.compile(r"^(?P<first>.+ at first), then .+$")
_VISITS = re.compile(r"^At the visits of (?P<all>\S+(?: and \S+)+)$")


def _part(right: str, second: bool) -> str | None:
    """One of two findings, the first state of two, or all visits but the last; None for an answer of one part."""
    if pair := _PAIR.match(right):
        part = pair["second" if second else "first"]
        return part[0].upper() + part[1:]
    if course := _COURSE.match(right):
        return course["first"]
    if visits := _VISITS.match(right):
        fewer = visits["all"].split(" and ")[:-1]
        return f"At the visit{'s' if len(fewer) > 1 else ''} of {' and '.join(fewer)}"
    return None
