"""Content plan and writing of the history of a visit for the airways."""

from tasks.simulator.writer.focus import asked_about
from tasks.simulator.writer.grammar import grammar
from tasks.simulator.writer.line import Line, Mark, Node
from tasks.simulator.writer.order import Mention
from tasks.simulator.writer.planned import Piece
from tasks.simulator.writer.rates import RATES
from tasks.simulator.writer.surface import (
    absent_list,
    capitalise,
    joined_nodes,
    present_list,
    sentence,
    stretched,
    with_tail,
    wrapped,
)

_CONTEXT = ("course", "medication", "exposure", "travel", "general", "past")
_CONTEXT_WEIGHTS = (2.2, 2.6, 2.0, 1.4, 3.4, 1.4)


def write_history(line: Line, mentions: tuple[Mention, ...], conditions: tuple[str, ...]) -> None:
    """Write the history: an opening, then further symptoms, denials, conditions and context in a natural order."""
    rng = line.rng
    present = [mention for mention in mentions if mention.present]
    absent = [mention.symptom for mention in mentions if not mention.present]
    rng.shuffle(present)
    rng.shuffle(absent)
    in_phrase = {mention.symptom: rng.random() < 0.72 for mention in present}
    lead = present[: rng.choices((1, 2, 3), (60, 33, 7))[0]]
    if lead:
        opening = _opening(line, lead, in_phrase)
        tail = rng.random() < 0.1 and bool(absent)
        hung = absent[: rng.randint(1, len(absent))] if tail else []
        absent = absent[len(hung) :]
        sentence(line, _hang(opening, hung))
    else:
        sentence(line, grammar()["frame.no_symptom_open"])
    pieces = _later(line, present[len(lead) :], in_phrase)
    start = {mention.symptom: 0.0 for mention in lead} | {
        m.symptom: p.place for m, p in zip(present[len(lead) :], pieces, strict=True)
    }
    pieces += _elaborations(line, present, in_phrase, start)
    focus = asked_about(line, present, start)
    pieces += focus
    pieces += _denials(line, absent)
    pieces += _conditions(line, conditions)
    count = rng.choices((1, 2, 3, 4, 5), RATES.style["context_sentences"])[0] - len(focus) - (len(pieces) > 6)
    pieces += context_pieces(line, count, past=not conditions)
    write_pieces(line, pieces)


def write_pieces(line: Line, pieces: list[Piece], style: str = "joined_history") -> None:
    """Write planned sentences in their order, some two of them joined to one."""
    joined = RATES.style[style]
    waiting = sorted(pieces, key=lambda piece: piece.place)
    while waiting:
        piece = waiting.pop(0)
        node, draw = piece.node, line.random()
        if waiting and draw < joined and waiting[0].says == piece.says:
            sentence(line, joined_nodes(node, waiting.pop(0).node))
        elif draw > 1 - RATES.style["adverbial_history"]:
            sentence(line, wrapped(node, "wrap.front", "wrap.back"))
        else:
            sentence(line, node)


def phrase(mention: Mention, with_descriptor: bool) -> Node:
    """The noun phrase that names a present symptom."""
    rules = grammar()
    if mention.symptom == "fever":
        return rules[f"fever.np.{mention.value if mention.value in ('high', 'low') else 'low'}"]
    if with_descriptor and mention.descriptor:
        rule = f"{mention.symptom}.np.{mention.descriptor}"
        return rules[rule] if rule in rules else _free_descriptor(mention)
    return rules[f"{mention.symptom}.plain"]


def _free_descriptor(mention: Mention) -> Node:
    """A descriptor that no rule knows is quoted as it stands in the prompt."""
    plain = grammar()[f"{mention.symptom}.plain"]

    def write(line: Line) -> None:
        plain(line)
        line.emit(f", described as {mention.descriptor}")

    return write


def _named(line: Line, mentions: list[Mention], in_phrase: dict[str, bool]) -> None:
    names = [(m.symptom, phrase(m, in_phrase[m.symptom])) for m in mentions]
    node = present_list(names)

    def capital(line: Line) -> None:
        first = len(line.parts)
        node(line)
        capitalise(line, first)

    line.variables["nps"], line.variables["Nps"] = node, capital


def _with_names(line: Line, rule: str, mentions: list[Mention], in_phrase: dict[str, bool]) -> Node:
    """A frame filled with the names of present symptoms."""
    inner, symptom = grammar()[rule], mentions[0].symptom
    if len(mentions) == 1 and line.random() < RATES.spans["tail"][symptom]:
        value = mentions[0].value
        inner = with_tail(inner, grammar()[f"fever.tail.{value}" if symptom == "fever" else f"{symptom}.tail"])
    inner = stretched(inner, RATES.spans["present_sentence"][symptom])

    def write(line: Line) -> None:
        _named(line, mentions, in_phrase)
        inner(line)

    return write


def _opening(line: Line, lead: list[Mention], in_phrase: dict[str, bool]) -> Node:
    return _with_names(line, "frame.open", lead, in_phrase)


def _hang(opening: Node, hung: list[str]) -> Node:
    if not hung:
        return opening
    tail, names = grammar()["frame.open_tail"], absent_list(hung, RATES.spans["absent_list"])

    def write(line: Line) -> None:
        opening(line)
        line.trim()
        line.variables["list"] = names
        tail(line)

    return write


def _later(line: Line, mentions: list[Mention], in_phrase: dict[str, bool]) -> list[Piece]:
    return [
        Piece(1 + 1.2 * line.random(), _with_names(line, "frame.later", [mention], in_phrase), "present")
        for mention in mentions
    ]


def _elaborations(
    line: Line, present: list[Mention], in_phrase: dict[str, bool], start: dict[str, float]
) -> list[Piece]:
    rules, pieces = grammar(), []
    for mention in present:
        symptom, place = mention.symptom, max(start[mention.symptom], 1.0)
        if mention.descriptor and not in_phrase[symptom] and symptom not in ("fever", "nasal"):
            rule = f"{symptom}.more_of.{mention.descriptor}"
            node = rules[rule] if rule in rules else _said_of(mention)
            pieces.append(Piece(place + 0.5 * line.random(), node, "present"))
        for _ in range(line.count(RATES.more[symptom])):
            rule = f"fever.more.{mention.value}" if symptom == "fever" else f"{symptom}.more"
            pieces.append(Piece(place + 0.3 + 1.5 * line.random(), rules[rule], "present"))
    return pieces


def _said_of(mention: Mention) -> Node:
    name = {"pain": "pain", "dyspnea": "shortness of breath", "cough": "cough", "nasal": "nasal complaint"}

    def write(line: Line) -> None:
        marked_from = line.length
        line.emit(f"The {name.get(mention.symptom, mention.symptom)} is described as {mention.descriptor}")
        line.marks.append(Mark(mention.symptom, True, marked_from, line.length))

    return write


def _denials(line: Line, absent: list[str]) -> list[Piece]:
    pieces, left = [], list(absent)
    while left:
        size = line.rng.choices((1, 2, 3, 4), (30, 32, 26, 12))[0]
        group, left = left[:size], left[size:]
        place = 1.3 + 2.2 * line.random()
        if len(group) == 1 and line.random() < 0.42:
            pieces.append(Piece(place, grammar()[f"{group[0]}.denied"], "absent"))
        else:
            pieces.append(Piece(place, denial(group), "absent"))
    return pieces


def denial(group: list[str]) -> Node:
    """A sentence that denies the symptoms of ``group``."""
    frame, names = grammar()["frame.absent"], absent_list(group, RATES.spans["absent_list"])

    def write(line: Line) -> None:
        line.variables["list"] = names
        line.variables["be"] = ("were" if line.past else "are") if len(group) > 1 else ("was" if line.past else "is")
        frame(line)

    return write


def _conditions(line: Line, conditions: tuple[str, ...]) -> list[Piece]:
    rules = grammar()
    told = [name for name in conditions if line.random() < 0.88]
    line.rng.shuffle(told)
    if not told:
        return []
    place = 1.2 + 2.4 * line.random()
    if (len(told) > 1 and line.random() < 0.6) or line.random() < 0.35:
        return [Piece(place, condition_sentence(told))]
    return [
        Piece(
            place + 0.1 * n, rules[rule] if (rule := f"condition.alone.{name}") in rules else condition_sentence([name])
        )
        for n, name in enumerate(told)
    ]


def condition_sentence(names: list[str]) -> Node:
    """A sentence that names conditions of the patient's past."""
    rules = grammar()

    def write(line: Line) -> None:
        def listed_names(line: Line) -> None:
            for position, name in enumerate(names):
                if position:
                    line.emit(" and " if position == len(names) - 1 else ", ")
                rule = f"condition.names.{name}"
                rules[rule](line) if rule in rules else line.emit(name)

        line.variables["conditions"] = listed_names
        rules["condition.joint"](line)

    return write


def context_pieces(line: Line, count: int, *, past: bool = True) -> list[Piece]:
    """Sentences that say nothing of any symptom, each of another kind. ``past``: an empty history may be stated."""
    kinds: list[str] = []
    while len(kinds) < max(count, 0):
        kind = line.rng.choices(_CONTEXT, _CONTEXT_WEIGHTS)[0]
        if (kind not in kinds or kind == "general") and (past or kind != "past"):
            kinds.append(kind)
    late = {"course": 1.0, "medication": 1.9, "past": 2.4}
    return [Piece(late.get(kind, 2.1) + 1.8 * line.random(), grammar()[f"context.{kind}"]) for kind in kinds]
