"""Asks for the phrases of a normal note that tell of symptoms (SimSUM, Section 2.3 and Appendix D)."""

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
    """Phrases of each note by record. ``values`` are the record's symptom values, ``labels`` the symptoms' names.

    Empty phrases are dropped; one for an unknown symptom becomes an unscored row.
    """
    records = sorted(notes)
    calls = [
        Call(
            f"{record}/extract",
            render(
                "tasks.spans",
                "extract",
                names=list(labels.values()),
                facts=[f"{name}: {values[record][symptom]}" for symptom, name in labels.items()],
                note=notes[record],
            ),
            reply=ExtractReply,
        )
        for record in records
    ]
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
