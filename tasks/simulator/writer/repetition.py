"""Keep a note from stating a thing twice: an optional sentence on a topic that the note has covered is not written."""

import re
from collections.abc import Callable

from tasks.simulator.writer.draft import Draft, Node
from tasks.simulator.writer.sentences import joined_on, sentence

VITALS = {
    "vital signs": r"vitals?\b",
    "blood pressure": r"blood pressure|\bBP\b",
    "pulse": r"heart rate|\bpulse\b|\bHR\b",
    "respiratory rate": r"respiratory rate|\bRR\b",
    "saturation": r"saturation|SpO2",
    "temperature": r"temperature",
}
SYSTEMS = {
    "limbs": r"edema|swell|swollen|ankle|calf|calves",
    "skin": r"\bskin|rash|lesion|papule|blister",
    "nodes": r"lymph|\bnodes?\b",
    "abdomen": r"abdom",
    "bowel sounds": r"bowel sounds",
    "neuro": r"\bneuro|reflex|sensation|gait|coordination",
    "throat": r"throat|pharyn",
    "ears": r"\bears?\b|eardrum|tympanic",
    "ribs": r"\bribs?\b",
    "consolidation": r"consolidation|fremitus|egophony|bronchophony",
}
EXAMINATION = {**VITALS, **SYSTEMS}
HISTORY = {
    "appetite": r"appetite|\beat(?:en|ing)?\b|\bdiet",
    "sleep": r"\bsle(?:ep|pt)|in bed\b|awake|unrefreshed",
    "fluids": r"fluid|hydrat|\bdrink",
    "changes": r"\bchanges in\b|lifestyle|routine",
    "work": r"\bwork(?:s|ed|ing)?\b|\bjob\b",
    "weight": r"\bweight\b",
    "allergies": r"\ballerg(?:y|ies)\b",
    "throat": r"\bthroat (?:is|was|feels|felt)",
    "chronic conditions": r"medical history|chronic condition|good health|otherwise (?:healthy|well)",
    "treatment": r"medication|paracetamol|ibuprofen|acetaminophen|remed|antihistamine|analgesic|relief",
    "contacts": r"exposure|contact|\bill\b|unwell|sick",
    "travel": r"travel|abroad",
    "triggers": r"trigger|aggravat|exert|physical activity",
    "course": r"\bonset\b|suddenly|gradual|worsen|intensif|fluctuat|vary|varies",
    "fatigue": r"fatigue|tired|malaise|weary|energy",
    "radiation": r"radiat|spread",
    "previous episodes": r"episodes? in the past|similar|previous",
}


def repeats(new: str, said: str, topics: dict[str, str]) -> bool:
    """Whether ``new`` covers a topic that ``said`` covers."""
    return any(
        re.search(pattern, new, re.IGNORECASE) and re.search(pattern, said, re.IGNORECASE)
        for pattern in topics.values()
    )


def written_once(draft: Draft, start: int, topics: dict[str, str], write: Callable[[], None]) -> bool:
    """Run ``write`` and keep its text, unless it repeats a topic of the text since offset ``start``.

    Returns whether the text was kept. Text with symptom spans is always kept.
    """
    before, marks = draft.snapshot(), len(draft.marks)
    said = draft.text[start:]
    write()
    if len(draft.marks) == marks and repeats(draft.text[start + len(said) :], said, topics):
        draft.restore(before)
        return False
    return True


def written_as_pair(draft: Draft, start: int, topics: dict[str, str], pair: tuple[Node, Node], lead: str = "") -> int:
    """Write two sentences joined in one; each is left out if it repeats a topic. Returns how many of them were kept."""
    first, second = pair
    if not written_once(draft, start, topics, lambda: sentence(draft, first, end="", lead=lead)):
        return 0
    more = written_once(draft, start, topics, lambda: joined_on(second)(draft))
    draft.trim()
    draft.emit(".")
    return 1 + more


def avoiding(node: Node, pattern: re.Pattern[str]) -> Node:
    """Return ``node`` without the texts that ``pattern`` matches; some text must remain."""

    def write(draft: Draft) -> None:
        text = draft.rendered(node)
        while pattern.search(text):
            text = draft.rendered(node)
        draft.emit(text)

    return write
