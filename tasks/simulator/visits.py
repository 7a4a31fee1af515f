"""Parse the prompts about a patient's visits: what is known before a visit, and what is decided at it."""

import re
from dataclasses import dataclass

from tasks.domains.rules import load_rules

COURSE, PLAN = "**Course**", "**Plan**"
KNOWN, DECIDED, LAYOUT = "Known before this visit:", "Decided at this visit:", "Lay the note out like this:"
_WAS = re.compile(r"^(?P<name>[^:]+): (?P<value>\S+) at the visit of (?P<day>\d{4}-\d\d-\d\d)\b")
_DECIDED = re.compile(r"^(?P<day>\d{4}-\d\d-\d\d): (?P<phrase>.+)$")
_CONDITION = "health condition: "


@dataclass(frozen=True)
class Was:
    """A symptom at an earlier visit, by its label."""

    name: str
    value: str
    day: str

    @property
    def present(self) -> bool:
        """Whether the patient had it."""
        return self.value not in load_rules().absent_value.values()


@dataclass(frozen=True)
class VisitInstructions:
    """The request of a visit's note: the part on today's symptoms, and the lines of the lists after it."""

    symptoms: str
    known: tuple[str, ...]
    decided: tuple[str, ...]

    @property
    def was(self) -> list[Was]:
        """Symptoms of the last visit."""
        matches = (_WAS.match(line) for line in self.known)
        return [Was(found["name"], found["value"], found["day"]) for found in matches if found]

    @property
    def conditions(self) -> list[str]:
        """Health conditions to state."""
        return [line.removeprefix(_CONDITION) for line in self.known if line.startswith(_CONDITION)]

    @property
    def decisions(self) -> list[tuple[str, str]]:
        """Date and phrase of what earlier visits decided."""
        matches = (_DECIDED.match(line) for line in self.known)
        return [(found["day"], found["phrase"]) for found in matches if found]


def read_visit(prompt: str) -> VisitInstructions:
    """Parse the prompt of a visit's note, or the instructions within it."""
    body = prompt.partition(f"\n{LAYOUT}")[0]
    body, _, decided = body.partition(DECIDED)
    symptoms, _, known = body.partition(KNOWN)
    return VisitInstructions(symptoms, _items(known), _items(decided))


def _items(block: str) -> tuple[str, ...]:
    return tuple(line.removeprefix("- ").strip() for line in block.split("\n") if line.startswith("- "))
