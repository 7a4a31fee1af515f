"""Requests the phrases of normal notes that mention symptoms (SimSUM, Section 2.3 and Appendix D)."""

from collections.abc import Mapping
from functools import lru_cache

from pydantic import BaseModel, ConfigDict, Field, create_model

from tasks.domains.rules import load_rules
from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.llm.unscored import unscored_row
from tasks.spans.phrases import Failures, Phrase

_TEXT = Field(description="phrase of the note, word for word")


class ExtractedSpan(BaseModel):
    """One phrase and the symptom that it mentions."""

    model_config = ConfigDict(extra="forbid")

    symptom: str
    text: str = _TEXT


class ExtractReply(Reply):
    """All phrases of a note that mention a symptom, present or absent."""

    spans: list[ExtractedSpan]


@lru_cache
def reply_for(names: tuple[str, ...]) -> type[ExtractReply]:
    """The reply whose schema names the symptoms. Another name in a reply loses that phrase, not the whole reply."""
    symptom = Field(json_schema_extra={"enum": list(names)})
    span = create_model(
        "ExtractedSpan",
        __base__=ExtractedSpan,
        __doc__=ExtractedSpan.__doc__,
        symptom=(str, symptom),
        text=(str, _TEXT),
    )
    return create_model("ExtractReply", __base__=ExtractReply, __doc__=ExtractReply.__doc__, spans=(list[span], ...))  # type: ignore[valid-type]


async def extract_phrases(
    notes: Mapping[int, str],
    values: Mapping[int, Mapping[str, str]],
    labels: Mapping[str, str],
    definitions: Mapping[str, str],
    ask: Ask,
) -> tuple[list[Phrase], Failures]:
    """Phrases of all notes, and unscored rows.

    ``values``: each symptom's value by record. ``labels``: its name in prompts. ``definitions``: what a name covers.
    Empty phrases are dropped. A phrase for an unknown symptom becomes an unscored row.
    """
    records = sorted(notes)
    calls = []
    for record in records:
        facts = [f"{name}: {values[record][symptom]}" for symptom, name in labels.items()]
        messages = render(
            "tasks.spans",
            "extract",
            definitions=definitions,
            facts=facts,
            note=notes[record],
            phrases=load_rules().phrases,
        )
        calls.append(Call(f"{record}/extract", messages, reply=reply_for(tuple(definitions))))
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
