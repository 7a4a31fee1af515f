"""Requests the phrases of normal notes that mention symptoms (SimSUM, Section 2.3 and Appendix D)."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field

from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.llm.unscored import unscored_row
from tasks.spans.phrases import Failures, Phrase


class ExtractedSpan(BaseModel):
    """One phrase and the symptom that it tells of."""

    model_config = ConfigDict(extra="forbid")

    symptom: str
    text: str = Field(description="phrase of the note, word for word")


class ExtractReply(Reply):
    """All phrases of a note that tell of a symptom, present or absent."""

    spans: list[ExtractedSpan]


async def extract_phrases(
    notes: Mapping[int, str], values: Mapping[int, Mapping[str, str]], labels: Mapping[str, str], ask: Ask
) -> tuple[list[Phrase], Failures]:
    """Phrases of all notes, and unscored rows. ``values`` and ``labels``: each symptom's value by record, and its name.

    Empty phrases are dropped. A phrase for an unknown symptom becomes an unscored row.
    """
    records = sorted(notes)
    calls = []
    for record in records:
        facts = [f"{name}: {values[record][symptom]}" for symptom, name in labels.items()]
        messages = render("tasks.spans", "extract", names=list(labels.values()), facts=facts, note=notes[record])
        calls.append(Call(f"{record}/extract", messages, reply=ExtractReply))
    symptoms = {name.casefold(): symptom for symptom, name in labels.items()} | {s.casefold(): s for s in labels}
    phrases: list[Phrase] = []
    failures: Failures = []
    for record, answer in zip(records, await ask(calls), strict=True):
        if not isinstance(answer.value, ExtractReply):
            failures.append(unscored_row(record, "extract", answer.failure or "no spans", answer.raw))
            continue
        for span in answer.value.spans:
            symptom = symptoms.get(span.symptom.strip().casefold())
            if symptom is None:
                failures.append(unscored_row(record, "extract", "unknown symptom", f"{span.symptom}: {span.text}"))
            elif span.text.strip():
                phrases.append(Phrase(record, symptom, span.text))
    return phrases, failures
