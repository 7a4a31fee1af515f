"""A model rates notes as people do; a failed rating is counted and gives no score."""

import asyncio

from schemas.tables.people import SCALES
from tasks.llm.calls import Call, Reply
from tasks.people.rating_form import FOLLOWED, Rating, rate_notes, rating_call
from tests.support.review import RUBRIC, drawn
from tests.support.scripted import ScriptedAsk

GIVEN = {
    "reason": "r",
    "realism_history": 5,
    "realism_physical_examination": 4,
    "clinical_accuracy": 3,
    "compact_content": 2,
    "compact_readability": 1,
}


def test_ratings_and_penalties_become_rows_and_a_failure_is_counted() -> None:
    notes = drawn()
    failing = int(notes["record"].min())

    def said(call: Call) -> Reply | Exception:
        if call.key.startswith(f"{failing}/"):
            return ValueError("no answer")
        codes = call.context["penalties"]
        return Rating(penalties=[codes[1], codes[0], codes[1]], **GIVEN)

    rated, unscored = asyncio.run(rate_notes(notes, RUBRIC, ScriptedAsk(said), "judge"))
    assert unscored.values.tolist() == [[str(failing), "review/rating", "no answer", "raw reply"]]
    assert set(rated["document"]) == set(notes["record"].astype(str)) - {str(failing)}
    assert set(rated["judge"]) == {"judge"} and set(rated["kind"]) == {"model"}
    record = int(notes["record"].max())
    own = rated[rated["document"] == str(record)].set_index(["metric", "unit"])["value"]
    assert {name: own[name, name] for name in SCALES} == {name: GIVEN[name] for name in SCALES}
    row = next(row for row in notes.to_dict("records") if row["record"] == record)
    denied = own[FOLLOWED][own[FOLLOWED] == 0]
    assert sorted(denied.index) == sorted(rating_call(row, RUBRIC).context["penalties"][:2])
