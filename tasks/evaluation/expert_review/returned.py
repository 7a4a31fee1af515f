"""Reads the files that raters return, as tables of ratings, penalties and comments."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from schemas.tables.review import SCALES
from tasks.evaluation.expert_review.draw import form_id
from tasks.evaluation.expert_review.form import FORMAT
from tasks.evaluation.expert_review.rubric import consistency_score
from tasks.evaluation.forms.returned import ReturnedFile, parse_files, require_none


class RatedNote(BaseModel):
    """A rater's answers on one note."""

    model_config = ConfigDict(extra="forbid", strict=True)
    record: int
    penalties: dict[str, list[str]]
    ratings: dict[str, Any]  # checked one by one, so that errors name each missing or invalid rating
    comment: str = Field(default="", max_length=10_000)


class ReturnedForm(ReturnedFile):
    """A returned file."""

    notes: list[RatedNote]


class Returned(NamedTuple):
    """Content of returned files: ratings (RATINGS), penalties (PENALTIES), remarks (rater, record, comment)."""

    ratings: pd.DataFrame
    penalties: pd.DataFrame
    remarks: pd.DataFrame


def read_returned(files: Mapping[str, str], drawn: pd.DataFrame, raters: Iterable[str]) -> Returned:
    """Check returned files (file name -> text) against the drawn notes and join their ratings.

    Ratings of notes for practice are checked like the others and left out; they may be missing.

    Raises SourceError that lists the problems of each file: not a form, another draw, an unknown rater or note, a
    missing or repeated note, a missing or out-of-range rating, an unknown penalty, two raters with the same signature.
    """
    problems: list[str] = []
    forms = parse_files(files, ReturnedForm, "review", problems)
    for name, form in forms.items():
        problems += [f"{name}: {problem}" for problem in _check(form, drawn, set(raters))]
    require_none([*problems, *_repeated_raters(forms)], "review")
    return tables((_counted(form, drawn) for form in forms.values()), "person")


def _counted(form: ReturnedForm, drawn: pd.DataFrame) -> ReturnedForm:
    """The form without the notes for practice."""
    practice = set(drawn.loc[drawn["practice"], "record"])
    return form.model_copy(update={"notes": [note for note in form.notes if note.record not in practice]})


def _check(form: ReturnedForm, drawn: pd.DataFrame, raters: set[str]) -> list[str]:
    if form.format != FORMAT:
        return [f"format is {form.format!r}, expected {FORMAT!r}"]
    if form.form != form_id(drawn):
        return [f"was filled in for draw {form.form}, but the current draw is {form_id(drawn)}; use the matching draw"]
    problems = []
    if form.rater not in raters:
        problems.append(f"unknown rater {form.rater!r}; review.raters has {', '.join(sorted(raters))}")
    if not form.complete:
        problems.append("is a backup of an unfinished form; ask the rater to finish it")
    parts = {int(row.record): _items(row.parts) for row in drawn.itertuples()}
    needed = set(drawn.loc[~drawn["practice"], "record"])
    seen = [note.record for note in form.notes]
    problems += [f"note {record} is in the file twice" for record in sorted({r for r in seen if seen.count(r) > 1})]
    problems += [f"note {record} is missing" for record in sorted(needed - set(seen))]
    for note in form.notes:
        if note.record not in parts:
            problems.append(f"unknown note {note.record}")
        else:
            problems += [f"note {note.record}: {problem}" for problem in _check_note(note, parts[note.record])]
    return problems


def _items(parts: str) -> dict[str, set[str]]:
    return {part["part"]: {item["item"] for item in part["items"]} for part in json.loads(parts)}


def _check_note(note: RatedNote, parts: dict[str, set[str]]) -> list[str]:
    problems = [f"{name} is missing" for name in SCALES if note.ratings.get(name) is None]
    for name, value in note.ratings.items():
        if name not in SCALES:
            problems.append(f"unknown rating {name!r}")
        elif value is not None and (type(value) is not int or not 1 <= value <= 5):
            problems.append(f"{name} is {value!r}, expected 1 to 5")
    for part, items in note.penalties.items():
        unknown = sorted(set(items) - parts.get(part, set()))
        problems += [f"penalty for {item!r} in part {part}, which the prompt does not have" for item in unknown]
        if len(set(items)) < len(items):
            problems.append(f"part {part} has an item twice")
    return problems


def _repeated_raters(forms: Mapping[str, ReturnedForm]) -> list[str]:
    problems = []
    codes: dict[str, str] = {}
    signed: dict[str, str] = {}
    for name, form in forms.items():
        who = f" (signed {form.signature!r})" if form.signature else ""
        if form.rater in codes:
            problems.append(f"{name}{who}: {codes[form.rater]} is also of rater {form.rater!r}; keep one of them")
        codes.setdefault(form.rater, f"{name}{who}")
        signature = form.signature.strip().casefold()
        if signature and signature in signed:
            problems.append(
                f"{name}: {form.signature!r} signed {signed[signature]} too; two raters cannot have one name"
            )
        signed.setdefault(signature, name)
    return problems


def tables(forms: Iterable[ReturnedForm], kind: str) -> Returned:
    """Checked forms as tables; consistency ratings are computed from the penalties."""
    ratings, penalties, remarks = [], [], []
    for form in forms:
        for note in form.notes:
            who = (form.rater, kind, note.record)
            given = [(*who, part, item) for part, items in note.penalties.items() for item in items]
            penalties += given
            ratings.append((*who, "consistency", consistency_score(len(given))))
            ratings += [(*who, name, note.ratings[name]) for name in SCALES]
            if note.comment.strip():
                remarks.append((form.rater, note.record, note.comment.strip()))
    keys = ["rater", "rater_kind", "record"]
    return Returned(
        _frame(ratings, [*keys, "aspect", "rating"]).astype({"record": "int64", "rating": "int64"}),
        _frame(penalties, [*keys, "part", "item"]).astype({"record": "int64"}),
        _frame(remarks, ["rater", "record", "comment"]).astype({"record": "int64"}),
    )


def _frame(rows: list[tuple], columns: list[str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=columns)
    text = {name: str for name in columns if name not in ("record", "rating")}
    return frame.astype(text).sort_values(columns, ignore_index=True)
