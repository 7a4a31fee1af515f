"""Mentions of a symptom in a note, and the text that describes the symptom.

Sentences may describe a symptom without naming it: "It is worst at night" after "There is a dull ache".
"""

import re
from collections.abc import Iterator, Sequence

from tasks.simulator.clinical import findings
from tasks.simulator.clinical.findings import Finding
from tasks.simulator.clinical.similarity import SEVERITY
from tasks.simulator.resources import vocabulary
from tasks.text.sentences import sentence_spans

_WORDS = vocabulary("annotator")
_CIRCUMSTANCE = r"(?:(?:at|on|in|when|while|during|after)\b[^.;:]{1,60}?,\s*)?"
_ANAPHOR = re.compile(
    rf"{_CIRCUMSTANCE}(?:describes )?(?:it|this)\b(?!\s+(?:is|was|has been)\s+(?:not\s+)?{_WORDS['unrelated']}\b)"
    rf"|{_WORDS['course']}\b",
    re.IGNORECASE,
)
"""A reference back to the symptom, or its onset, provocation, relief or course in time without a subject."""
_REFERENCE = rf"\b{_WORDS['references']} (?:the|this|these|his|her|their) (?:\w+ )?"
_OCCASION = (
    rf"\b(?:neither|nor|not|{_WORDS['occasions']}\w*(?: \w+)?)"
    r" (?:with|by|during|when|while|upon|after|on|from)\s+(?:[\w-]+\s+(?:[\w-]+\s+)?(?:or|and)\s+)?(?:\w+\s+)?"
)
_PASSING = re.compile(rf"(?:{_REFERENCE}|{_OCCASION})$", re.IGNORECASE)
"""Before an incidental mention: a reference back, the circumstance of a denial, the trigger or relief of something."""
_TAKES_UP = re.compile(rf"\s*{_WORDS['takes_up']}\b", re.IGNORECASE)
_EFFECT = re.compile(rf"\b{_WORDS['effects']}\w*\s+(?:with|on|of)?[^.;,]*", re.IGNORECASE)
_JOINT = re.compile(
    r",\s|;\s|\s(?:and|with|but|while|though|accompanied by|along with|as well as|plus|&)\s", re.IGNORECASE
)


def mentions(note: str, symptom: str) -> list[Finding]:
    """Return the mentions of a symptom that concern the patient: not incidental, not about somebody else.

    Weak mentions (an ache without a location) count only if there are no others.
    """
    found = [f for f in findings.of(note, symptom) if not f.other and f.polarity != "uncertain"]
    found = [f for f in found if not is_passing(note, f)]
    return [f for f in found if f.kind != "weak"] or found


def is_passing(note: str, finding: Finding) -> bool:
    """Whether a mention is incidental, such as the purpose of a medicine. A sign on examination never is."""
    return finding.kind != "exam" and _PASSING.search(note, finding.sentence[0], finding.start) is not None


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
        in_history = all(f.section != "physical_examination" for f in here)
        current = stated.pop() if alone and in_history else None


def _states(finding: Finding, symptom: str) -> bool:
    return finding.concept == symptom and finding.polarity == "present"


def described(note: str, symptom: str, present: Sequence[Finding], descriptor: str) -> str:
    """Return the text in which a descriptor may appear: the history (as for SimSUM's raters), if it has the symptom.

    Severity must be stated in the symptom's sentence or in one that refers back to it.
    """
    history = [f for f in present if f.section != "physical_examination"] or present
    return _EFFECT.sub(" ", about(note, symptom, history, strictly=descriptor in SEVERITY))


def about(note: str, symptom: str, present: Sequence[Finding], *, strictly: bool = False) -> str:
    """Return the text that can describe a symptom: its part of sentences that mention it, and follow-up sentences."""
    parts: list[str] = []
    found = [f for f in findings.find(note) if f.category == "symptom"]
    own = {f.sentence for f in present}
    follows = False
    for span in sentence_spans(note):
        here = [f for f in found if f.sentence == span]
        if span in own:
            parts.append(_own_part(note, span, here, symptom))
            follows = True
            continue
        others = any(f.concept != symptom and f.kind in ("direct", "lay") for f in here)
        follows = follows and not others and not (strictly and not _TAKES_UP.match(note, span[0]))
        parts += [note[slice(*span)]] if follows else []
    return "\n".join(parts)


def _own_part(note: str, span: tuple[int, int], here: Sequence[Finding], symptom: str) -> str:
    """Return the sentence without the parts that are closer to another symptom."""
    start, end = span
    own = [f for f in here if f.concept == symptom]
    first, last = min(f.start for f in own), max(f.end for f in own)
    before = [f for f in here if f.concept != symptom and f.end <= first]
    after = [f for f in here if f.concept != symptom and f.start >= last]
    if before:
        joint = _JOINT.search(note, before[-1].end, first)
        start = joint.end() if joint else before[-1].end
    if after:
        joints = list(_JOINT.finditer(note, last, after[0].start))
        end = joints[-1].start() if joints else after[0].start
    return note[start:end]
