"""The rating protocol (SimSUM, Appendix E): drawn notes, possible penalties, one form for each rater, returned ratings.

A model is a further rater, with the instructions that people get.

A rater gives penalties for departures from a note's prompt, from which the consistency score is computed, and rates
the other aspects from 1 (worst) to 5 (best). The instructions are in rubric.yaml.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import yaml
from pydantic import Field, ValidationInfo, field_validator

from schemas.params.judges import Review
from schemas.tables.columns import typed
from schemas.tables.people import REVIEW_NOTES, SCALES
from schemas.tables.verdicts import in_order, verdict_table
from tasks.domains.rules import Phrases, PromptingRules
from tasks.llm.ask_all import ask_all
from tasks.llm.calls import Ask, Call, Reply, unscored_table
from tasks.llm.prompts import render
from tasks.people.forms import Form, Item, Returned, ReturnedFile, compared_signature
from tasks.texts.document import WHOLE

Part = dict[str, Any]
"""``{part, title, rule, items}``. An item is ``{item, label}`` and allows one penalty."""
Rubric = dict[str, Any]
"""The instructions of rubric.yaml in the words of a domain."""


def read_rubric(phrases: Phrases) -> Rubric:
    """``rubric.yaml`` in the words of a domain: scales in the order of `SCALES`, meanings from 5 down to 1."""
    text = files(__package__).joinpath("rubric.yaml").read_text(encoding="utf-8")
    for name, phrase in phrases.model_dump().items():
        text = text.replace(f"{{{name}}}", phrase)
    loaded: Rubric = yaml.safe_load(text)
    assert tuple(loaded["scales"]) == SCALES, "rubric.yaml must have the scales of schemas.tables.people, in order"
    return loaded


def note_type(kind: str) -> str:
    """Type of a prompt in the rating instructions: type_1 has symptoms of the domain, type_2 has none."""
    return "type_1" if kind == "symptoms" else "type_2"


def penalty_parts(
    prompt: Mapping[str, Any], conditions: Collection[str], labels: Mapping[str, str], rubric: Rubric
) -> list[Part]:
    """The parts of a prompt (a row of PROMPTS) for which penalties can be given; empty parts are left out.

    ``conditions`` are those of the network; ``labels`` maps conditions and symptoms to their names in prompts. Where a
    prompt lists conditions of the patient, each other one is a penalty, up to four outside the network.
    """

    def named(*names: str) -> list[dict[str, str]]:
        return [{"item": name, "label": labels[name]} for name in names]

    def instructions(*names: str) -> list[dict[str, str]]:
        return [{"item": name, "label": rubric["instructions"][name]} for name in names]

    given = json.loads(prompt["conditions"])
    others = named(*(name for name in conditions if name not in given))
    if given:
        others += [{"item": f"other_{n}", "label": label} for n, label in enumerate(rubric["other_conditions"], 1)]
    values, descriptors = json.loads(prompt["values"]), json.loads(prompt["descriptors"])
    if note_type(prompt["kind"]) == "type_1":
        mention = named(*json.loads(prompt["mention"]))
        for one in mention:
            asked = (values[one["item"]], descriptors.get(one["item"]))
            one["label"] += ": " + ", ".join(part for part in asked if part)
        parts = {
            "1A": mention,
            "1B": named(*json.loads(prompt["avoid"])),
            "1C": others if given else [],
            "1D": instructions("diagnosis", *(["further_symptom"] if mention else []), "sex_or_age"),
        }
    else:
        parts = {"2A": named(*values), "2B": others, "2C": instructions("diagnosis", "sex_or_age")}
    return [{"part": name, **rubric["parts"][name], "items": items} for name, items in parts.items() if items]


def consistency_score(penalties: int) -> int:
    """5 for no penalty, 4 for one, 3 for two, 2 for three, 1 for more (Appendix E.1.1)."""
    return max(5 - penalties, 1)


_DRAW, _ORDER, _PRACTICE = 901, 902, 903


def draw_notes(
    prompts: pd.DataFrame,
    notes: pd.DataFrame,
    compact: pd.DataFrame,
    review: Review,
    rules: PromptingRules,
    *,
    seed: int,
) -> pd.DataFrame:
    """Draw notes of both types at random, and others for practice (REVIEW_NOTES), as in SimSUM's Appendix E.

    Where there are fewer than ``review`` asks for, all are drawn, those for practice last. ``rules`` are those that the
    prompts were made by. The first line of a prompt, which names the task for the simulator, is left out.
    """
    rows = prompts.merge(notes[["record", "note"]], on="record").merge(compact[["record", "compact"]], on="record")
    rows = rows.sort_values("record", ignore_index=True)
    rows["type"] = rows["kind"].map(note_type)
    rng = np.random.default_rng([seed, _DRAW])
    wanted = {"type_1": review.with_symptoms, "type_2": review.without_symptoms}
    counted = pd.concat([_take(rows[rows["type"] == kind], n, rng) for kind, n in wanted.items()])
    others = rows[~rows["record"].isin(counted["record"])]
    practice = _take(others, review.practice, np.random.default_rng([seed, _PRACTICE]))
    drawn = pd.concat([counted.assign(practice=False), practice.assign(practice=True)])
    rubric, rows = read_rubric(rules.phrases), drawn.to_dict("records")
    parts = [json.dumps(penalty_parts(row, rules.conditions, rules.labels, rubric)) for row in rows]
    drawn = drawn.assign(prompt=drawn["single_prompt"].str.replace(r"\ATask:[^\n]*\n*", "", regex=True), parts=parts)
    return typed(drawn.sort_values("record", ignore_index=True), REVIEW_NOTES)


def _take(rows: pd.DataFrame, n: int, rng: np.random.Generator) -> pd.DataFrame:
    return rows.iloc[np.sort(rng.choice(len(rows), size=min(n, len(rows)), replace=False))]


def rater_order(records: Sequence[int], rater: str, *, seed: int) -> list[int]:
    """The order in which ``rater`` sees the records: different for each rater, the same on every run.

    It depends on the rater's code only, so that further raters can join without changing the others' orders.
    """
    rng = np.random.default_rng([seed, _ORDER, crc32(rater.encode())])
    return [sorted(records)[i] for i in rng.permutation(len(records))]


class RatedNote(Item):
    """A rater's answers on one note."""

    record: int
    penalties: dict[str, list[str]]
    ratings: dict[str, Any]  # checked one by one, so that errors name each missing or invalid rating
    comment: str = Field(default="", max_length=10_000)


@dataclass(frozen=True, eq=False)
class RatingForm(Form):
    """The form of the drawn notes (REVIEW_NOTES), one for each of ``raters``, who rate all notes."""

    format, kind, noun = "vignette-review", "review", "note"
    title, script, answer, listed = "Rating clinical notes", "review.js", RatedNote, "notes"
    drawn: pd.DataFrame
    raters: Collection[str]

    @property
    def content(self) -> str:
        """The whole draw."""
        return str(self.drawn.sort_values("record").to_json(orient="values"))

    @cached_property
    def records(self) -> dict[int, dict[str, set[str]]]:
        """The possible penalties of each note: items by part."""
        return {
            int(row.record): {part["part"]: {item["item"] for item in part["items"]} for part in json.loads(row.parts)}
            for row in self.drawn.itertuples()
        }

    def check(self, item: RatedNote) -> list[str]:
        """All scales must be rated, and penalties belong to the prompt."""
        problems = [f"{name} is missing" for name in SCALES if item.ratings.get(name) is None]
        for name, value in item.ratings.items():
            if name not in SCALES:
                problems.append(f"unknown rating {name!r}")
            elif value is not None and (type(value) is not int or not 1 <= value <= 5):
                problems.append(f"{name} is {value!r}, expected 1 to 5")
        for part, given in item.penalties.items():
            unknown = sorted(set(given) - self.records[item.record].get(part, set()))
            problems += [f"penalty for {name!r} in part {part}, which the prompt does not have" for name in unknown]
            if len(set(given)) < len(given):
                problems.append(f"part {part} has an item twice")
        return problems

    def check_file(self, file: ReturnedFile) -> list[str]:
        """A finished form of a known rater has all notes; those for practice may be missing."""
        problems = []
        if file.rater not in self.raters:
            problems.append(f"unknown rater {file.rater!r}; review.raters has {', '.join(sorted(self.raters))}")
        if not file.complete:
            problems.append("is a backup of an unfinished form; ask the rater to finish it")
        missing = set(self._numbers(practice=False)) - {item.record for item in file.items}
        return problems + [f"note {record} is missing" for record in sorted(missing)]

    def check_files(self, files: Mapping[str, ReturnedFile]) -> list[str]:
        """A rater returns one file, and no two raters have one name."""
        problems = []
        codes: dict[str, str] = {}
        signed: dict[str, str] = {}
        for name, file in files.items():
            other, signature = codes.setdefault(file.rater, name), compared_signature(file.signature)
            if other != name:
                problems.append(f"{name}: {other} is also of rater {file.rater!r}; keep one of them")
            other = signed.setdefault(signature, name)
            if signature and other != name:
                problems.append(f"{name}: {file.signature!r} signed {other} too; two raters cannot have one name")
        return problems

    def verdicts(self, files: Mapping[str, str]) -> pd.DataFrame:
        """`rating_verdicts` of returned files (name -> text).

        Notes for practice are checked like the others and left out.
        """
        counted = set(self._numbers(practice=False))
        given = self.read(files).values()
        return rating_verdicts(
            self.drawn, ((file.rater, [n for n in file.items if n.record in counted]) for file in given), "person"
        )

    def filled(self, rater: str, rubric: Rubric, *, seed: int) -> str:
        """HTML of one rater's form.

        Notes for practice come first, the same for every rater; the others follow in the order of `rater_order`.
        """
        order = [*self._numbers(practice=True), *rater_order(self._numbers(practice=False), rater, seed=seed)]
        by_record = self.drawn.set_index("record")[["prompt", "note", "compact", "practice", "parts"]]
        rows = by_record.loc[order].reset_index().to_dict("records")
        items = [{**row, "parts": json.loads(row["parts"])} for row in rows]
        shown = {name: rubric[name] for name in ("introduction", "consistency", "questions")}
        scales = [{"name": name, **scale} for name, scale in rubric["scales"].items()]
        return self.page(rater, items, rubric={**shown, "scales": scales})

    def _numbers(self, *, practice: bool) -> list[int]:
        return sorted(self.drawn.loc[self.drawn["practice"] == practice, "record"].tolist())


FOLLOWED = "instruction followed"
"""Metric of verdicts on each instruction of a note's prompt, which a penalty denies."""


def rating_verdicts(drawn: pd.DataFrame, rated: Iterable[tuple[str, Iterable[RatedNote]]], kind: str) -> pd.DataFrame:
    """VERDICTS of raters of a ``kind`` (person or model): on the instructions, and ratings from 1 to 5 by aspect.

    ``drawn`` are REVIEW_NOTES; ``rated`` checked notes by rater. Consistency is computed from the penalties.
    """
    parts = {int(row.record): json.loads(row.parts) for row in drawn.itertuples()}
    rows = []
    for rater, notes in rated:
        for note in notes:
            about = {"document": str(note.record), "system": "notes", "condition": "review", "item": WHOLE, "text": ""}
            about |= {"judge": rater, "kind": kind}
            asked = [(part["part"], item["item"]) for part in parts[note.record] for item in part["items"]]
            denied = {(part, item) for part, items in note.penalties.items() for item in items}
            said = [(FOLLOWED, f"{part}/{item}", float((part, item) not in denied)) for part, item in asked]
            said += [(name, name, float(note.ratings[name])) for name in SCALES]
            said.append(("consistency", "consistency", float(consistency_score(len(denied)))))
            rows += [{**about, "metric": metric, "unit": unit, "value": one} for metric, unit, one in said]
    return in_order(verdict_table(rows, judge=""))


def ratings_of(verdicts: pd.DataFrame) -> pd.DataFrame:
    """The ratings among `rating_verdicts`: rater, rater_kind, record, aspect and rating."""
    given = verdicts[verdicts["metric"] != FOLLOWED]
    names = {"judge": "rater", "kind": "rater_kind", "document": "record", "metric": "aspect", "value": "rating"}
    found = given[list(names)].rename(columns=names).astype({"record": "int64", "rating": "int64"})
    return found.sort_values(list(found), ignore_index=True)


STEP = "review/rating"


class Rating(Reply):
    """The reasons, then the codes of the penalties given, and the five ratings from 1 (worst) to 5 (best)."""

    reason: str = Field(description="why these penalties and ratings are given")
    penalties: list[str]
    realism_history: int = Field(ge=1, le=5)
    realism_physical_examination: int = Field(ge=1, le=5)
    clinical_accuracy: int = Field(ge=1, le=5)
    compact_content: int = Field(ge=1, le=5)
    compact_readability: int = Field(ge=1, le=5)

    @field_validator("penalties")
    @classmethod
    def _are_in_the_prompt(cls, given: list[str], info: ValidationInfo) -> list[str]:
        """The codes of penalties, which a model may write in brackets, in another case or with their labels."""
        if (known := (info.context or {}).get("penalties")) is None:
            return given
        codes = {code.casefold(): code for code in known}
        written = {one: one.strip().lstrip("[").split("]")[0].split(":")[0].strip().casefold() for one in given}
        if unknown := [one for one in given if written[one] not in codes]:
            raise ValueError(f"{unknown[0][:80]!r} is not the code of a penalty; codes are {', '.join(known)}")
        return [codes[written[one]] for one in given]


async def rate_notes(drawn: pd.DataFrame, rubric: Rubric, ask: Ask, rater: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Have each drawn note (REVIEW_NOTES) rated: `rating_verdicts` and UNSCORED.

    A failed call, or a penalty for an item that is not in the prompt, leaves the note without ratings of this rater.
    """
    calls = {int(row["record"]): rating_call(row, rubric) for row in drawn.sort_values("record").to_dict("records")}
    given, unscored = await ask_all(ask, calls, Rating, STEP)
    rated = [(rater, [_rated(*one) for one in given.items()])]
    return rating_verdicts(drawn, rated, "model"), unscored_table(unscored)


def rating_call(row: Mapping[Any, Any], rubric: Rubric) -> Call:
    """The request to rate one note."""
    fields = {name: row[name] for name in ("prompt", "note", "compact")}
    parts = json.loads(row["parts"])
    codes = [f"{part['part']}/{item['item']}" for part in parts for item in part["items"]]
    messages = render(__package__, "rate", rubric=rubric, parts=parts, **fields)
    return Call(f"{row['record']}/{STEP}", messages, reply=Rating, context={"penalties": codes})


def _rated(record: int, rating: Rating) -> RatedNote:
    given = rating.model_dump(exclude={"reason"})
    penalties: dict[str, list[str]] = {}
    for code in sorted(set(given.pop("penalties"))):
        part, item = code.split("/", 1)
        penalties.setdefault(part, []).append(item)
    return RatedNote(record=record, penalties=penalties, ratings=given)


RETURNED = Returned(
    RatingForm.format,
    "review",
    "review_returned",
    lambda load, params: RatingForm(load("review_notes"), params.review.raters),
)
