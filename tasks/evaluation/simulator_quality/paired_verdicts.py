"""The rules' answers to the requests that another model answered, one row for each thing that both judged."""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import pandas as pd

from tasks.domains.rules import load_rules
from tasks.evaluation.annotator.quality import THRESHOLDS, Counts, span_counts
from tasks.evaluation.annotator.real_notes import SymptomSpan
from tasks.simulator.dispatch import complete
from tasks.simulator.judge.prompts import facts, numbered
from tasks.simulator.request import ChatRequest

COLUMNS = ("measure", "key", "model", "rules")
"""``key`` identifies the judged text; ``model`` and ``rules`` are the verdicts, True or False."""
SPANS = "extract symptom spans"
Verdicts = dict[str, bool]
Reader = Callable[[ChatRequest, str], Verdicts]


def paired_verdicts(replies: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A row with COLUMNS for each verdict of the model, with the rules' verdict on the same request.

    ``replies`` are lines of `vignette store export`. Replies to tasks that judge nothing are left out, and replies that
    the pipeline could not use, since they have no verdict. Rows are sorted; repeated ones, such as several takes of an
    answer's verdict, are kept.
    """
    rows = []
    for line in replies:
        measure, read = _READERS.get(line["task"], (None, None))
        text = line["reply"]["choices"][0]["message"]["content"]
        if read is None or not text:
            continue
        request = ChatRequest.from_body(line["request"])
        try:
            model = read(request, text)
        except (ValueError, KeyError, TypeError):  # the pipeline asked again; that reply is a line of its own
            continue
        rules = read(request, complete(request))
        rows += [(measure, key, verdict, rules[key]) for key, verdict in model.items() if key in rules]
    return pd.DataFrame(rows, columns=list(COLUMNS)).sort_values(list(COLUMNS), ignore_index=True)


def _flagged(tag: str, field: str, request: ChatRequest, reply: str) -> Verdicts:
    """Whether a check finds a departure in the text of ``tag``; ``field`` is true if there is none."""
    return {request.tag(tag): not json.loads(reply)[field]}


def _mentioned(request: ChatRequest, reply: str) -> Verdicts:
    """Whether a note mentions each symptom of the domain in use."""
    named, rules = {span["symptom"] for span in json.loads(reply)["spans"]}, load_rules()
    return {f"{name}\n{request.tag('note')}": name in named for name in map(rules.labels.get, rules.symptoms)}


def _entailed(request: ChatRequest, reply: str) -> Verdicts:
    claims = dict(numbered(request.tag("claims")))
    verdicts = json.loads(reply)["verdicts"]
    return {f"{claims[one['claim']]}\n{request.tag('text')}": bool(one["entailed"]) for one in verdicts}


def _omitted(request: ChatRequest, reply: str) -> Verdicts:
    found = {one["fact"] for one in json.loads(reply)["omitted"]}
    return {fact: name in found for name, fact in facts(request).items()}


def _right(request: ChatRequest, reply: str) -> Verdicts:
    answer = reply.strip().lower()
    if not answer.startswith(("yes", "no")):
        raise ValueError(reply)
    return {f"{request.tag('question')}\n{request.tag('output')}": answer.startswith("yes")}


def span_agreement(replies: Iterable[Mapping[str, Any]]) -> list[Counts]:
    """Spans that the model and the rules mark alike in each note: same symptom, intersection over union at least 0.5.

    Notes are in alphabetic order, whatever that of the replies. A phrase is taken where it first occurs in the note;
    one that the note does not contain is no span.
    """
    asked = [(ChatRequest.from_body(line["request"]), line["reply"]) for line in replies if line["task"] == SPANS]
    counts = []
    for request, reply in sorted(asked, key=lambda pair: pair[0].tag("note")):
        note, text = request.tag("note"), reply["choices"][0]["message"]["content"]
        counts.append(span_counts(_spans(note, complete(request)), _spans(note, text), THRESHOLDS[0]))
    return counts


def _spans(note: str, reply: str) -> list[SymptomSpan]:
    found = ((one["symptom"], note.find(one["text"]), len(one["text"])) for one in json.loads(reply)["spans"])
    return [SymptomSpan(symptom, start, start + length) for symptom, start, length in found if start >= 0]


_READERS: dict[str, tuple[str, Reader]] = {
    "check a clinical note for consistency": ("consistency", partial(_flagged, "note", "consistent")),
    "compare a compact note with the note": ("compact version", partial(_flagged, "compact", "same")),
    SPANS: ("symptom in note", _mentioned),
    "judge claims in json with reasons": ("claims", _entailed),
    "judge claims in json": ("claims", _entailed),
    "find omitted facts": ("omissions", _omitted),
    "judge an answer": ("answers", _right),
}
