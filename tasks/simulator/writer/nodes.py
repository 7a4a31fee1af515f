"""What a grammar's rules are made of: words, variables, lists, subjects, and what agrees with a subject."""

from tasks.simulator.writer.line import Line, Node


def join_nodes(line: Line, nodes: list[Node], word: str) -> None:
    """Write ``nodes`` as a list: "a, b, and c"."""
    oxford = line.random() < 0.7
    for position, node in enumerate(nodes):
        if position:
            last = position == len(nodes) - 1
            comma = "," if not last or (len(nodes) > 2 and oxford) else ""
            line.emit(f"{comma} {word} " if last else ", ")
        node(line)


def written(text: str) -> Node:
    """Writes ``text``."""
    return lambda line: line.emit(text)


def variable_of(name: str) -> Node:
    """Writes the note's variable ``name``: a text, or what a node writes."""

    def variable(line: Line) -> None:
        value = line.variables[name]
        if isinstance(value, str):
            line.emit(value)
        else:
            value(line)

    return variable


def set_mark(line: Line) -> None:
    """Remembers where a span begins that ends elsewhere."""
    line.mark = line.length


def _agreement(singular: str, plural: str) -> Node:
    return lambda line: line.emit(plural if line.plural else singular)


ENDINGS: dict[str, Node] = {
    "s": _agreement("s", ""),
    "es": _agreement("es", ""),
    "ies": _agreement("ies", "y"),
}


def _article(line: Line) -> None:
    line.article = True


def _opening_subject(line: Line) -> None:
    line.plural = False
    draw = line.random()
    if not line.first and draw < line.elision:
        line.skip_space = True
        return
    if not line.first and draw > 0.78:
        line.plural = True
        line.emit("They")
    else:
        line.emit("Patient" if line.bare else "The patient")
    line.first = False


def _inner_subject(line: Line) -> None:
    line.plural = not line.first and line.random() < 0.4
    line.first = False
    line.emit("they" if line.plural else "the patient")


SPECIAL: dict[str, Node] = {
    "a": _article,
    "S": _opening_subject,
    "s": _inner_subject,
    "has": _agreement("has", "have"),
    "is": _agreement("is", "are"),
    "was": _agreement("was", "were"),
    "does": _agreement("does", "do"),
}
