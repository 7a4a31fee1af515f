"""Claims whose truth is known, planted by script: a note's sentences, changed, of other notes, and taken out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.judges.edits import KINDS, OUTSIDE, change_detail, change_term, edits, terms, words
from tasks.judges.shortening import PLANT_STREAM, is_gone, statements, without
from tasks.measures.doclens.evaluators import Definitions
from tasks.text.sentences import sentences

HEDGED, SUPPOSED = "hedged in the note", 8
EASY = 9  # kinds of a note that are drawn from EASY_KINDS, one case of each
EASY_KINDS = (
    *(f"{kind} changed" for kind in KINDS),
    *(f"{kind} changed{OUTSIDE}" for kind in ("drug", "body part")),
    "another person",
    "other unit",
    "plausible, not in the note",
    "other note's sentence",
    "sentence taken out",
    "only the drug's class in the note",
)
_NO_DRUGS = re.compile(
    r"\b(?:no|not|den(?:y|ies|ied)|without|never|none)\b[^.;]*\b(?:medic\w+|meds|drugs?|tablets|pills)\b|"
    r"\b(?:medic\w+|meds|drugs)\W+(?:none|nil|no)\b",
    re.IGNORECASE,
)
"""Sentences that say that the patient takes no drug, or not some."""


@dataclass(frozen=True)
class PlantedClaim:
    """Does ``premise`` entail ``claim``? ``truth`` is the answer, ``source`` the sentence from which it was made.

    ``definitions``: what the names of symptoms in the claim cover.
    """

    document: str
    kind: str
    premise: str
    claim: str
    truth: bool
    source: str = ""
    definitions: Definitions = ()


Made = tuple[str, str, str, bool, str]
"""Kind, premise, claim, truth and source of a claim."""


def plant_claims(notes: Mapping[str, str], symptoms: Sequence[str], *, seed: int) -> list[PlantedClaim]:
    """Own sentences (entailed), changed ones, ones of another note, and ones that the premise has been stripped of.

    A sentence of another note counts as not entailed only where most of its words are not in this note; one taken out
    only where most of its words are not in the rest: what any note says would otherwise be planted as untrue.
    """
    random = np.random.default_rng([seed, PLANT_STREAM])
    names, found = sorted(notes), []
    for at, name in enumerate(names):
        note, own, made = notes[name], statements(notes[name]), list[Made]()
        for sentence in own:
            made.append(("own sentence", note, sentence, True, sentence))
            once = is_gone(sentence, without(note, [sentence]))  # a hedge takes nothing from what is stated twice
            for kind, premise, claim in edits(note, sentence, symptoms, random):
                if once or kind != HEDGED:
                    made.append((kind, premise, claim, False, sentence))
        made += _long_claims(note, own, random)
        made += _medication(note, random)
        made += [("plausible, not in the note", note, claim, False, "") for claim in _plausible(note, seed, at)]
        other = names[(at + 1 + int(random.integers(max(len(names) - 1, 1)))) % len(names)]
        if other != name:
            foreign = [sentence for sentence in statements(notes[other]) if is_gone(sentence, note)]
            made += [("other note's sentence", note, sentence, False, "") for sentence in foreign]
        rests = [(without(note, [sentence]), sentence) for sentence in own]
        made += [("sentence taken out", rest, one, False, "") for rest, one in rests if is_gone(one, rest)]
        found += [PlantedClaim(name, *one) for one in made]
    return _weighed(found, random)


def _weighed(cases: list[PlantedClaim], random: np.random.Generator) -> list[PlantedClaim]:
    """``cases`` in order, of each document at most EASY of the kinds that judges find at a glance and SUPPOSED hedges.

    Kinds that any note yields by the dozen would otherwise outweigh the rarer and harder ones.
    """
    kept = {at for at, case in enumerate(cases) if case.truth or case.kind not in (*EASY_KINDS, HEDGED)}
    places: dict[str, dict[str, list[int]]] = {}
    for at in sorted(set(range(len(cases))) - kept):
        places.setdefault(cases[at].document, {}).setdefault(cases[at].kind, []).append(at)
    for kinds in places.values():
        hedged = kinds.pop(HEDGED, [])
        kept.update(int(at) for at in random.choice(hedged, size=min(len(hedged), SUPPOSED), replace=False))
        one_each = [int(random.choice(kinds[kind])) for kind in sorted(kinds)]
        kept.update(int(at) for at in random.choice(one_each, size=min(len(one_each), EASY), replace=False))
    return [case for at, case in enumerate(cases) if at in kept]


def _plausible(note: str, seed: int, at: int) -> list[str]:
    """Two claims that could well be in a note and are not in this one."""
    random = np.random.default_rng([seed, PLANT_STREAM, 3, at])
    absent = [claim for claim in words("terms")["plausible"] if is_gone(claim, note)]
    return [absent[int(one)] for one in sorted(random.choice(len(absent), size=min(2, len(absent)), replace=False))]


def _long_claims(note: str, own: Sequence[str], random: np.random.Generator) -> Iterator[Made]:
    """Three sentences in a row as one claim: as they are, and with a detail of one of them changed."""
    rows = [own[at : at + 3] for at in range(len(own) - 2) if " ".join(own[at : at + 3]) in note]
    for row in rows[:1]:
        yield "three sentences", note, " ".join(row), True, row[0]
    for row in rows[1:]:
        at = int(random.integers(len(row)))
        claim = change_detail(note, row[at], random)
        if claim is not None:
            long = " ".join([*row[:at], claim, *row[at + 1 :]])
            yield "one detail of three sentences", note, long, False, row[at]


def _medication(note: str, random: np.random.Generator) -> Iterator[Made]:
    """A sentence about a drug added to the note, and the same with other drugs of the class or with the class."""
    groups = terms("drugs")
    number = int(random.integers(len(groups)))
    group, name = groups[number], list(words("terms")["drugs"])[number]
    named = group[int(random.integers(len(group)))][0]
    sentence = f"The patient takes {named} daily."
    denied = [one for one in sentences(note) if _NO_DRUGS.search(one)]  # the premise would contradict itself
    heading, _, rest = without(note, denied).partition("\n")
    premise = f"{heading}\n{sentence} {rest}"
    yield "drug added", premise, sentence, True, sentence
    if named not in note.lower():
        only_class = premise.replace(sentence, f"The patient takes {words('terms')['classes'][name]} daily.")
        yield "only the drug's class in the note", only_class, sentence, False, sentence
    for outside in (False, True):
        claim = change_term(sentence, "drugs", random, outside=outside)
        if claim is not None and claim.split()[3] not in note.lower():
            yield f"drug changed{OUTSIDE if outside else ''}", premise, claim, False, sentence
