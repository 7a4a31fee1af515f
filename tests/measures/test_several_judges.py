"""Several judges: one of them lists, each request is asked once, and verdicts are yes or no."""

import asyncio

from schemas.tables.verdicts import LOST, verdict_table
from tasks.llm.calls import Answer, Call, Message, Reply
from tasks.measures.doclens.subclaims import Subclaims
from tasks.measures.several_judges import EACH, Divided, Once, verdicts_of
from tests.support.scripted import ScriptedAsk


def test_one_judge_lists_and_the_other_judges() -> None:
    lister, judge = (ScriptedAsk(lambda call, said=said: f"{said} {call.key}") for said in ("list", "verdict"))
    calls = [Call(key, (), reply) for key, reply in (("a", Subclaims), ("b", None), ("c", Subclaims), ("d", Reply))]
    answers = asyncio.run(Divided(lister, judge)(calls))
    assert [one.text for one in answers] == ["list a", "verdict b", "list c", "verdict d"]


def test_each_request_is_asked_once_and_answered_under_every_key() -> None:
    asked = ScriptedAsk(lambda call: ValueError("refused") if call.key.startswith("b") else call.key)
    once = Once(asked)

    async def twice() -> list[Answer]:
        first, then = ([Call(key, (Message("user", key[0]),)) for key in keys] for keys in (["a1", "b1"], ["b2", "c1"]))
        return await once([*first, *first]) + await once(then)

    found = [(one.key, one.text or one.failure) for one in asyncio.run(twice())]
    assert found == [("a1", "a1"), ("b1", "refused")] * 2 + [("b2", "refused"), ("c1", "c1")]
    assert [one.key for one in asked.calls] == ["a1", "b1", "c1"]


def test_verdicts_are_yes_for_more_than_half_and_none_for_what_could_not_be_listed() -> None:
    about = {"document": "1", "system": "s", "condition": "json", "item": "all"}
    units = [("0", "x", 1.0), ("1", "x", 0.5), ("2", "x", None), ("3", "x", 0.6), ("4", "", 1.0), (LOST, "x", None)]
    rows = [{**about, "unit": unit, "text": text, "value": value} for unit, text, value in units]
    metrics = {"doclens": "claim_recall", "note_qa": "qa_free_text"}
    made = {of: verdict_table([{**row, "metric": one} for row in rows], judge="m") for of, one in metrics.items()}
    for several, condition in ((False, "json"), (True, EACH)):
        found = verdicts_of(made, "j", several_readings=several).fillna({"value": -1}).groupby("metric")
        assert found["value"].agg(list).to_dict() == {"claim_recall": [1, 0, -1, 1], "qa_free_text": [1, 0, -1, 1, 1]}
        assert found["condition"].unique().map(list).to_dict() == {
            "claim_recall": [condition],
            "qa_free_text": ["json"],
        }
