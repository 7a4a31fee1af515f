"""A model rates notes as people do; a failed rating is counted and gives no score."""

import asyncio

import pytest
from pydantic import ValidationError

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
CODES = ["1A/cough", "1A/fever", "1D/diagnosis"]


def test_a_penalty_that_the_prompt_does_not_have_is_refused_with_the_codes() -> None:
    with pytest.raises(ValidationError, match=r"'2B/cough' is not the code of a penalty; codes are 1A/cough, 1A/fever"):
        Rating.model_validate({**GIVEN, "penalties": ["2B/cough"]}, context={"penalties": CODES})
    assert Rating.model_validate({**GIVEN, "penalties": ["2B/cough"]}).penalties == ["2B/cough"]


@pytest.mark.parametrize("name", SCALES)
@pytest.mark.parametrize("value", [0, 6])
def test_ratings_are_from_1_to_5(name: str, value: int) -> None:
    with pytest.raises(ValidationError, match=name):
        Rating.model_validate({**GIVEN, name: value, "penalties": []})


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
