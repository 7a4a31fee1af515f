"""Parse prompts for notes: what a note must and must not say; of a visit, what was known and what is decided."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tasks.domains.rules import load_rules

NOTE_TASKS = ("write a clinical note", "write three clinical notes")
COURSE, PLAN = "**Course**", "**Plan**"
KNOWN, DECIDED, LAYOUT = "Known before this visit:", "Decided at this visit:", "Lay the note out like this:"
_ITEM = re.compile(r"^\s*[-*•]\s+(.+?)\s*$")
_HEADS = {
    "forbidden": r"health conditions?\b.*not mention",
    "conditions": r"health conditions?",
    "avoid": r"symptoms\b.*must not",
    "absent": r"any of these symptoms",
    "mentions": r"must mention",
}
"""Lines above the lists of a prompt; the first that fits determines the meaning of a list."""
_WAS = re.compile(r"^(?P<name>[^:]+): (?P<value>\S+) at the visit of (?P<day>\d{4}-\d\d-\d\d)\b")
_DECIDED = re.compile(r"^(?P<day>\d{4}-\d\d-\d\d): (?P<phrase>.+)$")
_CONDITION = "health condition: "


def is_absent(value: str) -> bool:
    """Whether the value of a symptom in a prompt means that it is absent."""
    return value in ("no", "none", "absent", *load_rules().absent_value.values())


@dataclass(frozen=True)
class Mention:
    """A symptom with its value and descriptor; ``day``: the date of the visit, of an earlier one."""

    symptom: str
    value: str
    descriptor: str = ""
    day: str = ""

    @property
    def present(self) -> bool:
        """Whether the patient has the symptom."""
        return not is_absent(self.value)


@dataclass(frozen=True)
class Instructions:
    """What a prompt asks for. ``absent``: symptoms that no patient has; ``forbidden``: such conditions."""

    mentions: tuple[Mention, ...] = ()
    avoid: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()


def read_instructions(prompt: str, symptom: Callable[[str], str], condition: Callable[[str], str]) -> Instructions:
    """Parse the lists of a prompt; ``symptom`` and ``condition`` return the reader's name of what a list names."""
    lists: dict[str, list[str]] = {name: [] for name in _HEADS}
    current: str | None = None
    for line in prompt.splitlines():
        item = _ITEM.match(line)
        if item is None and line.strip():
            heads = _HEADS if line.rstrip().endswith(":") else {}
            current = next((name for name, head in heads.items() if re.search(head, line, re.IGNORECASE)), None)
        elif item is not None and current is not None:
            lists[current].append(item[1])
    mentions = []
    for mentioned in lists["mentions"]:
        name, _, rest = mentioned.partition(":")
        value, _, descriptor = rest.partition(",")
        mentions.append(Mention(symptom(name), value.strip().lower() or "yes", descriptor.strip()))
    avoid, absent = ([symptom(item.split(":")[0]) for item in lists[name]] for name in ("avoid", "absent"))
    conditions, forbidden = (map(condition, lists[name]) for name in ("conditions", "forbidden"))
    return Instructions(tuple(mentions), tuple(avoid), tuple(absent), tuple(conditions), tuple(forbidden))


@dataclass(frozen=True)
class VisitInstructions:
    """The request of a visit's note. ``symptoms``: the part on today's symptoms; ``was``: those of the last visit.

    ``decisions``: date and phrase of what earlier visits decided; ``decided``: phrases for this one.
    """

    symptoms: str
    was: tuple[Mention, ...]
    conditions: tuple[str, ...]
    decisions: tuple[tuple[str, str], ...]
    decided: tuple[str, ...]


def read_visit(prompt: str) -> VisitInstructions:
    """Parse the prompt of a visit's note, or the instructions within it."""
    body, _, listed = prompt.partition(f"\n{LAYOUT}")[0].partition(DECIDED)
    symptoms, _, listed_before = body.partition(KNOWN)
    known, decided = (
        [line.removeprefix("- ").strip() for line in block.split("\n") if line.startswith("- ")]
        for block in (listed_before, listed)
    )
    return VisitInstructions(
        symptoms,
        tuple(Mention(found["name"], found["value"], day=found["day"]) for found in map(_WAS.match, known) if found),
        tuple(line.removeprefix(_CONDITION) for line in known if line.startswith(_CONDITION)),
        tuple((found["day"], found["phrase"]) for found in map(_DECIDED.match, known) if found),
        tuple(decided),
    )
