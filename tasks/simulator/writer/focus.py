"""Follow-up questions and examinations for a complaint; none mentions a symptom of the domain (``focus.yaml``)."""

from collections.abc import Mapping

from tasks.simulator.writer.draft import Draft, Finding, Piece
from tasks.simulator.writer.instructions import Mention
from tasks.simulator.writer.plan import plan, rule_of
from tasks.simulator.writer.rates import writer_rates
from tasks.simulator.writer.rules import grammar


def asked_about(draft: Draft, present: list[Mention], start: dict[str, float]) -> list[Piece]:
    """Return follow-up statements for each present symptom: relief, provocation, accompanying complaints."""
    pieces = []
    for mention in present:
        rule = rule_of(f"focus.history.{mention.symptom}", mention.symptom, mention.value)
        for _ in range(draft.count(writer_rates().focus["history"][mention.symptom])):
            place = max(start[mention.symptom], 1.0) + 0.2 + 1.0 * draft.random()
            pieces.append(Piece(place, grammar()[rule], "present", optional=True))
    return pieces


def looked_for(draft: Draft, said: Mapping[str, Mention], *, normal: bool) -> list[Finding]:
    """Return further examinations for each complaint; ``normal``: whether the main examination is."""
    rates, found = writer_rates().focus, []
    focus = plan().examination.focus
    for symptom, order in focus.order.items():
        mention = said.get(symptom)
        if mention is None or not mention.present:
            continue
        rule = rule_of(f"focus.exam.{symptom}", symptom, mention.value)
        if symptom in focus.by_region:
            rule += focus.by_region[symptom][0 if normal else 1]
        for n in range(draft.count(rates["exam"][symptom])):
            found.append(Finding(order + 0.1 * n, grammar()[rule]))
    if draft.random() < rates["exam_none"]:
        found.append(Finding(5 + 3 * draft.random(), grammar()["focus.exam.none"]))
    return found
