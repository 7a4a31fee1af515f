"""Follow-up questions and examinations for a complaint; none mentions the five symptoms (``data/focus.yaml``)."""

from tasks.simulator.writer.draft import Draft, Finding, Piece
from tasks.simulator.writer.grammar import grammar
from tasks.simulator.writer.instructions import Mention
from tasks.simulator.writer.rates import RATES

_FOCUS_ORDER = {"dyspnea": 5.6, "cough": 4.8, "pain": 7.1, "nasal": 3.7, "fever": 2.6}


def asked_about(draft: Draft, present: list[Mention], start: dict[str, float]) -> list[Piece]:
    """Return follow-up statements for each present symptom: relief, provocation, accompanying complaints."""
    pieces = []
    for mention in present:
        rule = f"focus.history.{mention.symptom}" + (f".{mention.value}" if mention.symptom == "fever" else "")
        for _ in range(draft.count(RATES.focus["history"][mention.symptom])):
            place = max(start[mention.symptom], 1.0) + 0.2 + 1.0 * draft.random()
            pieces.append(Piece(place, grammar()[rule], "present", optional=True))
    return pieces


def looked_for(draft: Draft, said: dict[str, Mention], *, clear: bool) -> list[Finding]:
    """Return further examinations for each complaint; ``clear``: whether the lungs are clear."""
    rates, found = RATES.focus, []
    for symptom, order in _FOCUS_ORDER.items():
        mention = said.get(symptom)
        if mention is None or not mention.present:
            continue
        rule = f"focus.exam.{symptom}"
        if symptom == "fever":
            rule += f".{mention.value}"
        elif symptom == "cough":
            rule += "_clear" if clear else "_coarse"
        for n in range(draft.count(rates["exam"][symptom])):
            found.append(Finding(order + 0.1 * n, grammar()[rule]))
    if draft.random() < rates["exam_none"]:
        found.append(Finding(5 + 3 * draft.random(), grammar()["focus.exam.none"]))
    return found
