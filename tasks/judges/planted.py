"""Cases with known answers, planted into notes by script, on which a judge is measured.

Claims are sentences of a note, changed sentences, sentences of other notes and removed ones; omissions are sentences
taken out; citations are right, redundant or wrong. `plant` makes the cases of all kinds.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tasks.judges.edits import KINDS, OUTSIDE, change_detail, change_term, edits, meanings, terms, words
from tasks.measures.doclens.evaluators import Definitions
from tasks.text.sentences import sentences
from tasks.text.shorthand import shorten

PLANT_STREAM = 83
MIN_WORDS = 4  # shorter sentences are headings and remarks
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
SHARED = 0.6  # a sentence with more of its words elsewhere in the note is still covered after its removal

_SAYING = {"patient", "reported", "noted"}
"""Words of a sentence that say nothing of what it states."""


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


@dataclass(frozen=True)
class PlantedOmission:
    """A note without ``removed``; its facts are all of the note's sentences, in order."""

    document: str
    facts: tuple[str, ...]
    removed: frozenset[int]
    summary: str

    def sentences(self) -> list[tuple[str, bool]]:
        """Each fact, and whether it was taken out."""
        return [(fact, at in self.removed) for at, fact in enumerate(self.facts)]


@dataclass(frozen=True)
class PlantedCitation:
    """A source sentence in shorthand as a statement: its own citation is necessary, another one redundant or wrong."""

    document: str
    kind: str
    statement: str
    citations: tuple[int, ...]
    source: tuple[str, ...]
    supported: bool
    necessary: tuple[bool, ...]


@dataclass(frozen=True)
class Cases:
    """The cases on which a judge is measured; ``left_out`` are sentences that a writer left out."""

    claims: Sequence[PlantedClaim] = field(default=())
    omissions: Sequence[PlantedOmission] = field(default=())
    left_out: Sequence[PlantedOmission] = field(default=())
    citations: Sequence[PlantedCitation] = field(default=())


def plant(notes: Mapping[str, str], symptoms: Sequence[str], *, removed: int, seed: int) -> Cases:
    """All cases of ``notes``; ``removed`` sentences are taken out of each.

    ``symptoms``: names of the domain's symptoms.
    """
    return Cases(
        claims=plant_claims(notes, symptoms, seed=seed),
        omissions=plant_omissions(notes, removed=removed, seed=seed),
        citations=plant_citations(notes, seed=seed),
    )


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
        note, own, made = notes[name], _statements(notes[name]), list[Made]()
        for sentence in own:
            made.append(("own sentence", note, sentence, True, sentence))
            made += _changed(note, sentence, symptoms, random)
        made += _long_claims(note, own, random)
        made += _medication(note, random)
        made += [("plausible, not in the note", note, claim, False, "") for claim in _plausible(note, seed, at)]
        other = names[(at + 1 + int(random.integers(max(len(names) - 1, 1)))) % len(names)]
        if other != name:
            foreign = [sentence for sentence in _statements(notes[other]) if is_gone(sentence, note)]
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


def _changed(note: str, sentence: str, symptoms: Sequence[str], random: np.random.Generator) -> Iterator[Made]:
    """Edits of one sentence by script."""
    once = is_gone(sentence, without(note, [sentence]))  # a hedge takes nothing from what is stated elsewhere too
    for kind, premise, claim in edits(note, sentence, symptoms, random):
        if once or kind != HEDGED:
            yield kind, premise, claim, False, sentence


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


def without(note: str, removed: Iterable[str]) -> str:
    """``note`` without the sentences, and without the blanks and empty lines that they leave."""
    for sentence in removed:
        note = note.replace(sentence, "")
    lines = [" ".join(line.split()) for line in note.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def plant_omissions(notes: Mapping[str, str], *, removed: int, seed: int) -> list[PlantedOmission]:
    """Each note without ``removed`` of its sentences, drawn from those that are gone when taken out."""
    random = np.random.default_rng([seed, PLANT_STREAM, 1])
    found = []
    for name in sorted(notes):
        facts = tuple(_statements(notes[name]))
        candidates = [at for at, fact in enumerate(facts) if is_gone(fact, without(notes[name], [fact]))]
        if not candidates:
            continue
        chosen = random.choice(candidates, size=min(removed, len(candidates)), replace=False)
        gone = frozenset(int(one) for one in chosen)
        found.append(PlantedOmission(name, facts, gone, without(notes[name], [facts[at] for at in sorted(gone)])))
    return found


def plant_citations(notes: Mapping[str, str], *, seed: int) -> list[PlantedCitation]:
    """For each note one right, one redundant and one wrong citation of a sentence that is unlike the others."""
    random = np.random.default_rng([seed, PLANT_STREAM, 2])
    found = []
    for name in sorted(notes):
        source = tuple(sentences(notes[name]))
        alone = [
            at
            for at, one in enumerate(source)
            if one in _statements(notes[name]) and is_gone(one, " ".join(source[:at] + source[at + 1 :]))
        ]
        if not alone or len(source) < 2:
            continue
        at = alone[int(random.integers(len(alone)))]
        others = [number for number in range(len(source)) if number != at]
        other = others[int(random.integers(len(others)))]
        for kind, cited, supported, necessary in (
            ("right citation", (at,), True, (True,)),
            ("redundant citation", (at, other), True, (True, False)),
            ("wrong citation", (other,), False, (False,)),
        ):
            found.append(PlantedCitation(name, kind, shorten(source[at]), cited, source, supported, necessary))
    return found


def _statements(note: str) -> list[str]:
    found = dict.fromkeys(sentence for sentence in sentences(note) if len(sentence.split()) >= MIN_WORDS)
    return [sentence for sentence in found if sentence.endswith(".") and note.count(sentence) == 1]


def is_gone(sentence: str, rest: str) -> bool:
    """Whether most of the sentence's words do not occur in ``rest``, nor others of their meaning."""
    words = {word for word in re.findall(r"[a-z0-9]+", sentence.lower()) if len(word) > 3 or word.isdigit()}
    said, elsewhere = meanings(words - _SAYING), meanings(re.findall(r"[a-z0-9]+", rest.lower()))
    return bool(said) and len(said & elsewhere) / len(said) < SHARED
