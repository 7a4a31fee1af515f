"""Texts without some of their sentences: taken out by script, or left out by the simulated writer's compaction."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tasks.judges.cases import Given, Row, case_verdict
from tasks.judges.edits import meanings
from tasks.judges.simulated_notes import STRIDE, WRITER, compacted
from tasks.simulator.truth import Truth
from tasks.text.sentences import sentence_spans, sentences

PLANT_STREAM = 83
MIN_WORDS = 4  # shorter sentences are headings and remarks
SHARED = 0.6  # a sentence with more of its words elsewhere in the note is still covered after its removal
TAKEN_OUT, BY_WRITER = ("taken out", "left in"), ("left out by the writer", "kept by the writer")
"""Kinds of the sentences that are gone, and of the others."""
_SAYING = {"patient", "reported", "noted"}
"""Words of a sentence that say nothing of what it states."""


@dataclass(frozen=True)
class Shortened:
    """A text without the ``removed`` ones of its sentences; ``kinds`` name those that are gone, and the others."""

    document: str
    facts: tuple[str, ...]
    removed: frozenset[int]
    summary: str
    kinds: tuple[str, str] = TAKEN_OUT

    def sentences(self) -> list[tuple[str, bool]]:
        """Each sentence, and whether it is gone."""
        return [(fact, at in self.removed) for at, fact in enumerate(self.facts)]


def shortened(notes: Mapping[str, str], *, removed: int, seed: int) -> list[Shortened]:
    """Each note without ``removed`` of its sentences, drawn from those that are gone when taken out."""
    random = np.random.default_rng([seed, PLANT_STREAM, 1])
    found = []
    for name in sorted(notes):
        facts = tuple(statements(notes[name]))
        candidates = [at for at, fact in enumerate(facts) if is_gone(fact, without(notes[name], [fact]))]
        if not candidates:
            continue
        chosen = random.choice(candidates, size=min(removed, len(candidates)), replace=False)
        gone = frozenset(int(one) for one in chosen)
        found.append(Shortened(name, facts, gone, without(notes[name], [facts[at] for at in sorted(gone)])))
    return found


def make_shortened(given: Given) -> list[Shortened]:
    """Texts without some sentences, as `calibrate.facts` has them."""
    return shortened(given.texts, removed=given.params.calibrate.facts, seed=given.params.seed)


def listed_rows(planted: Sequence[Shortened], lists: Mapping[str, Sequence[str] | None], metric: str) -> list[Row]:
    """Verdicts on whether a list of what each text states covers a sentence; None: a text without a list.

    A sentence is covered if most of its words occur in the list; this needs no judgement.
    """
    rows: list[Row] = []
    for one in planted:
        listed = lists[one.document]
        for sentence, gone in one.sentences():
            judged = None if listed is None else not is_gone(sentence, " ".join(listed))
            rows.append(case_verdict(one.document, metric, one.kinds[not gone], sentence, not gone, judged))
    return rows


def compactions(
    notes: Mapping[str, str], prompts: pd.DataFrame, *, rounds: int, seed: int
) -> Iterator[tuple[str, int, Shortened | None]]:
    """Name and sample index of each simulated note, and what one compaction at the writer's usual rates leaves out.

    A sentence counts as kept only if no part of it was left out. None for a compaction that changed a detail.
    ``notes``: by record; ``prompts`` has single_prompt by record.
    """
    asked = prompts.set_index("record")["single_prompt"]
    for record in sorted(map(int, notes)):
        number = (seed * rounds + 1) * STRIDE + record
        note = notes[str(record)]
        usual = compacted(str(asked[record]), Truth(note, (), None), WRITER, number)
        if usual.error is not None and usual.error.kind == "detail_changed":
            yield str(record), number, None
            continue
        places = prose_spans(note)
        gone = [any(first < end and start < last for first, last in usual.left_out) for start, end in places]
        facts, left_out = tuple(note[start:end] for start, end in places), frozenset(np.flatnonzero(gone).tolist())
        yield str(record), number, Shortened(f"{record}-compact", facts, left_out, usual.text, BY_WRITER)


def prose_spans(text: str) -> list[tuple[int, int]]:
    """Places of the sentences of a note that are no headings."""
    return [(start, end) for start, end in sentence_spans(text) if not text.startswith("**", start)]


def without(note: str, removed: Iterable[str]) -> str:
    """``note`` without the sentences, and without the blanks and empty lines that they leave."""
    for sentence in removed:
        note = note.replace(sentence, "")
    lines = [" ".join(line.split()) for line in note.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def statements(note: str) -> list[str]:
    """The sentences of a note that are worth a claim, and that occur once."""
    found = (one for one in sentences(note) if len(one.split()) >= MIN_WORDS and one.endswith("."))
    return [sentence for sentence in found if note.count(sentence) == 1]


def is_gone(sentence: str, rest: str) -> bool:
    """Whether most of the sentence's words do not occur in ``rest``, nor others of their meaning."""
    words = {word for word in re.findall(r"[a-z0-9]+", sentence.lower()) if len(word) > 3 or word.isdigit()}
    said, elsewhere = meanings(words - _SAYING), meanings(re.findall(r"[a-z0-9]+", rest.lower()))
    return bool(said) and len(said & elsewhere) / len(said) < SHARED
