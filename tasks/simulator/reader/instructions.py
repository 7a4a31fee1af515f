"""Parses the instructions of a note's writer."""

import re
from dataclasses import dataclass

from tasks.domains.in_use import domain_cache
from tasks.simulator.reader.findings import find
from tasks.simulator.reader.lexicon import concepts, reading, symptoms

_NO_DIAGNOSIS = re.compile(r"(?:leave out|do not|without|no)\b[^.\n]*\bdiagnos", re.I)
_NO_DEMOGRAPHICS = re.compile(r"(?:leave out|do not|without|no)\b[^.\n]*\bsex or age", re.I)
_ITEM = re.compile(r"^\s*[-*•]\s+(.+?)\s*$")
_HEADS = {
    "forbidden": r"health conditions?\b.*not mention",
    "conditions": r"health conditions?",
    "avoid": r"symptoms\b.*must not",
    "absent": r"any of these symptoms",
    "mention": r"must mention",
}
"""Lines above the lists of a prompt; the first that fits determines the meaning of a list."""


@dataclass(frozen=True)
class Asked:
    """A symptom that the note must cover, with its value and descriptor ("" if none)."""

    symptom: str
    value: str
    descriptor: str


@dataclass(frozen=True)
class Instructions:
    """Required and forbidden items, by the lexicon's names; ``absent``: symptoms that no patient has."""

    mention: tuple[Asked, ...]
    avoid: tuple[str, ...]
    conditions: tuple[str, ...]
    absent: tuple[str, ...]
    forbidden: tuple[str, ...]
    no_diagnosis: bool
    no_demographics: bool

    @property
    def unrelated(self) -> bool:
        """Whether the visit has another reason than symptoms of the domain."""
        return bool(self.absent) or not self.mention


@domain_cache(maxsize=256)
def read_instructions(text: str) -> Instructions:
    """Parse the bullet lists of the instructions; the line above a list determines its meaning."""
    lists: dict[str, list[str]] = {name: [] for name in _HEADS}
    current: str | None = None
    for line in text.splitlines():
        item = _ITEM.match(line)
        if item is None and line.strip():
            heads = _HEADS if line.rstrip().endswith(":") else {}
            current = next((name for name, head in heads.items() if re.search(head, line, re.IGNORECASE)), None)
        elif item is not None and current is not None:
            lists[current].append(item.group(1))
    return Instructions(
        mention=tuple(_asked(item) for item in lists["mention"]),
        avoid=tuple(symptom_of(item.split(":")[0]) for item in lists["avoid"]),
        conditions=tuple(_condition(item) for item in lists["conditions"]),
        absent=tuple(symptom_of(item.split(":")[0]) for item in lists["absent"]),
        forbidden=tuple(_condition(item) for item in lists["forbidden"]),
        no_diagnosis=_NO_DIAGNOSIS.search(text) is not None,
        no_demographics=_NO_DEMOGRAPHICS.search(text) is not None,
    )


def _asked(item: str) -> Asked:
    """Parse a line such as ``symptom: yes, descriptor`` or ``symptom: level``."""
    name, _, rest = item.partition(":")
    value, _, descriptor = rest.strip().partition(",")
    return Asked(symptom_of(name), value.strip().lower() or "yes", descriptor.strip().strip("()").lower())


def symptom_of(name: str) -> str:
    """The lexicon's name of a symptom; the given name if it is unknown."""
    bare = name.strip().lower()
    if label := {name.lower(): name for name in symptoms()}.get(bare):
        return label
    known = (label for word, label in reading().known_by.items() if word in bare)
    return next(known, next((f.concept for f in find(bare) if f.category == "symptom"), bare))


def _condition(name: str) -> str:
    bare = name.strip()
    known = concepts().get(bare.lower())
    return known or next((f.concept for f in find(bare) if f.category == "condition"), bare)
