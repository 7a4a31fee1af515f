"""Summarise a patient's notes: read each visit, form facts over time, choose as many as fit, and state them.

The notes are read with the reader of the answerer, so that notes of any writer can be summarised. Facts are lost, cut
short and stated wrongly at the rates of ``data/visits.yaml``.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from tasks.domains.in_use import domain_name
from tasks.domains.rules import history_words, load_rules
from tasks.simulator.prompts import COURSE, PLAN
from tasks.simulator.reader.findings import find, mentions
from tasks.simulator.reader.timeline import status
from tasks.simulator.request import ChatRequest, numbered
from tasks.simulator.resources import load
from tasks.simulator.writer.notes import seeded
from tasks.text.language import capitalized

_VISIT = re.compile(r"^Visit \d+, (\d{4}-\d\d-\d\d)\b")
_LIMIT = re.compile(r"at most (\d+) words")


@dataclass(frozen=True)
class ReadVisit:
    """What a note says: its date, the number of the line with it, symptoms with level, and decisions.

    ``symptoms`` and ``decided`` hold the number of the line that states each, by column of the record; ``conditions``
    by label.
    """

    date: str
    line: int
    symptoms: dict[str, tuple[str, int]]
    decided: dict[str, tuple[str, int]]
    conditions: dict[str, int]


@dataclass(frozen=True)
class Stated:
    """A fact as a summary states it."""

    kind: str
    item: str
    start: str
    value: str = ""
    end: str = ""
    lines: tuple[int, ...] = ()

    @property
    def form(self) -> str:
        """The kind; of an episode without an end, ongoing."""
        return "ongoing" if self.kind == "episode" and not self.end else self.kind


def summarise(request: ChatRequest) -> str:
    """Reply to ``summarise a patient's notes``."""
    words, rng = load("writer", "visits")["summary"], seeded(request, (request.last,))
    limit, purpose = _LIMIT.search(request.last), "referral" if "Purpose: referral" in request.last else "discharge"
    room = int(limit[1]) if limit else 10**6
    lines = numbered(request.tag("notes"))
    starts = [at for at, (_, text) in enumerate(lines) if _VISIT.match(text)]
    visits = [_read(lines[start:end]) for start, end in pairwise([*starts, len(lines)])]
    order = words["first"][purpose]
    ranked = sorted(_facts(visits), key=lambda fact: order.index(fact.form))  # stable: by date within a kind
    stated = list[Stated]()
    for fact in ranked:
        written = _with_errors(fact, visits, words, rng)
        length = len(_sentence(written, words).split())
        if length > room or rng.random() < words["lost"]:
            continue
        stated.append(written)
        room -= length
    stated.sort(key=lambda fact: (fact.kind != "trait", fact.start))
    cited = [f"{_sentence(fact, words).rstrip('.')} {''.join(f'[{line}]' for line in fact.lines)}." for fact in stated]
    return " ".join(cited) or "No symptom or treatment was recorded."


def _read(lines: list[tuple[int, str]]) -> ReadVisit:
    """Read the numbered sentences of the note of a visit."""
    heads = {text.strip(): at for at, (_, text) in enumerate(lines)}
    plan = heads.get(PLAN, len(lines))
    course = heads.get(COURSE, plan)
    today = lines[1:course]
    text = "\n".join(sentence for _, sentence in today)
    symptoms = {}
    for symptom, label in ((name, load_rules().labels[name]) for name in load_rules().symptoms):
        if (value := status(text, label)) is not None:
            symptoms[symptom] = value, next((n for n, said in today if mentions(said, label)), lines[0][0])
    known = {
        one.concept: n
        for n, said in lines[1:plan]
        for one in find(said)
        if one.category == "condition" and one.polarity == "present" and not one.other
    }
    conditions = {name: line for name, line in known.items() if name in load_rules().condition_labels}
    (date,) = _VISIT.findall(lines[0][1])
    return ReadVisit(date, lines[0][0], symptoms, _decided(lines[plan:]), conditions)


def _decided(lines: list[tuple[int, str]]) -> dict[str, tuple[str, int]]:
    """Value and line of each treatment and outcome that a plan words as the domain does."""
    words, found = history_words(domain_name()), dict[str, tuple[str, int]]()
    for number, text in lines:
        said = text.lower()
        for name, phrases in words.treatments.items():
            best = max((p for p in phrases.items() if p[1].lower() in said), key=lambda p: len(p[1]), default=None)
            found |= {name: (best[0], number)} if best else {}
        for name, counted in words.outcomes.items():
            if counted.one.lower() in said:
                found[name] = "1", number
            elif more := re.search(re.escape(counted.more.lower()).replace(r"\{value\}", r"(\d+)"), said):
                found[name] = more[1], number
    return found


def _facts(visits: list[ReadVisit]) -> Iterator[Stated]:
    """The facts that the notes state, by kind and date."""
    seen: dict[str, tuple[ReadVisit, int]] = {}
    for visit in visits:
        for name, line in visit.conditions.items():
            seen.setdefault(name, (visit, line))
    yield from (Stated("trait", name, visit.date, lines=(line,)) for name, (visit, line) in seen.items())
    for symptom in load_rules().symptoms:
        yield from _episodes(symptom, visits)
    for visit in visits:
        for symptom, (value, line) in visit.symptoms.items():
            if value in load_rules().claims.get(symptom, {}):
                yield Stated("level", symptom, visit.date, value, lines=(visit.line, line))
        words = history_words(domain_name())
        for name, (value, line) in visit.decided.items():
            kind = "decision" if name in words.outcomes else "treatment"
            if kind == "decision" or value != next(reversed(words.treatments[name])):
                yield Stated(kind, name, visit.date, value, lines=(visit.line, line))


def _episodes(symptom: str, visits: list[ReadVisit]) -> Iterator[Stated]:
    """Consecutive visits with a symptom; what a note does not mention is absent."""
    open_: Stated | None = None
    for visit in visits:
        value, line = visit.symptoms.get(symptom, ("absent", visit.line))
        if value != "absent" and open_ is None:
            open_ = Stated("episode", symptom, visit.date, lines=(visit.line, line))
        elif value == "absent" and open_ is not None:
            yield replace(open_, end=visit.date, lines=tuple(dict.fromkeys((*open_.lines, visit.line, line))))
            open_ = None
    if open_ is not None:
        yield open_


def _with_errors(fact: Stated, visits: list[ReadVisit], words: dict[str, float], rng: random.Random) -> Stated:
    """The fact as the summary states it: perhaps without its end, or with the date of another visit."""
    draw, others = rng.random(), [visit.date for visit in visits if visit.date != fact.start]
    if fact.end and draw < words["part"]:
        return replace(fact, end="")
    if fact.kind != "trait" and others and draw > 1 - words["wrong"]:
        return replace(fact, start=rng.choice(others))
    return fact


def _sentence(fact: Stated, words: dict[str, str]) -> str:
    label = load_rules().labels.get(fact.item, fact.item)
    fields = {"name": label, "start": fact.start, "end": fact.end, "Value": capitalized(fact.value)}
    if fact.kind in ("treatment", "decision"):
        phrase = history_words(domain_name()).decided({fact.item: fact.value})[fact.item]
        return words["phrase"].format(Phrase=capitalized(phrase), **fields)
    return words[fact.form].format(Name=capitalized(label), **fields)
