"""Ids of facts, F0, F1 and so on: how facts are numbered, shown to the judge, and recognised in its replies.

Structured replies of the judge, one class per step of MED-OMIT.

A reply is checked against the validation context of its call: ``facts`` (id -> text of each fact that it was shown) and
``diagnoses`` (`DiagnosisNames`). Fact ids and diagnoses are normalised. A reply with an unknown or missing one is
refused, so that the judge is asked again and no part of the reply becomes a score; a reply on omissions may skip facts,
which are then unscored.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ValidationInfo, field_validator, model_validator

from schemas.errors import repeated
from tasks.llm.calls import Reply
from tasks.measures.med_omit.fact_score import Category, DiagnosisNames, Likelihood

_ID = re.compile(
    r"\W*+(?:(?:facts?|ids?)\W*+)?(?P<prefix>f?)[\W_]*+(?P<number>\d++)\b(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_TEXT_FOLLOWS = re.compile(r"\W*|[\])\s]*[:.)-]\s+\D.*", re.DOTALL)
"""What follows a number that is an id: nothing, or the fact after a mark (``0: text``), but not ``3 days``."""

_OTHER_ID = re.compile(r"\bf\d+\b", re.IGNORECASE)


def number_facts(lists: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, str]]:
    """Number facts F0, F1, ... in order: id -> (kind, fact). Repeats, within and across kinds, are dropped first.

    The released code drops repeats after numbering, which leaves ids that repeat; that is not reproduced.
    """
    found: dict[str, tuple[str, str]] = {}
    for kind, facts in lists.items():
        for fact in facts:
            text = " ".join(fact.split())
            if text:
                found.setdefault(text.lower(), (kind, text))
    return {f"F{number}": fact for number, fact in enumerate(found.values())}


def fact_lines(facts: Mapping[str, str]) -> list[str]:
    """Facts (id -> text) as shown to the judge: ``F3: fact``."""
    return [f"{name}: {text}" for name, text in facts.items()]


def fact_id(given: str, facts: Mapping[str, str]) -> str:
    """The id of a fact (id -> text) as a model may write it: ``F0``, ``f0``, ``0``, ``[F0]``, ``F0: text``, its text.

    Raises ValueError for an unknown id, and for an id with the text of another fact.
    """
    by_text = _by_text(tuple(facts.items()))
    if name := by_text.get(_plain(given)):
        return name
    found = _ID.fullmatch(given)
    if found and (found["prefix"] or _TEXT_FOLLOWS.fullmatch(found["rest"])):
        name, text = f"F{int(found['number'])}", _plain(found["rest"])
        if name in facts and not _OTHER_ID.search(found["rest"]) and (not text or by_text.get(text, name) == name):
            return name
    ids = ", ".join(facts) if len(facts) <= 12 else f"{next(iter(facts))} to {list(facts)[-1]}"
    raise ValueError(f"{given[:80]!r} is not the id of a fact; ids are {ids}")


@lru_cache(maxsize=64)
def _by_text(facts: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """The id of each fact by its words; a reply names all facts of a text, each of which is looked up."""
    return {_plain(text): name for name, text in facts}


_CATEGORY = re.compile(r"category\s*\|\W*(?P<name>\w+)\W*", re.IGNORECASE)
"""The line of Prompt 3 that begins a category."""


def _id_with_text(given: str, text: str, facts: Mapping[str, str]) -> str:
    """The id of a fact that a reply names by id and text. Raises ValueError where the text is that of another fact."""
    name = fact_id(given, facts)
    if (other := _by_text(tuple(facts.items())).get(_plain(text), name)) != name:
        raise ValueError(f"{given[:80]!r} is given with the text of {other}")
    return name


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


MAX_DIAGNOSES = 10


def _facts(info: ValidationInfo) -> Mapping[str, str] | None:
    return (info.context or {}).get("facts")


def _known_id(given: str, info: ValidationInfo) -> str:
    facts = _facts(info)
    return given if facts is None else fact_id(given, facts)


Kind = Literal["symptom", "test", "treatment", "social"]
"""What a sub-cluster is about (Section 5.3). It only directs the grouping: a fact that is alone is not asked for it."""
FactId = Annotated[str, AfterValidator(_known_id)]
AnyCase = BeforeValidator(lambda given: given.strip().lower() if isinstance(given, str) else given)
Bare = BeforeValidator(lambda given: {"fact": str(given)} if isinstance(given, str | int) else given)
"""Reads a fact that is given as a bare id."""


class Facts(Reply):
    """Single facts of the text: medical ones, ones on access to care or social circumstances, and all others."""

    lists: ClassVar[bool] = True
    medical: list[str]
    access_and_social: list[str]
    other: list[str]


class Diagnosis(Reply):
    """A possible diagnosis, why in a few words, and how likely it is."""

    diagnosis: str
    explanation: str
    likelihood: Annotated[Likelihood, AnyCase]


class Differential(Reply):
    """Possible diagnoses, most likely first, at most ten."""

    lists: ClassVar[bool] = True
    diagnoses: list[Diagnosis]


class IncludedFact(Reply):
    """The id of a fact, the reason for the verdict, and whether the summary includes the fact."""

    fact: FactId
    explanation: str = ""
    included: Annotated[Literal["yes", "partly", "no"], AnyCase]


class Omissions(Reply):
    """A verdict for every fact."""

    facts: list[IncludedFact]

    @classmethod
    def from_printed(cls, printed: Any, context: Mapping[str, Any]) -> dict[str, Any] | None:
        """Prompt 2: ``{id: [fact, explanation]}`` of the omitted facts; ``{}`` where there are none."""
        if not isinstance(printed, dict) or "facts" in printed:
            return None
        facts: Mapping[str, str] = context["facts"]
        omitted = {}
        for given, said in printed.items():
            text, *explanation = map(str, said if isinstance(said, list) and said else [said or ""])
            omitted[_id_with_text(given, text, facts)] = " ".join(explanation)
        return {
            "facts": [
                {"fact": fact, "explanation": omitted.get(fact, ""), "included": "no" if fact in omitted else "yes"}
                for fact in facts
            ]
        }

    @model_validator(mode="after")
    def _judges_no_fact_twice(self) -> Self:
        given = dict.fromkeys((one.fact, one.included) for one in self.facts)
        _refuse_repeats("fact", [fact for fact, _ in given])
        return self


class FactCategory(Reply):
    """The id of a fact and how much it matters to the differential."""

    fact: FactId
    category: Annotated[Category, AnyCase]


class Importances(Reply):
    """A category for every fact."""

    lists: ClassVar[bool] = True
    facts: list[FactCategory]

    @classmethod
    def from_printed(cls, printed: Any, context: Mapping[str, Any]) -> dict[str, Any] | None:
        """Prompt 3: a line ``Category|name``, then a line ``rank|id|fact`` for each of its facts."""
        text = printed if isinstance(printed, str) else ""
        lines = [line.strip(" \t*-`|") for line in text.splitlines() if "|" in line]
        if not any(_CATEGORY.fullmatch(line) for line in lines):
            return None
        category, grades = None, []
        for line in lines:
            if found := _CATEGORY.fullmatch(line):
                category = found["name"]
                continue
            parts = [part.strip(" []") for part in line.split("|", 2)]
            if category is None or len(parts) < 2:
                raise ValueError(f"line {line[:80]!r} is no 'rank|id|fact' under a line 'Category|name'")
            fact = _id_with_text(parts[1], "".join(parts[2:]), context["facts"])
            grades.append({"fact": fact, "category": category})
        return {"facts": grades}

    @model_validator(mode="after")
    def _grades_every_fact_once(self, info: ValidationInfo) -> Self:
        given = dict.fromkeys((one.fact, one.category) for one in self.facts)
        _refuse_repeats("fact", [fact for fact, _ in given])
        _refuse_missing([fact for fact, _ in given], _facts(info))
        return self


class EvidenceFact(Reply):
    """The id of a fact, and why it is evidence, in a few words."""

    fact: FactId
    explanation: str = ""


class Evidence(Reply):
    """A diagnosis with the facts that are evidence for it, or against it, as asked."""

    diagnosis: str
    facts: list[Annotated[EvidenceFact, Bare]]

    @field_validator("diagnosis")
    @classmethod
    def _known_diagnosis(cls, given: str, info: ValidationInfo) -> str:
        names: DiagnosisNames | None = (info.context or {}).get("diagnoses")
        return given if names is None else names.known(given)


class EvidenceClusters(Reply):
    """The facts that are evidence for every diagnosis, or against it, as asked."""

    lists: ClassVar[bool] = True
    clusters: list[Evidence]

    @classmethod
    def from_printed(cls, printed: Any, context: Mapping[str, Any]) -> dict[str, Any] | None:
        """Prompt 4: ``{diagnosis: {id: explanation}}``; an empty list where no fact is evidence."""
        if not isinstance(printed, dict) or "clusters" in printed:
            return None
        return {
            "clusters": [
                {
                    "diagnosis": diagnosis,
                    "facts": [{"fact": fact, "explanation": str(why or "")} for fact, why in facts.items()]
                    if isinstance(facts, dict)
                    else facts,
                }
                for diagnosis, facts in printed.items()
            ]
        }

    @model_validator(mode="after")
    def _has_every_diagnosis_once(self, info: ValidationInfo) -> Self:
        listed = [cluster.diagnosis for cluster in self.clusters]
        _refuse_repeats("diagnosis", listed)
        names: DiagnosisNames | None = (info.context or {}).get("diagnoses")
        if names is not None and (missing := [name for name in names.names if name not in listed]):
            raise ValueError(f"diagnoses {', '.join(map(repr, missing))} are missing")
        return self


class Mechanism(Reply):
    """A kind of fact, a pathophysiological mechanism, and the ids of the facts of that kind that point to it."""

    kind: Annotated[Kind, AnyCase]
    mechanism: str
    facts: list[FactId]


class Mechanisms(Reply):
    """The facts grouped by kind and mechanism; every fact in one group or more."""

    lists: ClassVar[bool] = True
    groups: list[Mechanism]

    @model_validator(mode="after")
    def _has_every_fact(self, info: ValidationInfo) -> Self:
        _refuse_missing((fact for group in self.groups for fact in group.facts), _facts(info))
        return self


def _refuse_repeats(noun: str, names: Sequence[str]) -> None:
    if (twice := repeated(sorted(names))) is not None:
        raise ValueError(f"{noun} {twice!r} is listed more than once")


def _refuse_missing(given: Iterable[str], known: Mapping[str, str] | None) -> None:
    if missing := sorted(set(known or {}) - set(given), key=lambda fact: (len(fact), fact)):
        raise ValueError(f"facts {', '.join(missing)} are missing")
