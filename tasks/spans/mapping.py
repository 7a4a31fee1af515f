"""Maps phrases of normal notes to phrases of compact notes with the same meaning (SimSUM, Appendix D).

A conversation asks for the pairs, then for a confirmation that each pair has the same meaning. The second reply can
remove a match but not change it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from tasks.llm.calls import Answer, Ask, Call, Message, Reply
from tasks.llm.prompts import render
from tasks.llm.unscored import unscored_row
from tasks.spans.phrases import Failures, Phrase
from tasks.text.comparison import COMPARISON


class Pair(BaseModel):
    """A phrase of the full note, and the one of the compact note that says the same."""

    model_config = ConfigDict(extra="forbid")

    phrase: str
    match: str = Field(description="phrase of the compact note; empty when there is none")


class MapReply(Reply):
    """A pair for every phrase that was asked about."""

    pairs: list[Pair]


@dataclass(frozen=True)
class Versions:
    """Both versions of a record's note."""

    note: str
    compact: str


async def map_phrases(
    versions: Mapping[int, Versions], phrases: Sequence[Phrase], ask: Ask
) -> tuple[list[Phrase], Failures]:
    """Phrases of the compact notes for ``phrases`` of the normal notes, and unscored rows.

    A phrase without a counterpart yields none. After a failed call its record has no compact phrases; the call, and
    each phrase that is missing in a reply, become unscored rows.
    """
    by_record: dict[int, list[Phrase]] = {}
    for phrase in phrases:
        by_record.setdefault(phrase.record, []).append(phrase)
    asked = {record: _messages(versions[record], by_record[record]) for record in sorted(by_record)}
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


def _messages(versions: Versions, phrases: Sequence[Phrase]) -> tuple[Message, ...]:
    texts = list(dict.fromkeys(phrase.text for phrase in phrases))
    fields = {"note": versions.note, "compact": versions.compact, "phrases": texts, "comparison": COMPARISON}
    return render("tasks.spans", "map", **fields)


async def _ask(
    messages: Mapping[int, tuple[Message, ...]], step: str, ask: Ask
) -> tuple[dict[int, tuple[MapReply, str]], Failures]:
    calls = [Call(f"{record}/{step}", said, reply=MapReply) for record, said in messages.items()]
    replies: dict[int, tuple[MapReply, str]] = {}
    failures: Failures = []
    for record, answer in zip(messages, await ask(calls), strict=True):
        if isinstance(answer.value, MapReply):
            replies[record] = (answer.value, _said(answer))
        else:
            failures.append(unscored_row(record, step, answer.failure or "no pairs", answer.raw))
    return replies, failures


def _said(answer: Answer) -> str:
    return answer.text or (answer.value.model_dump_json() if answer.value else "")


def _by_phrase(reply: MapReply) -> dict[str, str]:
    return {_key(pair.phrase): pair.match for pair in reply.pairs}


def _key(phrase: str) -> str:
    return " ".join(phrase.casefold().split())
