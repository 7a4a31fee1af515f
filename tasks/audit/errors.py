"""Errors that people put into clinical texts (MEDEC, Ben Abacha and others 2025): found, located, and corrected.

Two kinds of call. The first has the numbered sentences of a text, with the error or corrected, and asks which of them
has an error, if any. The second has both versions of a text, in either order, and asks which is right.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, Self

import numpy as np
from pydantic import ValidationInfo, model_validator

from schemas.tables.verdicts import verdict_table
from tasks.audit.comparisons import ALL
from tasks.audit.people import agreement_rows
from tasks.judges.cases import Asked, case_row
from tasks.llm.ask_all import Unscored, ask_all
from tasks.llm.calls import Ask, Call, Reply
from tasks.llm.prompts import render
from tasks.measures.measure import Metric
from tasks.statistics.metric_rows import Row

STREAM = 107
FLAGGED, SENTENCE, VERSION = "errors", "error sentence", "error version"
"""Tasks of the verdicts: whether a text has an error, whether a sentence has it, whether the first version is right."""
ERRORS_ASKED: Mapping[str, Asked] = {
    FLAGGED: Asked("Does one of the numbered sentences have a clinical error?"),
    SENTENCE: Asked("One of the numbered sentences may have a clinical error. Is it in this one?"),
    VERSION: Asked(
        "The versions of a text differ in one sentence, which has a clinical error in one of them. Is the first "
        "version the right one?"
    ),
}
CORRECTED, OTHER = ", corrected", ", another sentence"
"""Ends of the kinds of a text whose error was corrected, and of a sentence without the error."""
FIELDS = (
    "Text ID",
    "Sentences",
    "Error Flag",
    "Error Type",
    "Error Sentence ID",
    "Error Sentence",
    "Corrected Sentence",
)
"""Columns of MEDEC's files that are read."""
KINDS = {"causalOrganism": "causal organism"}
"""MEDEC's names of kinds in plain words."""


class LocatedError(Reply):
    """What is wrong in a text, and the number of the sentence with the error, 0 for none."""

    explanation: str = ""
    sentence: int

    @model_validator(mode="after")
    def _is_a_sentence(self, info: ValidationInfo) -> Self:
        most = (info.context or {}).get("sentences", self.sentence)
        if not 0 <= self.sentence <= most:
            raise ValueError(f"sentence {self.sentence} is not one of 1 to {most}, nor 0 for none")
        return self


class RightVersion(Reply):
    """Where two versions differ, and which of them is right."""

    explanation: str = ""
    right: Literal["first", "second"]


@dataclass(frozen=True)
class ErrorText:
    """A text with one error of a ``kind``, in the sentence at place ``wrong``, and its ``correction``."""

    name: str
    kind: str
    sentences: tuple[str, ...]
    wrong: int
    correction: str

    @property
    def corrected(self) -> tuple[str, ...]:
        """The sentences of the text without the error."""
        return (*self.sentences[: self.wrong], self.correction, *self.sentences[self.wrong + 1 :])


def error_texts(rows: Iterable[Mapping[str, Any]]) -> list[ErrorText]:
    """The texts with an error among MEDEC's rows (with `FIELDS`), in their order.

    Raises ValueError for a row whose sentences do not have the wrong one at its place, or that has no correction.
    """
    found = []
    for row in rows:
        is_wrong = str(row.get("Error Flag")).strip() == "1"  # others have NA in the fields of the error
        if lacking := [field for field in (FIELDS if is_wrong else ("Error Flag",)) if row.get(field) is None]:
            raise ValueError(
                f"text {row.get('Text ID')}: no {lacking[0]}; expected MEDEC's columns {', '.join(FIELDS)}"
            )
        if not is_wrong:
            continue
        name, own, place = str(row["Text ID"]), _sentences(str(row["Sentences"])), str(row["Error Sentence ID"]).strip()
        wrong, correction = _one_line(str(row["Error Sentence"])), _one_line(str(row["Corrected Sentence"]))
        if not place.isdigit() or int(place) >= len(own) or own[int(place)] != wrong:
            raise ValueError(f"text {name}: sentence {place} is not the Error Sentence {wrong[:60]!r}")
        if not correction or correction == wrong:
            raise ValueError(
                f"text {name}: the Corrected Sentence is {correction[:60]!r}; expected another than the wrong"
            )
        kind = str(row["Error Type"])
        found.append(ErrorText(name, KINDS.get(kind, kind), own, int(place), correction))
    return found


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _sentences(numbered: str) -> tuple[str, ...]:
    """The sentences of lines that begin with the numbers from 0; other lines continue the sentence before them."""
    found: list[str] = []
    for line in numbered.split("\n"):
        if line.startswith(f"{len(found)} "):
            found.append(line.partition(" ")[2])
        elif found:
            found[-1] += f" {line}"
    return tuple(map(_one_line, found))


def drawn_texts(texts: Sequence[ErrorText], size: int, *, seed: int) -> list[ErrorText]:
    """At most ``size`` of the texts, of each kind in turn, in their order."""
    random = np.random.default_rng([seed, STREAM])
    turns: list[tuple[int, int]] = []
    seen: dict[str, int] = {}
    for at in random.permutation(len(texts)).tolist():
        turns.append((seen.setdefault(texts[at].kind, 0), at))
        seen[texts[at].kind] += 1
    return [texts[at] for at in sorted(at for _, at in sorted(turns, key=lambda turn: turn[0])[:size])]


async def locate_errors(ask: Ask, texts: Sequence[ErrorText]) -> tuple[dict[tuple[str, bool], LocatedError], Unscored]:
    """Where each text is said to have an error, by name and whether it has one or is corrected; and unscored rows."""
    calls: dict[tuple[str, bool], Call] = {}
    for one, had in product(texts, _STATES):
        own, key = one.sentences if had else one.corrected, f"{one.name}/locate/{int(had)}"
        messages, context = render(__package__, "locate_error", sentences=own), {"sentences": len(own)}
        calls[one.name, had] = Call(key, messages, reply=LocatedError, context=context)
    return await ask_all(ask, calls, LocatedError, lambda key: f"locate error, {_STATES[key[1]]}")


_STATES = {True: "as written", False: "corrected"}


async def error_agreement(asks: Sequence[Ask], texts: Sequence[ErrorText], asked: str) -> tuple[list[Row], Unscored]:
    """METRICS rows of judges against the people who put an error into each text and corrected it; and the unscored.

    ``asked``: what is asked of a text, the item of the rows (`tasks.audit.people.agreement_rows`).
    """
    if not texts:
        return [], []
    about = {"system": "text", "item": ALL, "metric": "error", "condition": FLAGGED, "text": ""}
    states = list(product(texts, _STATES))
    people = [
        {**about, "document": one.name, "unit": _STATES[had], "judge": "people who put it in", "value": float(had)}
        for one, had in states
    ]
    judged, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
    for ask in asks:
        found, lost = await locate_errors(ask, texts)
        unscored += lost
        for one, had in states:
            place = found.get((one.name, had))
            value = None if place is None else float(place.sentence > 0)
            judged.append({**about, "document": one.name, "unit": _STATES[had], "judge": ask.label, "value": value})
    own, view = verdict_table(people, judge=""), Metric(of="error")
    return agreement_rows(own, {FLAGGED: verdict_table(judged, judge="")}, (view, view), asked), unscored


async def judge_errors(ask: Ask, texts: Sequence[ErrorText], *, seed: int) -> list[Row]:
    """Rows of VERDICTS with the columns of CASES: is an error flagged, is it located, and which version is right.

    Flagged: the text with its error, and the corrected one. Located: the wrong sentence, and another of the text, by
    the same reply. Versions are shown in both orders.
    """
    located, _ = await locate_errors(ask, texts)
    calls = {}
    for one, right_first in product(texts, (True, False)):
        first, second = _ordered(one, right_first)
        messages = render(__package__, "choose_version", first=first, second=second)
        calls[one.name, right_first] = Call(f"{one.name}/choose/{int(right_first)}", messages, reply=RightVersion)
    chosen, _ = await ask_all(ask, calls, RightVersion, "choose version")
    random, rows = np.random.default_rng([seed, STREAM, 1]), list[Row]()

    def add(at: str, one: ErrorText, task: str, truth: bool, *about: Any, **named: str) -> None:
        case, pair = (f"{at}{'ab'[which]}" for which in (truth, not truth))
        kind, shown, claim, said = about
        rows.append(case_row(case, task, kind, one.name, shown, claim, truth, said, **{"pair": pair, **named}))

    for number, one in enumerate(texts):
        replies = {had: located.get((one.name, had)) for had in (True, False)}
        others = [at for at in range(len(one.sentences)) if at != one.wrong]
        places = {True: one.wrong} | ({False: int(random.choice(others))} if others else {})
        for had, reply in replies.items():
            kind, said = one.kind + ("" if had else CORRECTED), None if reply is None else reply.sentence > 0
            own = _numbered(one.sentences if had else one.corrected)
            add(f"e{number:04d}", one, FLAGGED, had, kind, own, "A sentence of the text has an error.", said)
        for truth, at in places.items():
            reply, kind = replies[True], one.kind + ("" if truth else OTHER)
            claim = f"The error is in sentence {at + 1}: {one.sentences[at]}"
            named = {"call": f"s{number:04d}"} | ({} if others else {"pair": ""})
            said = None if reply is None else reply.sentence == at + 1
            add(f"s{number:04d}", one, SENTENCE, truth, kind, _numbered(one.sentences), claim, said, **named)
        for right_first in (True, False):
            first, second = _ordered(one, right_first)
            shown, answer = f"First version:\n{first}\n\nSecond version:\n{second}", chosen.get((one.name, right_first))
            said = None if answer is None else answer.right == "first"
            add(f"v{number:04d}", one, VERSION, right_first, one.kind, shown, "The first version is right.", said)
    return rows


def _ordered(text: ErrorText, right_first: bool) -> tuple[str, str]:
    right, wrong = (" ".join(one) for one in (text.corrected, text.sentences))
    return (right, wrong) if right_first else (wrong, right)


def _numbered(own: Sequence[str]) -> str:
    return "\n".join(f"{at}. {one}" for at, one in enumerate(own, 1))
