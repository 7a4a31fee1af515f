"""Sentence realisation: punctuation, capitals, lists of symptoms, extent of spans, and topics that are covered once."""

import re
from collections.abc import Callable, Sequence

from tasks.simulator.resources import any_of, load
from tasks.simulator.writer.grammar import Draft, Mark, Node, marked, write_list, written
from tasks.simulator.writer.rules import grammar, writer_rates

_SETTINGS = load("writer", "settings")
_OPENS_WITH_ADVERBIAL = re.compile(rf"{any_of(_SETTINGS['adverbials'])}\b", re.IGNORECASE)
_TIME_OF_DAY = re.compile(r"\b(?:morning|afternoon|evening|night|day)\b")
_OCCASION = re.compile(r"\b(?:morning|afternoon|evening|night|day|after|when|occasion)\b")
_NAMES = tuple(_SETTINGS["names"].split())


def sentence(draft: Draft, node: Node, *, end: str = ".", lead: str = "") -> None:
    """Write a sentence: a space before it unless it starts a line, a capital, and ``end``."""
    if lead:
        draft.emit(lead)
    elif draft.parts and not draft.parts[-1].endswith("\n"):
        draft.emit(" ")
    first = len(draft.parts)
    node(draft)
    draft.skip_space = draft.article = False
    capitalise(draft, first)
    draft.trim()
    if end:
        draft.emit(end)


def capitalise(draft: Draft, first: int) -> None:
    """Capitalise the first letter written since part ``first``."""
    for index in range(first, len(draft.parts)):
        part = draft.parts[index]
        if part:
            draft.parts[index] = part[0].upper() + part[1:]
            return


def capitalised(node: Node) -> Node:
    """Return ``node`` with a capital first letter."""

    def write(draft: Draft) -> None:
        first = len(draft.parts)
        node(draft)
        capitalise(draft, first)

    return write


def in_a_row(nodes: Sequence[Node], last_joint: str = ", ") -> Node:
    """Return ``nodes`` separated by commas, with ``last_joint`` before the last."""

    def write(draft: Draft) -> None:
        for position, node in enumerate(nodes):
            if position:
                draft.emit(last_joint if position == len(nodes) - 1 else ", ")
            node(draft)

    return write


def stretched(node: Node, chance: float) -> Node:
    """Return a sentence whose only span is extended to the whole sentence with probability ``probability``."""

    def write(draft: Draft) -> None:
        start, marks = draft.length, len(draft.marks)
        node(draft)
        if len(draft.marks) - marks == 1 and draft.random() < chance:
            draft.marks[-1].start, draft.marks[-1].end = start, draft.length

    return write


_AND = ("and", "and", "and", "and", "and", "along with", "as well as", "together with", "accompanied by")


def present_list(items: Sequence[tuple[str, Node]]) -> Node:
    """Return a list of present symptoms, each as a span."""

    def write(draft: Draft) -> None:
        names = [draft.rendered(node) for _, node in items]
        nodes = [marked(symptom, True, written(name)) for (symptom, _), name in zip(items, names, strict=True)]
        nested = any(" and " in name for name in names)  # "A as well as B and C"
        joint = "as well as" if nested else _AND[int(draft.random() * len(_AND))] if len(nodes) < 3 else "and"
        write_list(draft, nodes, lambda _: joint)

    return write


_OR = re.compile(r"\bor\b")


def absent_names(draft: Draft, symptoms: Sequence[str]) -> list[str]:
    """Draw the wordings of absent symptoms; none within a list contains an "or"."""
    rules = [grammar()[f"{symptom}.absent"] for symptom in symptoms]
    return [draft.rendered(avoiding(rule, _OR) if len(rules) > 1 else rule) for rule in rules]


def absent_list(symptoms: Sequence[str], names: Sequence[str]) -> Node:
    """Return a list of absent symptoms, worded as ``names``. Each span starts at the denial and ends with its symptom.

    In some lists every span ends at the end of the list.
    """

    def write(draft: Draft) -> None:
        first = len(draft.marks)
        start = draft.mark
        nodes = [_absent(name, symptom, start) for name, symptom in zip(names, symptoms, strict=True)]
        write_list(draft, nodes, lambda _: "or")
        if draft.random() < writer_rates().spans["absent_list"]:
            for mark in draft.marks[first:]:
                mark.end = draft.length

    def _absent(name: str, symptom: str, start: int) -> Node:
        def item(draft: Draft) -> None:
            draft.emit(name)
            draft.marks.append(Mark(symptom, False, start, draft.length))

        return item

    return write


_CONJUNCTIONS = (", and ",) * 13 + ("; ",) * 2
_DENIES = re.compile(r"\b(?:no|not|without|den(?:y|ies|ied))\b", re.IGNORECASE)


def join(draft: Draft, second: Node, *, apart: bool = False) -> None:
    """Continue a sentence with another one, after a semicolon if the two speak of different things (``apart``).

    The second keeps its subject and loses its capital.
    """
    draft.trim()
    conjunction = _CONJUNCTIONS[int(draft.random() * len(_CONJUNCTIONS))]
    said = re.split(r"[.:]\s", draft.text)[-1]
    closed = apart or ", and " in said or _DENIES.search(said)  # "and" would carry a denial on
    draft.emit("; " if closed else conjunction)
    _inside(draft, second)


def wrapped(node: Node, front: str, back: str | None = None, unless: re.Pattern[str] | None = None) -> Node:
    """Return a sentence with an adverbial at the start, or sometimes at the end if ``back`` is given.

    A sentence that opens with an adverbial, or that contains ``unless``, gets no other.
    """
    rules = grammar()

    def write(draft: Draft) -> None:
        restart = draft.checkpoint()
        text = draft.rendered(node)
        restart()  # all choices are as if it had not been written
        if _OPENS_WITH_ADVERBIAL.match(text) or (unless is not None and unless.search(text)):
            node(draft)
            return
        if back is None or draft.random() < 0.7:
            rules[front](draft)
            draft.emit(" ")
            restart()  # the sentence is the one that was foreseen
            _inside(draft, node)
        else:
            restart()
            node(draft)
            draft.trim()
            _after(draft, rules[back])

    return write


def with_tail(node: Node, tail: Node, described: str) -> Node:
    """Return a sentence about one symptom with an addition at its end, which the span includes.

    An addition that contradicts the sentence, or the descriptor ``described``, is left out.
    """

    def write(draft: Draft) -> None:
        first = len(draft.marks)
        node(draft)
        draft.trim()
        before, start = draft.snapshot(), draft.length
        _after(draft, tail)
        named = draft.text[draft.marks[first].start : start] if len(draft.marks) > first else ""
        named, added = f"{described} {named}", draft.text[start:]
        two_times = _TIME_OF_DAY.search(named) and _OCCASION.search(added)
        if two_times or contradicts(added.lower(), named.lower(), "history"):
            draft.restore(before)
        if len(draft.marks) == first + 1:
            draft.marks[first].end = draft.length

    return write


def _after(draft: Draft, node: Node) -> None:
    """Write ``node`` after a space, or without one if it starts with a comma."""
    index = len(draft.parts)
    node(draft)
    if index < len(draft.parts) and not draft.parts[index].startswith(","):
        draft.parts[index] = " " + draft.parts[index]
        draft.length += 1


def _inside(draft: Draft, node: Node) -> None:
    """Write a sentence inside another: with its subject, starting in lower case."""
    index, elision, draft.elision = len(draft.parts), draft.elision, 0.0
    draft.skip_space = False
    node(draft)
    draft.elision = elision
    if index < len(draft.parts):
        part = draft.parts[index]
        if not part[1:2].isupper() and not part.startswith(_NAMES):
            draft.parts[index] = part[0].lower() + part[1:]


_TOPICS = {section: [*map(re.compile, topics.values())] for section, topics in _SETTINGS["topics"].items()}
_APART = {
    section: [(re.compile(one), re.compile(other)) for pair in pairs for one, other in (pair, pair[::-1])]
    for section, pairs in _SETTINGS["apart"].items()
}


def contradicts(new: str, said: str, section: str) -> bool:
    """Whether ``new`` and ``said``, in lower case, match the two patterns of a pair that excludes each other."""
    return any(one.search(new) and other.search(said) for one, other in _APART[section])


def written_once(draft: Draft, start: int, section: str, write: Callable[[], None]) -> bool:
    """Run ``write`` and keep its text, unless it repeats a topic of the text since offset ``start`` or contradicts it.

    ``section``: history or examination. Such a text is drawn again a few times. Returns whether one was kept. A
    finding with symptom spans is always kept.
    """
    said, marks = draft.text[start:], len(draft.marks)
    low = said.lower()
    for _ in range(_DRAWS):
        before = draft.snapshot()
        write()
        new = draft.text[start + len(said) :].lower()
        if section == "examination" and len(draft.marks) > marks:
            return True
        if not (contradicts(new, low, section) or any(one.search(new) and one.search(low) for one in _TOPICS[section])):
            return True
        draft.restore(before)
    return False


_DRAWS = 6


def written_as_pair(
    draft: Draft, start: int, section: str, pair: tuple[Node, Node], lead: str = "", *, apart: bool = False
) -> int:
    """Write two sentences joined in one; each is left out if it repeats a topic. Returns how many of them were kept."""
    first, second = pair
    if not written_once(draft, start, section, lambda: sentence(draft, first, end="", lead=lead)):
        return 0
    more = written_once(draft, start, section, lambda: join(draft, second, apart=apart))
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
