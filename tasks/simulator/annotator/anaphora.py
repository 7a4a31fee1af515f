"""Sentences that describe a symptom without naming it: "It is worst at night" after "There is a dull ache"."""

import re
from collections.abc import Iterator, Sequence

from tasks.simulator.clinical import findings
from tasks.simulator.clinical.findings import Finding
from tasks.text.sentences import sentence_spans

_CIRCUMSTANCE = r"(?:(?:at|on|in|when|while|during|after)\b[^.;:]{1,60}?,\s*)?"
_UNRELATED = r"(?:clear|unclear|known|unknown|noted|reported|important|possible|unlikely|likely|why|a (?:known|new))"
_ANAPHOR = re.compile(
    rf"{_CIRCUMSTANCE}(?:describes )?(?:it|this)\b(?!\s+(?:is|was|has been)\s+(?:not\s+)?{_UNRELATED}\b)"
    # onset, provocation, relief and time course, without a subject
    r"|(?:began|started|came on|onset|aggravated|worse|worst|worsens|worsened|relieved|eases|improves|mostly|mainly"
    r"|especially|particularly|usually|occasionally|sometimes|at times|lasts|lasting|occurs|comes and goes|persists)\b",
    re.IGNORECASE,
)
"""A reference back to the symptom, or its onset, provocation, relief or course in time without a subject."""


def descriptions(note: str, mentions: Sequence[Finding]) -> Iterator[tuple[str, int, int]]:
    """Yield (symptom, start, end) of each history sentence whose subject refers back to the symptom of the last one.

    The sentence before must state that exactly one symptom is present, or refer back to it as well. The sentence itself
    may name that symptom ("It is described as a cramping pain") but no other complaint.
    """
    every = [f for f in findings.find(note) if f.category in ("symptom", "other_symptom") and f.kind != "weak"]
    current: str | None = None
    for sentence in sentence_spans(note):
        here = [f for f in every if f.sentence == sentence]
        if current and _ANAPHOR.match(note, *sentence) and all(_states(f, current) for f in here):
            yield current, *sentence
            continue
        stated = {f.concept for f in mentions if f.sentence == sentence and f.polarity == "present"}
        alone = len(stated) == 1 and {f.concept for f in here} == stated
        current = stated.pop() if alone and _in_history(here) else None


def _in_history(here: Sequence[Finding]) -> bool:
    return all(f.section != "physical_examination" for f in here)


def _states(finding: Finding, symptom: str) -> bool:
    return finding.concept == symptom and finding.polarity == "present"
