"""Facts of visits follow from the table; notes state them, refer back, and are checked for contradictions."""

import asyncio
import json
from typing import Any

import pandas as pd
import pytest

from schemas.params.history import VisitNotes
from schemas.tables.visits import VISIT_NOTES
from tasks.domains.in_use import domain_names, in_domain
from tasks.network.visits import date_of
from tasks.notes.consistency import ConsistencyReply, consistency_call
from tasks.simulator.writer.visits import WrittenVisit, visit_note
from tasks.visits.facts import Fact, facts_of, history_facts
from tasks.visits.prompting import CHECK, visit_prompts, write_visit_notes
from tests.simulator.test_writer import request
from tests.support.histories import facts_by_patient, random_visits, worder_of
from tests.support.scripted import DirectAsk, ScriptedAsk

NONE: dict[str, float] = {}
PARAMS = VisitNotes()


def prompts_of(domain: str, patients: int, seed: int = 3) -> pd.DataFrame:
    return visit_prompts(random_visits(domain, patients, seed=seed), worder_of(domain), 7)


@pytest.mark.parametrize("domain", domain_names())
def test_a_prompt_asks_for_each_symptom_that_is_or_was_present_and_states_what_was_known(domain: str) -> None:
    visits, worder = random_visits(domain, 60), worder_of(domain)
    prompts = visit_prompts(visits, worder, 7).set_index("record")["prompt"]
    rules, checked = worder.rules, 0
    for patient, own in visits.groupby("patient"):
        history = own.sort_values("visit").to_dict("records")
        for before, visit in zip([None, *history], history, strict=False):
            prompt, covered = prompts[visit["record"]], prompts[visit["record"]].partition("must not be mentioned")[0]
            for symptom in rules.symptoms:
                here = visit[symptom] != rules.absent_value[symptom]
                carried = before is not None and before[symptom] != rules.absent_value[symptom]
                if here or carried:
                    assert f"- {rules.labels[symptom]}: {visit[symptom]}" in covered
                if carried:
                    was = (
                        f"{rules.labels[symptom]}: {before[symptom]} at the visit of {date_of(patient, before['day'])}"
                    )
                    assert was in prompt
                    checked += 1
            assert ("**Course**" in prompt) == ("Known before this visit:" in prompt)
    assert checked > 50


@pytest.mark.parametrize("domain", domain_names())
def test_the_simulators_notes_of_visits_are_dated_and_almost_all_consistent(domain: str) -> None:
    with in_domain(domain):
        prompts = prompts_of(domain, 12)
        writer, annotator = DirectAsk("vignette-writer"), DirectAsk("vignette-annotator")
        notes, unscored = asyncio.run(write_visit_notes(prompts, writer, annotator, PARAMS))
    VISIT_NOTES.validate(notes)
    assert len(notes) == len(prompts) and unscored.empty
    assert notes["consistent"].mean() > 0.9
    for note in notes.itertuples():
        assert note.text.startswith(f"Visit {note.visit}, {date_of(note.patient, note.day)} (day {note.day})\n\n**Hist")
        assert ("**Course**" in note.text) >= (note.visit > 1)


def verdict(prompt: str, note: str, instructions: str) -> bool:
    call = consistency_call("1/check", instructions, note, check=CHECK)
    reply = asyncio.run(DirectAsk("vignette-annotator")([call]))[0].value
    assert isinstance(reply, ConsistencyReply)
    return reply.consistent


@pytest.fixture(scope="module")
def written() -> list[tuple[Any, WrittenVisit]]:
    """Prompts of visits, each with its note, some of which contradict an earlier visit."""
    return [
        (row, visit_note(request(row.prompt, row.record), NONE)) for row in prompts_of("respiratory", 160).itertuples()
    ]


def test_the_check_finds_planted_contradictions_between_visits_and_passes_notes_without(written) -> None:
    found = {True: [], False: []}
    for row, note in written:
        planted = note.error is not None
        if planted or row.record % 9 == 0:
            found[planted].append(verdict(row.prompt, note.text, row.instructions))
    assert len(found[True]) >= 5, "too few contradictions are planted to tell"
    assert sum(found[True]) <= 0.15 * len(found[True])
    assert sum(found[False]) >= 0.9 * len(found[False])


def test_a_planted_contradiction_is_of_the_last_visit_and_seen_in_the_course_only(written) -> None:
    wrong = [(row, note) for row, note in written if note.error]
    assert wrong
    for row, note in wrong:
        assert note.error is not None and note.error.kind == "earlier_visit"
        assert f"- {note.error.item}: " in row.instructions.partition("Known before this visit:")[2]
        assert note.text.startswith(note.today.text)


def test_a_flagged_note_is_written_anew_and_a_decision_that_is_missing_is_flagged() -> None:
    prompts = prompts_of("respiratory", 3)
    writer = DirectAsk("vignette-writer")
    rejects = iter([False] * len(prompts))
    check = ScriptedAsk(lambda call: ConsistencyReply(explanation="no", consistent=next(rejects, True)))
    notes, _ = asyncio.run(write_visit_notes(prompts, writer, check, PARAMS))
    assert notes["consistent"].all() and len(check.calls) == 2 * len(prompts)
    row = next(row for row in prompts.itertuples() if "Decided at this visit" in row.instructions)
    note = visit_note(request(row.prompt), NONE).text
    undecided = f"{note.partition('**Plan**')[0]}**Plan**\nNo treatment."
    assert not verdict(row.prompt, undecided, row.instructions)


def test_a_reply_without_sections_is_unscored_and_named() -> None:
    prompts = prompts_of("respiratory", 2)
    nothing = ScriptedAsk(lambda call: "I am sorry.")
    notes, unscored = asyncio.run(write_visit_notes(prompts, nothing, nothing, PARAMS))
    assert notes.empty and len(unscored) == len(prompts)
    assert set(unscored["step"]) == {"visit_note"} and json.loads(f"[{unscored['record'].iloc[0]}]")


def test_facts_do_not_depend_on_the_order_of_rows_or_on_other_patients() -> None:
    visits, worder = random_visits("respiratory", 30), worder_of("respiratory")
    whole = history_facts(visits, worder)
    pd.testing.assert_frame_equal(history_facts(visits.sample(frac=1, random_state=1), worder), whole)
    alone = history_facts(visits[visits["patient"] == 7], worder)
    pd.testing.assert_frame_equal(alone, whole[whole["patient"] == 7].reset_index(drop=True))


def test_a_symptom_that_returns_is_two_episodes_and_the_last_goes_on() -> None:
    worder = worder_of("respiratory")
    visits = random_visits("respiratory", 1, most=1).to_dict("records")[0]
    values = ["yes", "yes", "no", "yes"]
    history = [{**visits, "visit": n + 1, "day": 10 * n, "cough": value} for n, value in enumerate(values)]
    coughs = [fact for fact in facts_of(history, worder) if fact.item == "cough"]
    assert coughs == [Fact("episode", "cough", 0, end=20), Fact("episode", "cough", 30)]
    assert worder.claim(coughs[0], 0).endswith("ended by 2012-10-13.")
    assert "ended" not in worder.claim(coughs[1], 0)


@pytest.mark.parametrize("domain", domain_names())
def test_claims_tell_all_facts_of_a_patient_apart_and_denials_are_none_of_them(domain: str) -> None:
    visits, worder = random_visits(domain, 200), worder_of(domain)
    for patient, facts in facts_by_patient(history_facts(visits, worder)).items():
        claims = {worder.claim(fact, patient) for fact in facts}
        statements = {worder.statement(fact, patient) for fact in facts}
        assert len(claims) == len(statements) == len({fact.key for fact in facts}) == len(facts)
        assert not {worder.denial(fact, patient) for fact in facts} & statements
