"""Forms for people: pages to fill in, the check of returned files, and their answers as labels of a judge's verdicts.

A form is one HTML file with its style, script and data. Texts of notes are untrusted: they are embedded as JSON in a
script element that browsers do not execute, with every ``<`` escaped, and the form's script inserts them as text nodes
only. A content security policy allows only the form's script and style, by their hashes, so that a text that escaped
both could neither run nor load anything. Returned files are untrusted too, so everything in them is checked.

A label is the truth of a model's verdict that something holds: the summary contains the fact, the note follows the
instruction, the marked choice is right, the note mentions the symptom. Several readers of an item are joined by
majority; a tie counts against it.
"""

import base64
import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from types import GenericAlias
from typing import Any
from unicodedata import normalize

import pandas as pd
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from schemas.errors import SourceError, repeated
from schemas.params import Params
from schemas.tables.verdicts import PERSON, in_order, verdict_table
from tasks.texts.document import WHOLE
from tasks.transport.untrusted import parse_json, read_bytes

_ENVIRONMENT = Environment(undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True)


def render_page(title: str, script: str, data: dict[str, Any], package: str = __package__) -> str:
    """The HTML of a form. ``script`` is the file of a package that builds the page from ``data`` (any JSON)."""
    style, code = _asset("form.css"), _asset("common.js") + _asset(script, package)
    policy = (
        f"default-src 'none'; script-src '{_digest(code)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    embedded = json.dumps(data, sort_keys=True)
    for character in "<>&":  # without which ASCII JSON is safe inside a script element
        embedded = embedded.replace(character, f"\\u{ord(character):04x}")
    return _ENVIRONMENT.from_string(_asset("page.html")).render(
        title=title, policy=policy, style=Markup(style), code=Markup(code), data=Markup(embedded)
    )


def _asset(name: str, package: str = __package__) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


LABELS = "human labels"
"""System and condition of labelled verdicts."""
LARGEST = 20_000_000
"""Most bytes of a returned file."""


def read_returned(file: Path) -> str:
    """The text of a returned file; raises SourceError for what is no file, is larger than LARGEST or no UTF-8."""
    try:
        return read_bytes(file, LARGEST).decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"{file}: not in UTF-8 ({error}); ask for the file again") from error


def compared_signature(signature: str) -> str:
    """A signature in the form in which two are compared."""
    return normalize("NFC", signature.strip()).casefold()


SHOWN = 8
"""Number of problems listed in an error; further ones are only counted."""


class Item(BaseModel):
    """A reader's answers on one item; each form adds its questions."""

    model_config = ConfigDict(extra="forbid", strict=True)
    record: int | str


class ReturnedFile(BaseModel):
    """A returned file; the type of its ``items`` and their name in the file are the form's."""

    model_config = ConfigDict(extra="forbid", strict=True)
    format: str
    form: str
    rater: str
    signature: str = ""
    complete: bool = True
    items: Sequence[Any]


class Form(ABC):
    """The specification of a form: the page that readers fill in, and the check of the files that they return.

    A file returned for other content is refused, see also `split_by_form`.
    """

    format: str
    kind: str
    """Name of the form in messages."""
    title: str
    script: str
    """File of the form's package that builds the page."""
    package: str = ""
    """Where the script is in another package than the form."""
    noun: str
    """What an item is called."""
    answer: type[Item]
    """What is answered on an item."""
    listed: str
    """Name of the items in a returned file."""

    @property
    @abstractmethod
    def content(self) -> str:
        """What the form shows, as text."""

    @cached_property
    def id(self) -> str:
        """Hash of the content."""
        return hashlib.sha256(self.content.encode()).hexdigest()[:12]

    @cached_property
    @abstractmethod
    def records(self) -> Collection[int | str]:
        """The ``record`` of each item on the form."""

    @cached_property
    def file(self) -> type[ReturnedFile]:
        """What a returned file holds."""
        items: Any = (GenericAlias(list, (self.answer,)), Field(alias=self.listed))
        return create_model("ReturnedFile", __base__=ReturnedFile, items=items)

    def check(self, item: Any) -> list[str]:
        """Problems of the answers on one item of the form."""
        del item
        return []

    def check_file(self, file: ReturnedFile) -> list[str]:
        """Problems of one file that no single item shows."""
        del file
        return []

    def check_files(self, files: Mapping[str, ReturnedFile]) -> list[str]:
        """Problems of several files (name -> content): by default, two of one rater and signature."""
        sent: dict[tuple[str, str], list[str]] = {}
        for name, file in files.items():
            sent.setdefault((file.rater, compared_signature(file.signature)), []).append(name)
        return [
            f"{' and '.join(names)}: both of {rater}, signed {signature!r}; keep one"
            for (rater, signature), names in sent.items()
            if len(names) > 1
        ]

    def page(self, rater: str, items: list[dict[str, Any]], **further: Any) -> str:
        """HTML of the form for ``rater``; ``items`` are shown in this order, each has its ``record``."""
        data = {"format": self.format, "form": self.id, "rater": rater, "noun": self.noun, "listed": self.listed}
        package = self.package or type(self).__module__.rpartition(".")[0]
        return render_page(self.title, self.script, data | {"items": items} | further, package)

    def read(self, files: Mapping[str, str]) -> dict[str, ReturnedFile]:
        """The content of returned files (name -> text), in the order of their names.

        Raises SourceError that lists the first SHOWN problems and counts the others.
        """
        problems: list[str] = []
        read: dict[str, ReturnedFile] = {}
        for name, text in sorted(files.items()):
            content = None
            try:
                content = parse_json(text)
                read[name] = self.file.model_validate_json(text)
            except ValueError as error:  # ValidationError is one
                found = error.errors() if isinstance(error, ValidationError) else [{"loc": (), "msg": str(error)}]
                said = "; ".join(self._defect(content, one) for one in found[:SHOWN])
                more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
                problems.append(f"{name}: not a file of the {self.kind} form ({said}{more}); ask for the file again")
        for name, file in read.items():
            problems += [f"{name}: {problem}" for problem in self._problems(file)]
        problems += self.check_files(read)
        if problems:
            more = f"; and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
            raise SourceError(f"returned {self.kind} forms: " + "; ".join(problems[:SHOWN]) + more)
        return read

    def read_by_rater(self, files: Mapping[str, str]) -> list[tuple[str, ReturnedFile]]:
        """As `read`, each file with its rater's code, numbered where several share one: "reader 1", "reader 2"."""
        read = self.read(files).values()
        shared, seen = Counter(file.rater for file in read), Counter[str]()
        found = []
        for file in read:
            seen[file.rater] += 1
            found.append((f"{file.rater} {seen[file.rater]}" if shared[file.rater] > 1 else file.rater, file))
        if (name := repeated(name for name, _ in found)) is not None:
            raise SourceError(
                f"returned {self.kind} forms: two raters are {name!r}; change the code of one in its file"
            )
        return found

    def _defect(self, content: Any, error: Mapping[str, Any]) -> str:
        """A defect of a file: the item with its record, or its number from 1, the field, and what was found."""
        place = list(error["loc"])
        if len(place) > 1 and isinstance(place[1], int):
            item = content[place[0]][place[1]]
            record = item.get("record") if isinstance(item, dict) else None
            place[:2] = [f"{self.noun} {place[1] + 1 if record is None else record!s:.40}"]
        found = "" if error.get("type", "missing") == "missing" else f", found {error['input']!r:.40}"
        return f"{', '.join(map(str, place)) or 'the file'}: {error['msg']}{found}"

    def _problems(self, file: ReturnedFile) -> list[str]:
        if (file.format, file.form) != (self.format, self.id):
            return [
                f"is of form {file.format:.60} {file.form:.60}, expected {self.format} {self.id}; use the matching form"
            ]
        problems = self.check_file(file)
        seen = Counter(item.record for item in file.items)
        problems += [f"{self.noun} {record} is in the file twice" for record, n in seen.items() if n > 1]
        for item in file.items:
            if item.record in self.records:
                problems += [f"{self.noun} {item.record}: {problem}" for problem in self.check(item)]
            else:
                problems.append(f"unknown {self.noun} {item.record}")
        return problems


class Chosen(Item):
    """A reader's option for each question about one item."""

    record: str
    answers: dict[str, str]
    comment: str = Field(default="", max_length=4000)


@dataclass(frozen=True)
class Question:
    """A question of an item, by a name that a returned file has, with its options."""

    name: str
    wording: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Shown:
    """An item: what it is called in a returned file, texts with their headings, and the questions about them."""

    record: str
    sheets: tuple[tuple[str, str], ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, eq=False)
class ChoiceForm(Form):
    """A form whose ``items`` have questions with options; ``help`` are its instructions."""

    script, package, answer, listed = "choices.js", "tasks.people", Chosen, "answers"
    help: Sequence[str] = ()
    items: Sequence[Shown] = ()

    @property
    def content(self) -> str:
        """The items."""
        return json.dumps([asdict(one) for one in self.items])

    @cached_property
    def records(self) -> dict[str, Shown]:
        """The items by record."""
        return {one.record: one for one in self.items}

    def check(self, item: Chosen) -> list[str]:
        """Every question has one of its options, and nothing else is answered."""
        asked = {one.name: one.options for one in self.records[item.record].questions}
        wrong = [f"{name}: {given!r:.40}" for name, given in item.answers.items() if given not in asked.get(name, ())]
        lacking = [f"{name}: no answer" for name in asked if name not in item.answers]
        return [f"{one}; expected one of the question's options" for one in [*wrong, *lacking]]

    def filled(self, rater: str) -> str:
        """HTML of the form."""
        return self.page(rater, [asdict(one) for one in self.items], help=list(self.help))

    def chosen(self, files: Mapping[str, str]) -> pd.DataFrame:
        """The answers in returned files: rater, record, question and answer."""
        rows = [
            (rater, item.record, name, given)
            for rater, file in self.read_by_rater(files)
            for item in file.items
            for name, given in item.answers.items()
        ]
        return pd.DataFrame(rows, columns=["rater", "record", "question", "answer"], dtype="str")


@dataclass(frozen=True)
class Returned:
    """Where returned files go: to folder ``stem`` of the ``stage`` that reads them.

    ``form`` makes the current form from the stage's tables (by stem); ``outside``: the stage is of the second pipeline.
    """

    format: str
    stage: str
    stem: str
    form: Callable[[Callable[[str], pd.DataFrame], Params], Form]
    outside: bool = False


def split_by_form(files: Mapping[str, str], form: str) -> tuple[dict[str, str], dict[str, str]]:
    """Returned files (name -> text) of the form with id ``form``, and the form ids of the others by file name.

    A file without a form id counts as current, so that reading it names what is wrong with it.
    """
    ids: dict[str, Any] = {}
    for name, text in files.items():
        try:
            ids[name] = parse_json(text)["form"]
        except (ValueError, KeyError, TypeError):
            continue
    older = {name: found for name, found in ids.items() if isinstance(found, str) and found != form}
    return {name: text for name, text in files.items() if name not in older}, older


Said = tuple[str, str, str, bool]
"""Document, unit, judge (a model or a reader), and whether that judge says that it holds."""


def holding(kind: str, rows: Iterable[Said]) -> pd.DataFrame:
    """What judges say of the items of a ``kind`` of form, as VERDICTS."""
    about = {"system": LABELS, "condition": LABELS, "item": WHOLE, "metric": kind, "text": ""}
    said = [{"document": of, "unit": unit, "judge": by, "value": float(holds)} for of, unit, by, holds in rows]
    return verdict_table([{**about, **row} for row in said], judge="")


def labelled(verdicts: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """VERDICTS of a model, and those of ``people``, who are judges of a kind of their own.

    The truth of the model's is what most people say, null where nobody says anything; a tie counts as no.
    """
    keys = ["document", "unit"]
    truth = people.groupby(keys)["value"].mean().gt(0.5).astype(float)
    of_model = verdicts.assign(truth=truth.reindex(pd.MultiIndex.from_frame(verdicts[keys])).to_numpy())
    return in_order(pd.concat([of_model, people.assign(kind=PERSON)], ignore_index=True))
