"""Mentions of a symptom in a note, and the text that describes the symptom."""

import re
from collections.abc import Sequence

from tasks.simulator.clinical import findings
from tasks.simulator.clinical.descriptors import SEVERITY
from tasks.simulator.clinical.findings import Finding
from tasks.text.sentences import sentence_spans

_REFERENCE = (
    r"\b(?:despite|in addition to|besides|apart from|other than|accompanying|alongside"
    r"|(?:onset|duration|nature|course|severity|cause|persistence|progression) of"
    r"|(?:treat|manag|reliev|suppress)\w*(?: of)?) (?:the|this|these|his|her|their) (?:\w+ )?"
)
"""A reference back to a symptom, after a preposition, a noun or a verb of treatment."""
_OCCASION = (
    r"\b(?:neither|nor|not"
    r"|(?:intensif|worse|exacerb|aggravat|increas|trigger|provok|elicit|reproduc|clear|shift|chang|loosen)\w*(?: \w+)?)"
    r" (?:with|by|during|when|while|upon|after|on|from)\s+(?:[\w-]+\s+(?:[\w-]+\s+)?(?:or|and)\s+)?(?:\w+\s+)?"
)
"""A symptom that is the circumstance of a denial, or the trigger or relief of something else."""
_PASSING = re.compile(rf"(?:{_REFERENCE}|{_OCCASION})$", re.IGNORECASE)


def is_passing(note: str, finding: Finding) -> bool:
    """Whether a mention is incidental, such as the purpose of a medicine. A sign on examination never is."""
    return finding.kind != "exam" and _PASSING.search(note, finding.sentence[0], finding.start) is not None


def mentions(note: str, symptom: str) -> list[Finding]:
    """Return the mentions of a symptom that concern the patient: not incidental, not about somebody else.

    Weak mentions (an ache without a location) count only if there are no others.
    """
    found = [f for f in findings.of(note, symptom) if not f.other and f.polarity != "uncertain"]
    found = [f for f in found if not is_passing(note, f)]
    return [f for f in found if f.kind != "weak"] or found


_TAKES_UP = re.compile(
    r"\s*(?:it|this|these|that|they are|the severity|its|symptoms?|the (?:symptoms?|complaints?|episodes?))\b", re.I
)


def described(note: str, symptom: str, present: Sequence[Finding], descriptor: str) -> str:
    """Return the text in which a descriptor may appear: the history (as for SimSUM's raters), if it has the symptom.

    Severity must be stated in the symptom's sentence or in one that refers back to it.
    """
    history = [f for f in present if f.section != "physical_examination"] or present
    return _EFFECT.sub(" ", about(note, symptom, history, strictly=descriptor in SEVERITY))


_EFFECT = re.compile(
    r"\b(?:interfer\w*|disrupt\w*|impact\w*|affect\w*|limit\w*|disturb\w*)\s+(?:with|on|of)?[^.;,]*", re.IGNORECASE
)


def about(note: str, symptom: str, present: Sequence[Finding], *, strictly: bool = False) -> str:
    """Return the text that can describe a symptom: its part of sentences that mention it, and follow-up sentences."""
    parts, spans = [], sentence_spans(note)
    found = [f for f in findings.find(note) if f.category == "symptom"]
    own = {f.sentence for f in present}
    follows = False
    for span in spans:
        here = [f for f in found if f.sentence == span]
        if span in own:
            parts.append(_own_part(note, span, here, symptom))
            follows = True
        elif strictly and not _TAKES_UP.match(note, span[0]):
            follows = False
        elif follows and not any(f.concept != symptom and f.kind in ("direct", "lay") for f in here):
            parts.append(note[span[0] : span[1]])
        else:
            follows = False
    return "\n".join(parts)


_JOINT = re.compile(
    r",\s|;\s|\s(?:and|with|but|while|though|accompanied by|along with|as well as|plus|&)\s", re.IGNORECASE
)


def _own_part(note: str, span: tuple[int, int], here: Sequence[Finding], symptom: str) -> str:
    """Return the sentence without the parts that are closer to another symptom."""
    start, end = span
    own = [f for f in here if f.concept == symptom]
    first, last = min(f.start for f in own), max(f.end for f in own)
    before = [f for f in here if f.concept != symptom and f.end <= first]
    after = [f for f in here if f.concept != symptom and f.start >= last]
    if before:
        joints = list(_JOINT.finditer(note, before[-1].end, first))
        start = joints[0].end() if joints else before[-1].end
    if after:
        joints = list(_JOINT.finditer(note, last, after[0].start))
        end = joints[-1].start() if joints else after[0].start
    return note[start:end]
