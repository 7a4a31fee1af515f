"""A judge's verdicts on the units of texts that people judged, as a measure judges them (`OfPeople`).

People's verdicts are VERDICTS, as are the judge's on the same units, so that `tasks.audit.people_agreement` compares
any two of them. The judge sees texts and units, and nothing of what people said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from schemas.tables.verdicts import verdict_table
from tasks import measures
from tasks.llm.ask_all import Unscored
from tasks.llm.calls import Ask, unscored_row
from tasks.measures.declared import OfPeople
from tasks.measures.doclens.evaluators import Question
from tasks.texts import k_qa, primock57
from tasks.texts.document import Document

UNIT = ["document", "system", "item", "metric"]
_PEOPLE = "tasks.measures.*.people"
"""The modules with units that people judge as the measure does, each its ``PEOPLE``."""
_FOUND: tuple[OfPeople, ...] = tuple(
    import_module(_PEOPLE.replace("*", file.parent.name)).PEOPLE
    for file in sorted(Path(measures.__path__[0]).glob("*/people.py"))
)
OF_PEOPLE: Mapping[str, OfPeople] = {one.kind: one for one in _FOUND}
"""By the kind of units."""
FURTHER = frozenset(name for one in _FOUND for name in one.further)
"""Readings whose verdicts are people's, which a judge only finds."""


@dataclass(frozen=True)
class PeopleSet:
    """Documents and people's VERDICTS on units of a ``kind``; ``name`` is that of the data set."""

    name: str
    kind: str
    documents: Sequence[Document]
    verdicts: pd.DataFrame


def people_sets(folder: Path | None) -> list[PeopleSet]:
    """The sets of people's verdicts on units that a measure judges, of which the folder has the files."""
    found = list[PeopleSet]()
    if folder is not None and (folder / k_qa.FILE).is_file():
        answers, claims = k_qa.read_k_qa(folder)
        found.append(PeopleSet("K-QA", "claims", answers, verdict_table(claims, judge="people")))
    if folder is not None and (folder / primock57.STATEMENTS).is_file():
        documents, *units = primock57.read_primock57(folder)
        for kind, rows in zip(("statements", "facts"), units, strict=True):
            found.append(PeopleSet("PriMock57", kind, documents, verdict_table(rows, judge="people")))
    return [one for one in found if one.kind in OF_PEOPLE]


async def judge_units(
    ask: Ask, asked: PeopleSet, reading: str, claims_a_call: int = 20
) -> tuple[pd.DataFrame, Unscored]:
    """The judge's VERDICTS on the units of a set in one of its readings, the condition; and unscored rows."""
    documents, how = {one.id: one for one in asked.documents}, OF_PEOPLE[asked.kind]
    units = asked.verdicts.drop_duplicates([*UNIT, "unit"])
    parts = [own for _, own in units.groupby([*UNIT, "judge"] if how.by_person else UNIT, sort=False)]
    questions = []
    for own in parts:
        first = own.iloc[0]
        one, key = documents[first["document"]], "/".join(first[["document", "system", "judge"]])
        premise, heading = (one.outputs[first["system"]], one.heading) if how.of_output else (one.text, None)
        questions.append(Question(key, premise, tuple(own["text"]), heading=heading))
    found = await how.read(ask, reading, questions, claims_a_call)
    rows, unscored = list[dict[str, Any]](), list[dict[str, str | None]]()
    for own, judged in zip(parts, found, strict=True):
        if judged.failure is not None:
            step = f"{asked.kind} of {own['system'].iloc[0]}"
            unscored.append(unscored_row(own["document"].iloc[0], step, judged.failure, judged.raw))
        for unit, (_, reason, word) in zip(own[[*UNIT, "unit", "text"]].to_dict("records"), judged.units, strict=True):
            about = {**unit, "condition": reading, "verdict": word, "reason": reason}
            rows.append({**about, "value": word and how.values[word]})
    return verdict_table(rows, judge=ask.label), unscored


async def judge_set(
    asks: Sequence[Ask], asked: PeopleSet, claims_a_call: int
) -> tuple[dict[str, pd.DataFrame], Unscored]:
    """VERDICTS of all judges on the units of a set by reading, and unscored rows."""
    found, unscored, how = dict[str, pd.DataFrame](), list[dict[str, str | None]](), OF_PEOPLE[asked.kind]
    for reading in how.readings:
        made = [await judge_units(ask, asked, reading, claims_a_call) for ask in asks]
        found[reading] = pd.concat([verdicts for verdicts, _ in made], ignore_index=True)
        unscored += [row for _, rows in made for row in rows]
    for name, judge in how.further.items():
        found[name], failed = await judge(asks[-1], asked.verdicts, claims_a_call)
        unscored += failed
    return found, unscored
