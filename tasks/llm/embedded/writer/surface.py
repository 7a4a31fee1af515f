"""Sentence-level writing: full stops, capitals, lists of symptoms, and how far a span stretches."""

from collections.abc import Callable, Sequence

from tasks.llm.embedded.writer.grammar import Line, Mark, Node, grammar


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
