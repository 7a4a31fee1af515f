"""Sentences that describe a symptom without naming it: "It is worst at night" after "There is a dull ache"."""

import re
from collections.abc import Iterator, Sequence

from tasks.simulator.clinical import findings
from tasks.simulator.clinical.findings import Finding
from tasks.text.sentences import sentence_spans

_ANAPHOR = re.compile(
    r"(?:(?:at|on|in|when|while|during|after)\b[^.;:]{1,60}?,\s*)?(?:it|this)\s+"
    r"(?:is|was|has been|gets|becomes|seems|feels|tends|occurs|happens|worsens|improves|eases|settles|interferes"
    r"|disturbs|disrupts|keeps|wakes|lasts|bothers)\b"
    r"(?!\s+(?:not\s+)?(?:clear|unclear|known|unknown|noted|reported|important|possible|unlikely|likely|why"
    r"|a (?:known|new)))"
    r"|(?:worse|worst|mostly|mainly)\b",
    re.IGNORECASE,
)


def descriptions(note: str, mentions: Sequence[Finding]) -> Iterator[tuple[str, int, int]]:
    """Yield (symptom, start, end) of each history sentence whose subject refers back to the symptom of the last one.

    The sentence before must state that exactly one symptom is present, or refer back to it as well.
    """
    every = [f for f in findings.find(note) if f.category in ("symptom", "other_symptom") and f.kind != "weak"]
    current: str | None = None
    for sentence in sentence_spans(note):
        here = [f for f in every if f.sentence == sentence]
        if not here and current and _ANAPHOR.match(note, *sentence):
            yield current, *sentence
            continue
        stated = {f.concept for f in mentions if f.sentence == sentence and f.polarity == "present"}
        alone = len(stated) == 1 and {f.concept for f in here} == stated
        current = stated.pop() if alone and _in_history(here) else None


def _in_history(here: Sequence[Finding]) -> bool:
    return all(f.section != "physical_examination" for f in here)
