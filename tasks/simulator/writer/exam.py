"""Write the physical examination, consistent with the history."""

import re

from tasks.simulator.writer.draft import Draft, Finding, Node
from tasks.simulator.writer.rates import writer_rates
from tasks.simulator.writer.repetition import EXAMINATION, written_as_pair, written_once
from tasks.simulator.writer.rules import grammar
from tasks.simulator.writer.sentences import capitalised, sentence, wrapped

_EXAMINES = re.compile(r"examin|inspect|auscult|palpat|percuss|otoscop", re.IGNORECASE)
_VITALS = ("bp", "hr", "rr", "temp", "spo2")


def write_exam(draft: Draft, findings: list[Finding]) -> None:
    """Write the findings as prose, labelled lines or bullets, in one style per note."""
    findings = sorted(findings, key=lambda finding: finding.order)
    style = draft.rng.choices(("prose", "labels", "lines", "bullets"), (77, 9, 7, 7))[0]
    labelled_share = {"prose": 0.03, "labels": 0.85, "lines": 1.0, "bullets": 0.92}[style]
    lead = {"prose": "", "labels": "", "lines": "\n", "bullets": "\n"}[style]
    start = draft.length
    waiting, fronted = list(findings), False
    while waiting:
        finding = waiting.pop(0)
        before = (lead if draft.length > start else "") + ("- " if style == "bullets" else "")

        def write(node: Node, before: str = before) -> bool:
            return written_once(draft, start, EXAMINATION, lambda: sentence(draft, node, lead=before))

        if finding.short is not None and finding.label and draft.random() < labelled_share:
            write(_labelled(finding.label, finding.short, capital=draft.random() < 0.6))
            continue
        follows = bool(waiting) and style in ("prose", "labels") and finding.joins and waiting[0].joins
        if follows and draft.random() < writer_rates().style["joined_exam"]:
            pair = (finding.prose, waiting[0].prose)
            if written_as_pair(draft, start, EXAMINATION, pair, lead=before) == 2:
                waiting.pop(0)
            continue
        if finding.joins and not fronted and draft.random() < writer_rates().style["adverbial_exam"]:
            finding.prose, fronted = _examined(finding.prose), True
        write(finding.prose)


def _examined(node: Node) -> Node:
    """Return ``node`` with an adverbial such as "on examination", unless it names a method of examination itself."""

    return wrapped(node, "wrap.exam_front", "wrap.exam_back", unless=_EXAMINES)


def _labelled(label: str, short: Node, *, capital: bool) -> Node:
    name = grammar()[f"exam.label.{label}"]

    shown = capitalised(short) if capital else short

    def write(draft: Draft) -> None:
        name(draft)
        draft.emit(": ")
        shown(draft)

    return write
