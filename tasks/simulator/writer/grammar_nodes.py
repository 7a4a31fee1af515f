"""Elements of compiled rules: words, variables, lists, subjects and agreement."""

from collections.abc import Callable, Sequence

from tasks.simulator.writer.draft import Draft, Node


def write_list(draft: Draft, nodes: Sequence[Node], joiner: Callable[[Draft], str]) -> None:
    """Write ``nodes`` as a list: "a, b, and c". ``joiner`` draws the word before the last item."""
    oxford, word = draft.random() < 0.7, joiner(draft)
    for position, node in enumerate(nodes):
        if position:
            last = position == len(nodes) - 1
            comma = "," if not last or (len(nodes) > 2 and oxford) else ""
            draft.emit(f"{comma} {word} " if last else ", ")
        node(draft)


def written(text: str) -> Node:
    """Return a node that writes ``text``."""
    return lambda draft: draft.emit(text)


def variable_of(name: str) -> Node:
    """Return a node that writes the note's variable ``name``: a string, or the output of a node."""

    def variable(draft: Draft) -> None:
        value = draft.variables[name]
        if isinstance(value, str):
            draft.emit(value)
        else:
            value(draft)

    return variable


def set_mark(draft: Draft) -> None:
    """Remember the start of a span that ends elsewhere."""
    draft.mark = draft.length


def _agreement(singular: str, plural: str) -> Node:
    return lambda draft: draft.emit(plural if draft.plural else singular)


ENDINGS: dict[str, Node] = {
    "s": _agreement("s", ""),
    "es": _agreement("es", ""),
    "ies": _agreement("ies", "y"),
}


def _article(draft: Draft) -> None:
    draft.article = True


def _opening_subject(draft: Draft) -> None:
    draft.plural = False
    draw = draft.random()
    if not draft.first and draw < draft.elision:
        draft.skip_space = True
        return
    if not draft.first and draw > 0.78:
        draft.plural = True
        draft.emit("They")
    else:
        draft.emit("Patient" if draft.bare else "The patient")
    draft.first = False


def _inner_subject(draft: Draft) -> None:
    draft.plural = not draft.first and draft.random() < 0.4
    draft.first = False
    draft.emit("they" if draft.plural else "the patient")


SPECIAL: dict[str, Node] = {
    "a": _article,
    "S": _opening_subject,
    "s": _inner_subject,
    "has": _agreement("has", "have"),
    "is": _agreement("is", "are"),
    "was": _agreement("was", "were"),
    "does": _agreement("does", "do"),
}
