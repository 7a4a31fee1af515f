"""Sentence-level writing: full stops, capitals, lists of symptoms, and how far a span stretches."""

from collections.abc import Callable, Sequence

from tasks.simulator.writer.grammar import grammar
from tasks.simulator.writer.line import Line, Mark, Node


def sentence(line: Line, node: Node, *, end: str = ".", lead: str = "") -> None:
    """Write one sentence: a space before it unless a line begins, a capital, and ``end``."""
    if lead:
        line.emit(lead)
    elif line.parts and not line.parts[-1].endswith("\n"):
        line.emit(" ")
    first = len(line.parts)
    node(line)
    line.skip_space = line.article = False
    capitalise(line, first)
    line.trim()
    if end:
        line.emit(end)


def capitalise(line: Line, first: int) -> None:
    """Upper-case the first letter written since part ``first``."""
    for index in range(first, len(line.parts)):
        part = line.parts[index]
        if part:
            line.parts[index] = part[0].upper() + part[1:]
            return


def stretched(node: Node, chance: float) -> Node:
    """A sentence whose only span is widened to the whole of it, with probability ``chance``."""

    def write(line: Line) -> None:
        start, marks = line.length, len(line.marks)
        node(line)
        if len(line.marks) - marks == 1 and line.random() < chance:
            line.marks[-1].start, line.marks[-1].end = start, line.length

    return write


def marked(symptom: str, present: bool, node: Node) -> Node:
    """``node`` as a span of its own."""

    def write(line: Line) -> None:
        start = line.length
        node(line)
        line.marks.append(Mark(symptom, present, start, line.length))

    return write


def listed(nodes: Sequence[Node], joiner: Callable[[Line], str]) -> Node:
    """Nodes as a list: "a, b and c"."""

    def write(line: Line) -> None:
        oxford, word = line.random() < 0.7, joiner(line)
        for position, node in enumerate(nodes):
            if position:
                last = position == len(nodes) - 1
                comma = "," if not last or (len(nodes) > 2 and oxford) else ""
                line.emit(f"{comma} {word} " if last else ", ")
            node(line)

    return write


_AND = ("and", "and", "and", "and", "and", "along with", "as well as", "together with", "accompanied by")


def present_list(items: Sequence[tuple[str, Node]]) -> Node:
    """Noun phrases of present symptoms, each its own span."""
    nodes = [marked(symptom, True, node) for symptom, node in items]
    return listed(nodes, lambda line: _AND[int(line.random() * len(_AND))] if len(nodes) < 3 else "and")


def absent_list(symptoms: Sequence[str], whole: float) -> Node:
    """Names of absent symptoms. Each span runs from where the denial begins to the end of its name.

    With probability ``whole`` every span runs to the end of the list.
    """
    rules = grammar()

    def write(line: Line) -> None:
        first = len(line.marks)
        start = line.mark
        nodes = [_absent(symptom, start) for symptom in symptoms]
        listed(nodes, lambda line: "or" if line.random() < 0.75 else "and")(line)
        if line.random() < whole:
            for mark in line.marks[first:]:
                mark.end = line.length

    def _absent(symptom: str, start: int) -> Node:
        name = rules[f"{symptom}.absent"]

        def item(line: Line) -> None:
            name(line)
            line.marks.append(Mark(symptom, False, start, line.length))

        return item

    return write


_CONJUNCTIONS = (", and ",) * 11 + ("; ",) * 2 + (" and ",) * 2


def joined_nodes(first: Node, second: Node) -> Node:
    """Two sentences as one; the second keeps its subject and loses its capital."""

    def write(line: Line) -> None:
        first(line)
        line.trim()
        line.emit(_CONJUNCTIONS[int(line.random() * len(_CONJUNCTIONS))])
        _inside(line, second)

    return write


def wrapped(node: Node, front: str, back: str) -> Node:
    """A sentence with an adverbial in front or at the end."""
    rules = grammar()

    def write(line: Line) -> None:
        if line.random() < 0.7:
            rules[front](line)
            line.emit(" ")
            _inside(line, node)
        else:
            node(line)
            line.trim()
            _after(line, rules[back])

    return write


def with_tail(node: Node, tail: Node) -> Node:
    """A sentence on one symptom with something hung onto its end, which its span then takes in."""

    def write(line: Line) -> None:
        first = len(line.marks)
        node(line)
        line.trim()
        _after(line, tail)
        if len(line.marks) == first + 1:
            line.marks[first].end = line.length

    return write


def _after(line: Line, node: Node) -> None:
    """Write ``node`` after a space, or without one where it begins with a comma."""
    index = len(line.parts)
    node(line)
    if index < len(line.parts) and not line.parts[index].startswith(","):
        line.parts[index] = " " + line.parts[index]
        line.length += 1


_NAMES = ("Dix", "Phalen", "Tinel", "Murphy", "McBurney", "Romberg", "Weber", "Rinne", "Lachman", "Spurling")


def _inside(line: Line, node: Node) -> None:
    """Write a sentence inside another: its subject is named, its first letter small."""
    index, elision, line.elision = len(line.parts), line.elision, 0.0
    line.skip_space = False
    node(line)
    line.elision = elision
    if index < len(line.parts):
        part = line.parts[index]
        if not part[1:2].isupper() and not part.startswith(_NAMES):
            line.parts[index] = part[0].lower() + part[1:]
