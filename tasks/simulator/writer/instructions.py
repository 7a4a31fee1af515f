"""Parse a writing prompt: what the note must, must not and may mention."""

import re
from dataclasses import dataclass

from tasks.domains.rules import load_rules

NOTE_TASKS = ("write a clinical note", "write three clinical notes")


@dataclass(frozen=True)
class Mention:
    """A symptom that the note must cover, by name, with its value in the record."""

    symptom: str
    value: str
    descriptor: str | None = None

    @property
    def present(self) -> bool:
        """Whether the patient has the symptom."""
        return self.value not in load_rules().absent_value.values()


@dataclass(frozen=True)
class Instructions:
    """The request of one prompt. ``forbidden``: conditions that the patient does not have."""

    mentions: tuple[Mention, ...] = ()
    avoid: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    count: int = 1

    @property
    def related(self) -> bool:
        """False for a visit with a complaint outside the domain, which the writer chooses."""
        return bool(self.mentions)


_BULLET = re.compile(r"^- (.+?)\s*$")
_ITEM = re.compile(r"^(?P<name>[^:]+?)(?::\s*(?P<value>[^,]+?)(?:,\s*(?P<descriptor>.+))?)?$")


def read_instructions(task: str, prompt: str) -> Instructions:
    """Parse the user message that requests notes. Lists are identified by the line above them."""
    by_label = load_rules().symptom_by_label
    mentions: list[Mention] = []
    avoid: list[str] = []
    conditions: list[str] = []
    forbidden: list[str] = []
    for heading, items in _lists(prompt):
        head = heading.lower()
        if "condition" in head:
            (forbidden if "not mention" in head else conditions).extend(map(_condition, items))
        elif "must mention" in head:
            mentions += [_mention(item, by_label) for item in items]
        elif "must not" in head:
            names = [item.split(":")[0].strip().lower() for item in items]
            avoid += [by_label[name] for name in names if name in by_label]
    return Instructions(
        mentions=tuple(mentions),
        avoid=tuple(avoid),
        conditions=tuple(conditions),
        forbidden=tuple(forbidden),
        count=3 if "three" in task else 1,
    )


def _lists(prompt: str) -> list[tuple[str, list[str]]]:
    """The lists of a prompt, each with the line above it."""
    found: list[tuple[str, list[str]]] = [("", [])]
    for line in prompt.splitlines():
        if bullet := _BULLET.match(line):
            found[-1][1].append(bullet[1])
        elif line.strip():
            found.append((line, []))
    return found


def _mention(item: str, by_label: dict[str, str]) -> Mention:
    parts = _ITEM.match(item)
    assert parts is not None
    name = parts["name"].strip().lower()
    return Mention(by_label.get(name, name), (parts["value"] or "yes").strip().lower(), parts["descriptor"])


def _condition(item: str) -> str:
    labels = load_rules().condition_labels
    return next((name for name in labels if name.lower() == item.strip().lower()), item.strip())
