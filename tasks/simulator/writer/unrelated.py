"""Visits for complaints outside the domain, each with its history and findings."""

import re
from dataclasses import dataclass
from itertools import accumulate

from tasks.domains.in_use import domain_cache
from tasks.simulator.resources import load
from tasks.simulator.writer.exam import listed_vitals
from tasks.simulator.writer.grammar import Draft, Finding, Node, Piece
from tasks.simulator.writer.history import UNMEDICATED, condition_sentence, denial, write_pieces
from tasks.simulator.writer.rules import grammar, plan, writer_rates
from tasks.simulator.writer.sentences import sentence

_SETTINGS = load("writer", "settings")
_SYSTEMS = {"lungs": "clear", "heart": "heart", "abdomen": "abdomen", "neuro": "neuro"}
_NO_HISTORY = re.compile(
    f"medical history|chronic condition|otherwise|good health|{UNMEDICATED.pattern}", re.IGNORECASE
)


@dataclass(frozen=True)
class Complaint:
    """A kind of complaint: its rules are ``complaint.<name>.*``, shared rules ``family.<family>.*``."""

    name: str
    family: str
    occasion: bool  # a planned visit, not a lasting complaint
    lasts: str | None  # its kind of duration, if not any
    accident: bool = False  # an event on one day


@domain_cache(maxsize=1)
def complaints() -> tuple[tuple[Complaint, ...], tuple[float, ...]]:
    """Return all kinds of complaint and their cumulative weights."""
    data = load("writer", "complaints")["complaint"]
    kept = {name: block for name, block in data.items() if block["family"] not in plan().families_left_out}
    kinds = tuple(
        Complaint(name, block["family"], "occasion" in block, block.get("lasts"), "accident" in block)
        for name, block in kept.items()
    )
    return kinds, tuple(accumulate(float(block["weight"]) for block in kept.values()))


def draw_complaints(draft: Draft, count: int) -> list[Complaint]:
    """Draw ``count`` different complaints."""
    kinds, weights = complaints()
    drawn: list[Complaint] = []
    while len(drawn) < count:
        kind = draft.rng.choices(kinds, cum_weights=weights)[0]
        if kind not in drawn:
            drawn.append(kind)
    return drawn


def write_history(draft: Draft, complaint: Complaint, conditions: tuple[str, ...], *, silent: bool) -> None:
    """Write the history of the complaint, including absent symptoms of the domain unless it is ``silent`` on them."""
    rules, rng = grammar(), draft.rng
    draft.variables["np"] = rules[f"complaint.{complaint.name}.np"]
    draft.variables["diagnosis"] = rules[f"family.{complaint.family}.diagnosis"]
    start = draft.length
    kind = "_occasion" if complaint.occasion else "_accident" if complaint.accident else ""
    sentence(draft, rules[f"visit.open{kind}"])
    # 1. of the complaint itself; 2. what its family shares, and the circumstances, unless they repeat the former
    own = _some(draft, f"complaint.{complaint.name}.detail", (2, 2, 3, 3))
    pieces = [Piece(1 + rng.random(), node, "complaint") for node in own]
    pieces += _denied(draft, complaint)
    shared = _some(draft, f"family.{complaint.family}.detail", (2, 2, 3, 4))
    if rng.random() < 0.5 and complaint.family != "general":
        shared += _some(draft, "family.general.detail", (1,))
    shared = [node for node in shared if not conditions or not _NO_HISTORY.search(draft.rendered(node))]
    pieces += [Piece(2.2 + 1.2 * rng.random(), node, "circumstance", optional=True) for node in shared]
    stated = [name for name in conditions if rng.random() < 0.8]
    for name in stated:
        alone = rules.get(f"condition.alone.{name}")
        node = alone if alone and rng.random() < 0.6 else condition_sentence([name])
        pieces.append(Piece(1.6 + 1.4 * rng.random(), node, name))
    pieces += [] if silent else _absent_symptoms(draft, suffers=not complaint.occasion)
    write_pieces(draft, pieces, start, "joined_unrelated")


def _some(draft: Draft, rule: str, counts: tuple[int, ...]) -> list[Node]:
    nodes = grammar().lists[rule]
    return draft.rng.sample(nodes, min(draft.rng.choice(counts), len(nodes)))


def _denied(draft: Draft, complaint: Complaint) -> list[Piece]:
    """Other absent symptoms: of the complaint, or of its family unless the history has spoken of them."""
    own, shared = f"complaint.{complaint.name}.denied", f"family.{complaint.family}.denied"
    draw = draft.random()
    pieces = [Piece(1.4 + draft.random(), node, "denied") for node in (_some(draft, own, (1,)) if draw < 0.55 else [])]
    if shared in grammar() and draft.random() < 0.45:
        pieces += [Piece(2.4 + draft.random(), grammar()[shared], "denied", optional=True)]
    return pieces


def _absent_symptoms(draft: Draft, *, suffers: bool) -> list[Piece]:
    """Absent symptoms of the domain: as one list, or one or two of them, or none. ``suffers``: of a complaint."""
    rng, rates = draft.rng, writer_rates().unrelated
    if rng.random() < rates["list"]:
        group = [name for name, chance in rates["in_list"].items() if rng.random() < chance]
        if rng.random() < 0.5:
            rng.shuffle(group)
    else:
        group = [name for name, chance in rates["some"].items() if rng.random() < chance]
        rng.shuffle(group)
        if len(group) == 1 and rng.random() < 0.3:
            return [Piece(2 + rng.random(), grammar()[f"{group[0]}.denied"], "absent")]
    return [Piece(1.8 + 1.4 * rng.random(), denial(group, complaint=suffers), "absent")] if group else []


def findings(draft: Draft, complaint: Complaint) -> list[Finding]:
    """Return the findings for the complaint, with vital signs and a few other systems."""
    rules, rng = grammar(), draft.rng
    found: list[Finding] = []
    if rng.random() < 0.2:
        found.append(Finding(1, rules["exam.general"], "general", rules["exam.general_colon"]))
    draw = rng.random()
    if draw < 0.36:
        found.append(Finding(2, rules["exam.vitals_normal"]))
    elif draw < 0.72:
        parts = [rules[f"exam.{name}"] for name in ("bp", "hr", "rr", "temp") if rng.random() < 0.82]
        if parts:
            if rng.random() < 0.3:
                rng.shuffle(parts)
            found.append(listed_vitals(draft, parts))
    own = _some(draft, f"complaint.{complaint.name}.exam", (2, 2, 3, 3))
    family = f"family.{complaint.family}.exam"
    shared = _some(draft, family, (1, 2, 2, 3)) if family in rules else []
    found += [Finding(3 + rng.random(), node) for node in own]
    found += [Finding(3.3 + 1.5 * rng.random(), node) for node in shared]
    chances = _SETTINGS["systems"][complaint.family]
    own_parts = {*_SETTINGS["examined"].get(complaint.family, ()), *_SETTINGS["examined_of"].get(complaint.name, ())}
    for order, checks in ((5, zip(_SYSTEMS, chances, strict=True)), (6, _SETTINGS["elsewhere"].items())):
        for label, chance in checks:
            if rng.random() < chance and label not in own_parts:
                name = _SYSTEMS.get(label, label)
                found.append(Finding(order + rng.random(), rules[f"exam.{name}"], label, rules[f"exam.{name}_colon"]))
    if rng.random() < 0.18:
        found.append(Finding(9, rules["exam.closing"]))
    return found
