"""Plan and write the history of a visit for symptoms of the domain, with denials and the context of the visit."""

import re

from tasks.simulator.prompts import Mention
from tasks.simulator.resources import any_of, load
from tasks.simulator.writer.exam import asked_about
from tasks.simulator.writer.grammar import Draft, Node, Piece, marked, written
from tasks.simulator.writer.rules import grammar, levels, plan, rule_of, writer_rates
from tasks.simulator.writer.sentences import (
    absent_list,
    absent_names,
    avoiding,
    capitalised,
    in_a_row,
    join,
    present_list,
    sentence,
    stretched,
    with_tail,
    wrapped,
    written_as_pair,
    written_once,
)


def denials(draft: Draft, absent: list[str], *, complaint: bool) -> list[Piece]:
    """Return sentences that deny the symptoms, in groups of one to four."""
    pieces, left = [], list(absent)
    while left:
        size = draft.rng.choices((1, 2, 3, 4), (30, 32, 26, 12))[0]
        group, left = left[:size], left[size:]
        place = 1.3 + 2.2 * draft.random()
        if len(group) == 1 and draft.random() < 0.42:
            pieces.append(Piece(place, grammar()[f"{group[0]}.denied"], "absent"))
        else:
            pieces.append(Piece(place, denial(group, complaint=complaint), "absent"))
    return pieces


def denial(group: list[str], *, complaint: bool) -> Node:
    """Return a sentence that denies the symptoms of ``group``; without a ``complaint`` they accompany nothing."""
    frame = grammar()["frame.absent"]

    def write(draft: Draft) -> None:
        names = absent_names(draft, group)
        draft.variables["list"] = absent_list(group, names)
        first, last = (_is_plural(name) for name in (names[0].split(" or ")[0], names[-1].split(" or ")[-1]))
        plural, singular = ("were", "was") if draft.past else ("are", "is")
        draft.variables["is"] = plural if first else singular
        draft.variables["now"] = "are" if first else "is"
        draft.variables["has"] = "have" if first else "has"
        draft.variables["be"] = plural if last else singular
        for _ in range(_DRAWS):  # until it neither repeats nor supposes a complaint
            before, said = draft.snapshot(), draft.text
            frame(draft)
            new = draft.text[len(said) :]
            if not ((_TIRED.search(new) and _TIRED.search(said)) or (not complaint and _ACCOMPANIES.search(new))):
                return
            draft.restore(before)
        frame(draft)

    return write


_DRAWS = 8
_TIRED = re.compile(r"fatigue|tired|unwell|malaise|under the weather|run-down|weakness|listless|energy|exhaust", re.I)
_ACCOMPANIES = re.compile(r"accompanying|associated|this (?:time|period)|so far")
_PLURAL = re.compile(r"\b\w+[^su\W]s\b")
_COMPLEMENT = re.compile(r" (?:in|on|with|of|associated|when)\b")


def _is_plural(name: str) -> bool:
    """Whether a noun phrase is plural: "episodes of pain", but not "pain in the joints"."""
    return _PLURAL.search(_COMPLEMENT.split(name)[0]) is not None


_SETTINGS = load("writer", "settings")
_ADDED = re.compile(r"\b(?:also|additionally|in addition|furthermore|as well|too)\b", re.IGNORECASE)
"""A sentence with one of these takes no further adverbial."""
UNMEDICATED = re.compile(r"(?:not (?:currently )?(?:on|taking)|not use) any|no (?:regular|daily|long-term) medication")
"""Sentences that are wrong of a patient whose condition is treated."""
_FIRST_TIME = re.compile(
    r"no (?:earlier|similar) episodes|no comparable complaints|no (?:previous )?history of similar"
    r"|recall (?:a similar|having had)"
)
"""Sentences that are wrong of a patient with a chronic condition of the same organ."""
_WRONG_IF_ILL = re.compile(f"{UNMEDICATED.pattern}|{_FIRST_TIME.pattern}", re.IGNORECASE)
_COMPLAINT = re.compile(any_of(_SETTINGS["complaint"]), re.IGNORECASE)


def context_pieces(draft: Draft, count: int, *, past: bool, complaint: bool) -> list[Piece]:
    """Return sentences of different kinds about the context of the visit, none of which states a symptom.

    ``past``: whether "no past history" may be stated. ``complaint``: whether the patient has complaints, to which a
    sentence may refer.
    """
    known, weights = zip(*_SETTINGS["context"].items(), strict=True)
    kinds: list[str] = []
    while len(kinds) < max(count, 0):
        kind = draft.rng.choices(known, weights)[0]
        if (kind not in kinds or kind == "general") and (past or kind != "past") and (complaint or kind != "course"):
            kinds.append(kind)
    late = {"course": 2.1, "medication": 1.9, "past": 2.4}
    pieces = []
    for kind in kinds:
        node = grammar()[f"context.{kind}"]
        place = late.get(kind, 2.1) + 1.8 * draft.random()
        node = node if past else avoiding(node, _WRONG_IF_ILL)
        pieces.append(Piece(place, node if complaint else avoiding(node, _COMPLAINT), kind, optional=True))
    return pieces


def write_history(draft: Draft, mentions: tuple[Mention, ...], conditions: tuple[str, ...]) -> None:
    """Write the history: opening, further symptoms, denials, conditions and context, in a natural order."""
    rng = draft.rng
    present = [mention for mention in mentions if mention.present]
    absent = [mention.symptom for mention in mentions if not mention.present]
    rng.shuffle(present)
    rng.shuffle(absent)
    in_phrase = {mention.symptom: rng.random() < 0.77 for mention in present}
    lead = present[: rng.choices((1, 2, 3), (60, 33, 7))[0]]
    opens = draft.length
    if lead:
        opening = _with_names(draft, "frame.open", lead, in_phrase)
        tail = rng.random() < 0.1 and bool(absent)
        hung = absent[: rng.randint(1, len(absent))] if tail else []
        absent = absent[len(hung) :]
        sentence(draft, _hang(opening, hung))
    else:
        sentence(draft, grammar()["frame.no_symptom_open"])
    later = present[len(lead) :]
    pieces = [
        Piece(1 + 1.2 * draft.random(), _with_names(draft, "frame.later", [mention], in_phrase), "present")
        for mention in later
    ]
    start = {mention.symptom: 0.0 for mention in lead}
    start |= {mention.symptom: piece.place for mention, piece in zip(later, pieces, strict=True)}
    pieces += _elaborations(draft, present, in_phrase, start)
    focus = asked_about(draft, present, start)
    pieces += focus
    pieces += denials(draft, absent, complaint=bool(present))
    pieces += _conditions(draft, conditions)
    count = rng.choices((1, 2, 3, 4, 5), writer_rates().style["context_sentences"])[0] - len(focus) - (len(pieces) > 6)
    pieces += context_pieces(draft, count, past=not conditions, complaint=bool(present))
    write_pieces(draft, pieces, opens)


def write_pieces(draft: Draft, pieces: list[Piece], start: int, style: str = "joined_history") -> None:
    """Write planned sentences in order, joining some pairs. ``start``: offset of the history, with its opening."""
    joined = writer_rates().style[style]
    waiting, fronted = sorted(pieces, key=lambda piece: piece.place), False
    while waiting:
        piece = waiting.pop(0)
        node, draw = piece.node, draft.random()
        joins = bool(waiting) and draw < joined and waiting[0].says == piece.says
        if joins and not waiting[0].optional | piece.optional:
            sentence(draft, node, end="")
            join(draft, waiting.pop(0).node)
            draft.trim()
            draft.emit(".")
            continue
        after_opening = len(waiting) == len(pieces) - 1
        if not fronted and not after_opening and draw > 1 - writer_rates().style["adverbial_history"]:
            node, fronted = wrapped(node, "wrap.front", unless=_ADDED), True
        if not piece.optional:
            sentence(draft, node)
        elif joins and waiting[0].optional:
            if written_as_pair(draft, start, "history", (node, waiting[0].node)) == 2:
                waiting.pop(0)
        else:
            written_once(draft, start, "history", lambda node=node: sentence(draft, node))  # type: ignore[misc]


def phrase(mention: Mention, with_descriptor: bool) -> Node:
    """Return the noun phrase for a present symptom."""
    rules = grammar()
    if levels(mention.symptom):
        return rules[rule_of(f"{mention.symptom}.np", mention.symptom, mention.value)]
    if with_descriptor and mention.descriptor:
        quoted = [rules[f"{mention.symptom}.plain"], written(f" described as {mention.descriptor}")]
        return rules.get(f"{mention.symptom}.np.{mention.descriptor}") or in_a_row(quoted, "")
    return rules[f"{mention.symptom}.plain"]


def _with_names(draft: Draft, rule: str, mentions: list[Mention], in_phrase: dict[str, bool]) -> Node:
    """Return a frame filled with the names of present symptoms."""
    inner, symptom = grammar()[rule], mentions[0].symptom
    if len(mentions) == 1 and draft.random() < writer_rates().spans["tail"][symptom]:
        tail = grammar()[rule_of(f"{symptom}.tail", symptom, mentions[0].value)]
        inner = with_tail(inner, tail, mentions[0].descriptor)
    inner = stretched(inner, writer_rates().spans["present_sentence"][symptom])

    def write(draft: Draft) -> None:
        names = present_list([(m.symptom, phrase(m, in_phrase[m.symptom])) for m in mentions])
        draft.variables |= {"nps": names, "Nps": capitalised(names)}
        inner(draft)

    return write


def _hang(opening: Node, hung: list[str]) -> Node:
    if not hung:
        return opening
    tail = grammar()["frame.open_tail"]

    def write(draft: Draft) -> None:
        opening(draft)
        draft.trim()
        draft.variables["list"] = absent_list(hung, absent_names(draft, hung))
        tail(draft)

    return write


def _elaborations(
    draft: Draft, present: list[Mention], in_phrase: dict[str, bool], start: dict[str, float]
) -> list[Piece]:
    rules, pieces = grammar(), []
    for mention in present:
        symptom, place = mention.symptom, max(start[mention.symptom], 1.0)
        if mention.descriptor and not in_phrase[symptom]:
            said = written(f"The {plan().spoken.get(symptom, symptom)} is described as {mention.descriptor}")
            node = rules.get(f"{symptom}.more_of.{mention.descriptor}") or marked(symptom, True, said)
            pieces.append(Piece(place + 0.5 * draft.random(), node, symptom))
        for _ in range(draft.count(writer_rates().more[symptom])):
            more = rules[rule_of(f"{symptom}.more", symptom, mention.value)]
            pieces.append(Piece(place + 0.3 + 1.5 * draft.random(), more, symptom, optional=True))
    return pieces


def _conditions(draft: Draft, conditions: tuple[str, ...]) -> list[Piece]:
    rules = grammar()
    stated = [name for name in conditions if draft.random() < 0.88]
    draft.rng.shuffle(stated)
    if not stated:
        return []
    place = 1.2 + 2.4 * draft.random()
    if (len(stated) > 1 and draft.random() < 0.6) or draft.random() < 0.35:
        return [Piece(place, condition_sentence(stated), "condition")]
    pieces = []
    for n, name in enumerate(stated):
        node = rules.get(f"condition.alone.{name}") or condition_sentence([name])
        pieces.append(Piece(place + 0.1 * n, node, name))
    return pieces


def condition_sentence(names: list[str]) -> Node:
    """Return a sentence that names conditions in the patient's history."""
    rules = grammar()
    named = [rules.get(f"condition.names.{name}") or written(name) for name in names]

    def write(draft: Draft) -> None:
        draft.variables["conditions"] = in_a_row(named, " and ")
        rules["condition.joint"](draft)

    return write
