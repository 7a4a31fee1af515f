"""Plan and write the history of a visit for symptoms of the domain."""

from tasks.simulator.writer.context import context_pieces
from tasks.simulator.writer.denials import denials
from tasks.simulator.writer.draft import Draft, Mark, Node, Piece
from tasks.simulator.writer.focus import asked_about
from tasks.simulator.writer.grammar_nodes import written
from tasks.simulator.writer.instructions import Mention
from tasks.simulator.writer.plan import levels, plan, rule_of
from tasks.simulator.writer.rates import writer_rates
from tasks.simulator.writer.repetition import HISTORY, written_as_pair, written_once
from tasks.simulator.writer.rules import grammar
from tasks.simulator.writer.sentences import (
    absent_list,
    capitalised,
    in_a_row,
    joined_nodes,
    present_list,
    sentence,
    stretched,
    with_tail,
    wrapped,
)


def write_history(draft: Draft, mentions: tuple[Mention, ...], conditions: tuple[str, ...]) -> None:
    """Write the history: opening, further symptoms, denials, conditions and context, in a natural order."""
    rng = draft.rng
    present = [mention for mention in mentions if mention.present]
    absent = [mention.symptom for mention in mentions if not mention.present]
    rng.shuffle(present)
    rng.shuffle(absent)
    in_phrase = {mention.symptom: rng.random() < 0.77 for mention in present}
    lead = present[: rng.choices((1, 2, 3), (60, 33, 7))[0]]
    if lead:
        opening = _opening(draft, lead, in_phrase)
        tail = rng.random() < 0.1 and bool(absent)
        hung = absent[: rng.randint(1, len(absent))] if tail else []
        absent = absent[len(hung) :]
        sentence(draft, _hang(opening, hung))
    else:
        sentence(draft, grammar()["frame.no_symptom_open"])
    pieces = _later(draft, present[len(lead) :], in_phrase)
    start = {mention.symptom: 0.0 for mention in lead} | {
        m.symptom: p.place for m, p in zip(present[len(lead) :], pieces, strict=True)
    }
    pieces += _elaborations(draft, present, in_phrase, start)
    focus = asked_about(draft, present, start)
    pieces += focus
    pieces += denials(draft, absent)
    pieces += _conditions(draft, conditions)
    count = rng.choices((1, 2, 3, 4, 5), writer_rates().style["context_sentences"])[0] - len(focus) - (len(pieces) > 6)
    pieces += context_pieces(draft, count, past=not conditions, complaint=bool(present))
    write_pieces(draft, pieces)


def write_pieces(draft: Draft, pieces: list[Piece], style: str = "joined_history") -> None:
    """Write planned sentences in order, joining some pairs."""
    joined, start = writer_rates().style[style], draft.length
    waiting, fronted = sorted(pieces, key=lambda piece: piece.place), False
    while waiting:
        piece = waiting.pop(0)
        node, draw = piece.node, draft.random()
        if waiting and draw < joined and waiting[0].says == piece.says and not waiting[0].optional | piece.optional:
            sentence(draft, joined_nodes(node, waiting.pop(0).node))
            continue
        if not fronted and draw > 1 - writer_rates().style["adverbial_history"]:
            node, fronted = wrapped(node, "wrap.front"), True
        if not piece.optional:
            sentence(draft, node)
        elif waiting and draw < joined and waiting[0].optional:
            if written_as_pair(draft, start, HISTORY, (node, waiting[0].node)) == 2:
                waiting.pop(0)
        else:
            written_once(draft, start, HISTORY, lambda node=node: sentence(draft, node))  # type: ignore[misc]


def phrase(mention: Mention, with_descriptor: bool) -> Node:
    """Return the noun phrase for a present symptom."""
    rules = grammar()
    if levels(mention.symptom):
        return rules[rule_of(f"{mention.symptom}.np", mention.symptom, mention.value)]
    if with_descriptor and mention.descriptor:
        rule = f"{mention.symptom}.np.{mention.descriptor}"
        return rules[rule] if rule in rules else _free_descriptor(mention)
    return rules[f"{mention.symptom}.plain"]


def _free_descriptor(mention: Mention) -> Node:
    """Quote a descriptor without a rule as it appears in the prompt."""
    plain = grammar()[f"{mention.symptom}.plain"]

    def write(draft: Draft) -> None:
        plain(draft)
        draft.emit(f", described as {mention.descriptor}")

    return write


def _named(draft: Draft, mentions: list[Mention], in_phrase: dict[str, bool]) -> None:
    names = [(m.symptom, phrase(m, in_phrase[m.symptom])) for m in mentions]
    node = present_list(names)
    draft.variables["nps"], draft.variables["Nps"] = node, capitalised(node)


def _with_names(draft: Draft, rule: str, mentions: list[Mention], in_phrase: dict[str, bool]) -> Node:
    """Return a frame filled with the names of present symptoms."""
    inner, symptom = grammar()[rule], mentions[0].symptom
    if len(mentions) == 1 and draft.random() < writer_rates().spans["tail"][symptom]:
        inner = with_tail(inner, grammar()[rule_of(f"{symptom}.tail", symptom, mentions[0].value)])
    inner = stretched(inner, writer_rates().spans["present_sentence"][symptom])

    def write(draft: Draft) -> None:
        _named(draft, mentions, in_phrase)
        inner(draft)

    return write


def _opening(draft: Draft, lead: list[Mention], in_phrase: dict[str, bool]) -> Node:
    return _with_names(draft, "frame.open", lead, in_phrase)


def _hang(opening: Node, hung: list[str]) -> Node:
    if not hung:
        return opening
    tail, names = grammar()["frame.open_tail"], absent_list(hung, writer_rates().spans["absent_list"])

    def write(draft: Draft) -> None:
        opening(draft)
        draft.trim()
        draft.variables["list"] = names
        tail(draft)

    return write


def _later(draft: Draft, mentions: list[Mention], in_phrase: dict[str, bool]) -> list[Piece]:
    return [
        Piece(1 + 1.2 * draft.random(), _with_names(draft, "frame.later", [mention], in_phrase), "present")
        for mention in mentions
    ]


def _elaborations(
    draft: Draft, present: list[Mention], in_phrase: dict[str, bool], start: dict[str, float]
) -> list[Piece]:
    rules, pieces = grammar(), []
    for mention in present:
        symptom, place = mention.symptom, max(start[mention.symptom], 1.0)
        if mention.descriptor and not in_phrase[symptom]:
            rule = f"{symptom}.more_of.{mention.descriptor}"
            node = rules[rule] if rule in rules else _said_of(mention)
            pieces.append(Piece(place + 0.5 * draft.random(), node, "present"))
        for _ in range(draft.count(writer_rates().more[symptom])):
            more = rules[rule_of(f"{symptom}.more", symptom, mention.value)]
            pieces.append(Piece(place + 0.3 + 1.5 * draft.random(), more, "present"))
    return pieces


def _said_of(mention: Mention) -> Node:
    name = plan().spoken.get(mention.symptom, mention.symptom)

    def write(draft: Draft) -> None:
        marked_from = draft.length
        draft.emit(f"The {name} is described as {mention.descriptor}")
        draft.marks.append(Mark(mention.symptom, True, marked_from, draft.length))

    return write


def _conditions(draft: Draft, conditions: tuple[str, ...]) -> list[Piece]:
    rules = grammar()
    stated = [name for name in conditions if draft.random() < 0.88]
    draft.rng.shuffle(stated)
    if not stated:
        return []
    place = 1.2 + 2.4 * draft.random()
    if (len(stated) > 1 and draft.random() < 0.6) or draft.random() < 0.35:
        return [Piece(place, condition_sentence(stated))]
    pieces = []
    for n, name in enumerate(stated):
        node = rules.get(f"condition.alone.{name}") or condition_sentence([name])
        pieces.append(Piece(place + 0.1 * n, node))
    return pieces


def condition_sentence(names: list[str]) -> Node:
    """Return a sentence that names conditions in the patient's history."""
    rules = grammar()
    named: list[Node] = []
    for name in names:
        rule = f"condition.names.{name}"
        named.append(rules[rule] if rule in rules else written(name))

    def write(draft: Draft) -> None:
        draft.variables["conditions"] = in_a_row(named, " and ")
        rules["condition.joint"](draft)

    return write
