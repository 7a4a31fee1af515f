"""Locates phrases in notes and asks the model to correct those not found (SimSUM, Appendix D)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.llm.unscored import unscored_row
from tasks.spans.matching import Match, match_phrases
from tasks.spans.phrases import Failures, Located, Phrase


class Correction(BaseModel):
    """A given phrase, and the corresponding phrase of the note."""

    model_config = ConfigDict(extra="forbid")

    phrase: str
    correction: str = Field(description="exact phrase of the note; empty when there is none")


class CorrectReply(Reply):
    """Phrases that were not word for word, each with the note's own words."""

    corrections: list[Correction]


async def locate_phrases(
    notes: Mapping[int, str], phrases: Sequence[Phrase], ask: Ask, *, step: str, max_corrections: int
) -> tuple[list[Located], Failures]:
    """Match ``phrases`` to their notes, with up to ``max_corrections`` rounds of correction.

    Phrases that are still not found, or ambiguous, become unscored rows. Phrases of the same symptom at the same place
    are merged.
    """
    by_record: dict[int, list[Phrase]] = defaultdict(list)
    for phrase in phrases:
        by_record[phrase.record].append(phrase)
    texts = {record: [phrase.text for phrase in listed] for record, listed in by_record.items()}
    matches = {record: _match(notes[record], by_record[record], texts[record], sure=False) for record in by_record}
    corrected: set[tuple[int, int]] = set()
    reasons: dict[int, str] = {}
    for round_number in range(max_corrections):
        missing: dict[int, list[int]] = {}
        for record, found in matches.items():
            if rows := [row for row, match in enumerate(found) if match is None and texts[record][row].strip()]:
                missing[record] = rows
        wanted = {record: [texts[record][row] for row in rows] for record, rows in missing.items()}
        answered, reasons = await _correct(notes, wanted, ask, f"{step}/correct/{round_number}")
        for record, replaced in answered.items():
            for row in missing[record]:
                texts[record][row] = replaced.get(texts[record][row], texts[record][row])
                corrected.add((record, row))
            matches[record] = _match(notes[record], by_record[record], texts[record], sure=True)
    located: set[Located] = set()
    failures: Failures = []
    for record, found in matches.items():
        for row, match in enumerate(found):
            phrase = by_record[record][row]
            if match is None:
                reason = reasons.get(record, "phrase stands nowhere in the note, or in several places")
                failures.append(unscored_row(record, step, reason, f"{phrase.symptom}: {phrase.text}"))
                continue
            kind = "corrected" if (record, row) in corrected else match.kind
            located.add(Located(record, phrase.symptom, match.start, match.end, kind))
    return _merged(located), failures


def _match(note: str, phrases: Sequence[Phrase], texts: Sequence[str], *, sure: bool) -> list[Match | None]:
    return match_phrases(note, [(p.symptom, text) for p, text in zip(phrases, texts, strict=True)], sure=sure)


async def _correct(
    notes: Mapping[int, str], wanted: Mapping[int, Sequence[str]], ask: Ask, step: str
) -> tuple[dict[int, dict[str, str]], dict[int, str]]:
    """Corrections (record -> phrase -> correction), and failures (record -> reason)."""
    records = sorted(wanted)
    calls = [
        Call(
            f"{record}/{step}",
            render("tasks.spans", "correct", note=notes[record], phrases=list(dict.fromkeys(wanted[record]))),
            reply=CorrectReply,
        )
        for record in records
    ]
    corrections: dict[int, dict[str, str]] = {}
    reasons: dict[int, str] = {}
    for record, answer in zip(records, await ask(calls), strict=True):
        if isinstance(answer.value, CorrectReply):
            given = {c.phrase: c.correction for c in answer.value.corrections}
            loose = {" ".join(phrase.split()): correction for phrase, correction in given.items()}
            corrections[record] = {p: given.get(p, loose.get(" ".join(p.split()), "")) for p in wanted[record]}
        else:
            reasons[record] = f"correction failed: {answer.failure}"
    return corrections, reasons


def _merged(located: set[Located]) -> list[Located]:
    """One of each (record, symptom, start, end), with the most direct kind of match."""
    order = ("exact", "normalised", "elided", "corrected")
    kept: dict[tuple[int, str, int, int], Located] = {}
    for one in sorted(located, key=lambda o: order.index(o.matched)):
        kept.setdefault((one.record, one.symptom, one.start, one.end), one)
    return sorted(kept.values(), key=lambda o: (o.record, o.start, o.end, o.symptom))
