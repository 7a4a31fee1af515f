"""Annotates both versions of notes with symptom spans (SimSUM, Section 2.3 and Appendix D).

A model gives the phrases of the normal note that mention a symptom. They are located in the note; the model corrects
those that are not found. It then maps each phrase to the phrase of the compact note that means the same, in a
conversation whose second request asks for a confirmation: this can remove a match but not change it. The mapped phrases
are located in the compact note.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, create_model

from schemas.tables.columns import typed
from schemas.tables.records import SPANS
from tasks.domains.rules import PromptingRules
from tasks.llm.ask_all import Unscored, ask_all
from tasks.llm.calls import Ask, Call, Message, Reply, unscored_row, unscored_table
from tasks.llm.printed import in_users_form
from tasks.llm.prompts import render
from tasks.spans.matching import match_phrases
from tasks.text.sections import section_at


@dataclass(frozen=True)
class Phrase:
    """A phrase that a model gave for a symptom (column name) of a record's note, not yet located."""

    record: int
    symptom: str
    text: str


@dataclass(frozen=True)
class Located:
    """``note[start:end]`` mentions ``symptom``; ``matched`` is one of `schemas.tables.records.MATCH_KINDS`."""

    record: int
    symptom: str
    start: int
    end: int
    matched: str


async def annotate_spans(
    records: pd.DataFrame,
    notes: pd.DataFrame,
    compact_notes: pd.DataFrame,
    rules: PromptingRules,
    ask: Ask,
    *,
    max_corrections: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Spans of ``notes`` and ``compact_notes``: (SPANS, UNSCORED).

    ``records`` has a column of values for each symptom. A record without a compact note gets spans of its normal note
    only.
    """
    normal = dict(zip(notes["record"].tolist(), notes["note"], strict=True))
    compact = dict(zip(compact_notes["record"].tolist(), compact_notes["compact"], strict=True))
    listed = records.set_index("record").loc[list(normal), list(rules.symptoms)]
    values: dict[int, dict[str, str]] = {int(str(r)): row for r, row in listed.to_dict("index").items()}
    phrases, failures = await extract_phrases(normal, values, rules, ask)
    found, more = await locate_phrases(normal, phrases, ask, step="normal", max_corrections=max_corrections)
    failures += more
    asked = [Phrase(one.record, one.symptom, normal[one.record][one.start : one.end]) for one in found]
    asked = [phrase for phrase in asked if phrase.record in compact]
    mapped, more = await map_phrases(normal, compact, asked, ask)
    failures += more
    placed, more = await locate_phrases(compact, mapped, ask, step="compact", max_corrections=max_corrections)
    rows = []
    for version, texts, located in (("normal", normal, found), ("compact", compact, placed)):
        for one in located:
            text, section = texts[one.record][one.start : one.end], section_at(texts[one.record], one.start)
            rows.append({**asdict(one), "version": version, "text": text, "section": section})
    return spans_table(rows), unscored_table([*failures, *more])


def spans_table(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Rows as a sorted SPANS table, with the right types also if there are no rows."""
    return typed(rows, SPANS).sort_values(["record", "version", "start", "end", "symptom"], ignore_index=True)


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
    rules: PromptingRules,
    ask: Ask,
) -> tuple[list[Phrase], Unscored]:
    """Phrases of all notes, and unscored rows.

    ``values``: each symptom's value by record. Empty phrases are dropped. A phrase for an unknown symptom becomes an
    unscored row.
    """
    labels = rules.symptom_labels
    names = tuple(labels.values())
    reply = reply_for(names)
    calls = {}
    for record in sorted(notes):
        facts = [f"{name}: {values[record][symptom]}" for symptom, name in labels.items()]
        messages = render("tasks.spans", "extract", symptoms=names, facts=facts, note=notes[record])
        calls[record] = in_users_form(Call(f"{record}/extract", messages, reply=reply), "tasks.spans", "extract")
    symptoms = {name.casefold(): symptom for symptom, name in labels.items()} | {s.casefold(): s for s in labels}
    phrases: list[Phrase] = []
    replies, failures = await ask_all(ask, calls, ExtractReply, "extract")
    for record, extracted in replies.items():
        for span in extracted.spans:
            symptom = symptoms.get(span.symptom.strip().casefold())
            if symptom is None:
                failures.append(unscored_row(record, "extract", "unknown symptom", f"{span.symptom}: {span.text}"))
            elif span.text.strip():
                phrases.append(Phrase(record, symptom, span.text))
    return phrases, failures


class Correction(BaseModel):
    """A given phrase, and the corresponding phrase of the note."""

    model_config = ConfigDict(extra="forbid")

    phrase: str
    correction: str = Field(description="exact phrase of the note; empty when there is none")


def _entries(printed: Any, field: str, key: str, value: str) -> dict[str, Any] | None:
    """A printed dictionary of texts as the list ``field`` of our form; None for JSON of another form.

    A text of quotes alone, as the paper prints the empty string, is empty, as is null.
    """
    if not isinstance(printed, dict) or not all(text is None or isinstance(text, str) for text in printed.values()):
        return None
    said = {phrase: text if text and text.strip("‘’'\"“” ") else "" for phrase, text in printed.items()}
    return {field: [{key: phrase, value: text} for phrase, text in said.items()]}


class CorrectReply(Reply):
    """Phrases that were not word for word, each with the note's own words."""

    corrections: list[Correction]

    @classmethod
    def from_printed(cls, printed: Any, context: Mapping[str, Any]) -> dict[str, Any] | None:
        """Appendix D: ``{original phrase: corrected phrase}``."""
        return _entries(printed, "corrections", "phrase", "correction")


async def locate_phrases(
    notes: Mapping[int, str], phrases: Sequence[Phrase], ask: Ask, *, step: str, max_corrections: int
) -> tuple[list[Located], Unscored]:
    """Match ``phrases`` to their notes, with up to ``max_corrections`` rounds of correction.

    Phrases that are still not found, or ambiguous, become unscored rows. Phrases of the same symptom at the same place
    are merged.
    """
    by_record = _by_record(phrases)
    pairs = {record: [(phrase.symptom, phrase.text) for phrase in own] for record, own in by_record.items()}
    matches = {record: match_phrases(notes[record], own) for record, own in pairs.items()}
    corrected: set[tuple[int, int]] = set()
    reasons: dict[int, str] = {}
    for round_number in range(max_corrections):
        missing: dict[int, list[int]] = {}
        for record, found in matches.items():
            if rows := [row for row, match in enumerate(found) if match is None and pairs[record][row][1].strip()]:
                missing[record] = rows
        wanted = {record: [pairs[record][row][1] for row in rows] for record, rows in missing.items()}
        answered, reasons = await _correct(notes, wanted, ask, f"{step}/correct/{round_number}")
        for record, replaced in answered.items():
            for row in missing[record]:
                symptom, text = pairs[record][row]
                pairs[record][row] = symptom, replaced.get(text, text)
                corrected.add((record, row))
            matches[record] = match_phrases(notes[record], pairs[record], sure=True)
    located: set[Located] = set()
    failures: Unscored = []
    for record, found in matches.items():
        for row, match in enumerate(found):
            phrase = by_record[record][row]
            if match is None:
                reason = reasons.get(record, "phrase stands nowhere in the note, or in several places")
                failures.append(unscored_row(record, step, reason, f"{phrase.symptom}: {phrase.text}"))
                continue
            kind = "corrected" if (record, row) in corrected else match.kind
            located.add(Located(record, phrase.symptom, match.start, match.end, kind))
    order = ("exact", "normalised", "elided", "corrected")  # of one place, the most direct kind of match is kept
    kept: dict[tuple[int, str, int, int], Located] = {}
    for one in sorted(located, key=lambda o: order.index(o.matched)):
        kept.setdefault((one.record, one.symptom, one.start, one.end), one)
    return sorted(kept.values(), key=lambda o: (o.record, o.start, o.end, o.symptom)), failures


def _by_record(phrases: Sequence[Phrase]) -> dict[int, list[Phrase]]:
    found: dict[int, list[Phrase]] = defaultdict(list)
    for phrase in phrases:
        found[phrase.record].append(phrase)
    return found


async def _correct(
    notes: Mapping[int, str], wanted: Mapping[int, Sequence[str]], ask: Ask, step: str
) -> tuple[dict[int, dict[str, str]], dict[int, str]]:
    """Corrections (record -> phrase -> correction), and failures (record -> reason)."""
    calls = {}
    for record in sorted(wanted):
        prompt = render("tasks.spans", "correct", note=notes[record], phrases=list(dict.fromkeys(wanted[record])))
        calls[record] = in_users_form(Call(f"{record}/{step}", prompt, reply=CorrectReply), "tasks.spans", "correct")
    replies, failed = await ask_all(ask, calls, CorrectReply, step)
    corrections: dict[int, dict[str, str]] = {}
    for record, reply in replies.items():
        given = {c.phrase: c.correction for c in reply.corrections}
        loose = {" ".join(phrase.split()): correction for phrase, correction in given.items()}
        corrections[record] = {p: given.get(p, loose.get(" ".join(p.split()), "")) for p in wanted[record]}
    return corrections, {int(row["record"] or 0): f"correction failed: {row['reason']}" for row in failed}


class Pair(BaseModel):
    """A phrase of the full note, and the one of the compact note that says the same."""

    model_config = ConfigDict(extra="forbid")

    phrase: str
    match: str = Field(description="phrase of the compact note; empty when there is none")


class MapReply(Reply):
    """A pair for every phrase that was asked about."""

    pairs: list[Pair]

    @classmethod
    def from_printed(cls, printed: Any, context: Mapping[str, Any]) -> dict[str, Any] | None:
        """Appendix D: ``{phrase of the full note: phrase of the compact note}``."""
        return _entries(printed, "pairs", "phrase", "match")


async def map_phrases(
    notes: Mapping[int, str], compact: Mapping[int, str], phrases: Sequence[Phrase], ask: Ask
) -> tuple[list[Phrase], Unscored]:
    """Phrases of the compact notes for ``phrases`` of the normal notes, and unscored rows.

    A phrase without a counterpart yields none. After a failed call its record has no compact phrases; the call, and
    each phrase that is missing in a reply, become unscored rows.
    """
    by_record = _by_record(phrases)
    asked = {}
    for record, own in sorted(by_record.items()):
        texts = list(dict.fromkeys(phrase.text for phrase in own))
        asked[record] = render("tasks.spans", "map", note=notes[record], compact=compact[record], phrases=texts)
    first, failures = await _ask(asked, "map", ask)
    again = {
        record: (*asked[record], Message("assistant", text), *render("tasks.spans", "same_meaning"))
        for record, (_, text) in first.items()
    }
    second, more = await _ask(again, "same_meaning", ask)
    failures += more
    mapped: list[Phrase] = []
    for record, (confirmed, _) in second.items():
        pairs, still = _by_phrase(first[record][0]), _by_phrase(confirmed)
        for phrase in by_record[record]:
            key = _key(phrase.text)
            if key not in pairs or key not in still:
                step = "map" if key not in pairs else "same_meaning"
                failures.append(unscored_row(record, step, "the reply passes the phrase over", phrase.text))
            elif pairs[key].strip() and still[key].strip():
                mapped.append(Phrase(record, phrase.symptom, pairs[key]))
    return mapped, failures


async def _ask(
    messages: Mapping[int, tuple[Message, ...]], step: str, ask: Ask
) -> tuple[dict[int, tuple[MapReply, str]], Unscored]:
    prompts = ("map", "same_meaning") if step == "same_meaning" else ("map",)
    calls = [Call(f"{record}/{step}", said, reply=MapReply) for record, said in messages.items()]
    calls = [in_users_form(call, "tasks.spans", *prompts) for call in calls]
    replies: dict[int, tuple[MapReply, str]] = {}
    failures: Unscored = []
    for record, answer in zip(messages, await ask(calls), strict=True):
        if isinstance(answer.value, MapReply):
            replies[record] = (answer.value, answer.text or "")
        else:
            failures.append(unscored_row(record, step, answer.failure or "no pairs", answer.raw))
    return replies, failures


def _by_phrase(reply: MapReply) -> dict[str, str]:
    return {_key(pair.phrase): pair.match for pair in reply.pairs}


def _key(phrase: str) -> str:
    return " ".join(phrase.casefold().split())
