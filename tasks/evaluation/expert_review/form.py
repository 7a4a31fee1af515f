"""The rating form: one HTML file per rater, which can be sent by e-mail."""

import json
from typing import Any

import pandas as pd

from tasks.evaluation.expert_review.draw import form_id, rater_order
from tasks.evaluation.expert_review.rubric import rubric
from tasks.evaluation.forms.page import render_page

FORMAT = "vignette-review"


def render_form(drawn: pd.DataFrame, rater: str, *, seed: int) -> str:
    """HTML of one rater's form for the drawn notes (REVIEW_NOTES).

    Notes for practice come first, the same for every rater; the others follow in the order of `rater_order`.
    """
    by_record = drawn.set_index("record")
    practice, counted = (sorted(by_record.index[by_record["practice"] == value]) for value in (True, False))
    order = [*practice, *rater_order(counted, rater, seed=seed)]
    items = [_item(record, by_record.loc[record]) for record in order]
    data = {
        "format": FORMAT,
        "form": form_id(drawn),
        "rater": rater,
        "noun": "note",
        "items": items,
        "rubric": _rubric(),
    }
    return render_page("Rating clinical notes", "review.js", data)


def _item(record: int, row: pd.Series) -> dict[str, Any]:
    return {
        "record": int(record),
        "prompt": row["prompt"],
        "note": row["note"],
        "compact": row["compact"],
        "practice": bool(row["practice"]),
        "parts": json.loads(row["parts"]),
    }


def _rubric() -> dict[str, Any]:
    instructions = rubric()
    scales = [
        {"name": name, **scale, "meanings": {str(value): text for value, text in scale["meanings"].items()}}
        for name, scale in instructions["scales"].items()
    ]
    return {
        "introduction": instructions["introduction"],
        "consistency": instructions["consistency"],
        "scales": scales,
        "questions": instructions["questions"],
    }
