"""Forms of a run as people would return them, filled in by simple rules so that raters agree on most answers."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from schemas.tables.people import SCALES
from tests.measures import med_omit_examples
from tests.support.one_process import InProcess

Item = dict[str, Any]


def _ratings(at: int, rater: int, item: Item) -> Item:
    choices = [(part["part"], one["item"]) for part in item["parts"] for one in part["items"]]
    penalised = choices[at % len(choices) : at % len(choices) + 1] if choices and (at + rater) % 3 == 0 else []
    scores = {name: 1 + (at + place + rater * (place % 2)) % 5 for place, name in enumerate(SCALES)}
    return {"penalties": {part: [one] for part, one in penalised}, "ratings": scores}


def _revision(at: int, _: int, item: Item) -> Item:
    wording = item["wording"] + (" Please answer." if at % 3 == 0 else "")
    decision = "remove" if at % 4 == 3 else "keep"
    return {"decision": decision, "wording": wording, "choices": item["choices"], "answer": item["answer"]}


def _checked(at: int, _: int, item: Item) -> Item:
    wrong = [at // 2 % len(item["spans"])] if item["spans"] and at % 2 == 0 else []
    stated = [number for number, span in enumerate(item["spans"]) if "assertion" in span and number not in wrong]
    corrected = [{"span": number, "assertion": "absent"} for number in stated[:1] if at % 3 == 0]
    return {"incorrect": wrong, "missing": [], "corrected": corrected}


FORMS: dict[str, tuple[str, str, int, Callable[[int, int, Item], Item]]] = {
    "review_returned": ("forms", "notes", 2, _ratings),
    "questions_returned": ("question_form", "questions", 1, _revision),
    "spans_returned": ("span_form", "notes", 1, _checked),
    **med_omit_examples.RETURNED,
}
"""By the folder of returned files: the form, the kind of its items, how many people return it, and their answers."""


class Returned(InProcess):
    """A stage in process to which people returned its forms as soon as it had written them."""

    def returned(self, stem: str, form: str) -> dict[str, str]:
        """What people make of the form that the stage has just written."""
        if stem not in FORMS:
            return super().returned(stem, form)
        out, items, people, answer = FORMS[stem]
        pages = sorted(self.out(out).glob("*.html")) if self.out(out).is_dir() else [self.out(out)] * people
        return {f"{number}.json": _file(page, items, number, answer) for number, page in enumerate(pages[:people])}


def _file(page: Path, items: str, number: int, answer: Callable[[int, int, Item], Item]) -> str:
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.S
    )
    assert found, f"{page}: no data of a form"
    data = json.loads(found[1])
    shown = sorted(data["items"], key=lambda item: str(item["record"]))
    answers = [{"record": item["record"]} | answer(at, number, item) for at, item in enumerate(shown)]
    about = {name: data[name] for name in ("format", "form", "rater")}
    return json.dumps(about | {"signature": f"Reader {number}", "complete": True, items: answers})
