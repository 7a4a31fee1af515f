"""Forms of closed questions about texts that are shown: a specification lists both, and the page asks them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import pandas as pd
from pydantic import Field

from tasks.people.forms import Form, Item


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
