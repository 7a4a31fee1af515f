"""The rules of the simulator, as the cases of cases.yaml."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path

from tasks.domains.rules import load_rules
from tasks.llm.prompts import render
from tasks.simulator.annotator import comparison, consistency, instructions, mapping
from tasks.simulator.annotator.assertion import assertion
from tasks.simulator.annotator.spans import find_spans
from tasks.simulator.clinical import findings, patient, words
from tasks.simulator.clinical.similarity import known, says
from tasks.simulator.dispatch import complete
from tasks.simulator.judge import subclaims
from tasks.simulator.judge.verdicts import entails
from tasks.simulator.request import ChatRequest
from tasks.simulator.writer.compact_version import shorten
from tests.simulator.test_writer import written
from tests.support.cases import each, read_cases

NOTE = (
    "**History**\nThe patient presents with a dry cough that has lasted a week, worse at night. The patient denies "
    "fever, shortness of breath, or chest pain. There is a known history of asthma.\n\n**Physical Examination**\n"
    "Temperature 36.8°C. Nasal mucosa is swollen with clear discharge. Lungs are clear."
)
COMPACT = (
    "**History**\nPt w/ dry cough x 1 wk, worse at night. Denies fever, SOB, or CP. Hx of asthma.\n\n"
    "**Physical Examination**\nT 36.8°C. Nasal mucosa swollen w/ clear d/c. Lungs CTA."
)
DRAWS = 20
"""Versions of a sentence in shorthand: a form is drawn once per note."""


def changed(text: str, changes: dict[str, str]) -> str:
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def prompt(**fields: object) -> str:
    """A writing prompt, with its rules of style."""
    wording = {"phrases": load_rules().phrases, "own_complaint": False, "count": 1}
    empty: dict[str, object] = {
        name: [] for name in ("mention", "avoid", "absent", "conditions", "forbidden_conditions")
    }
    fields = empty | fields
    text = render("tasks.notes", "instructions", **wording, **fields)[-1].content
    asked = {"further_symptoms": not fields["mention"], "count": 1}
    return render("tasks.notes", "note", instructions=text, **asked)[-1].content


def departed(note: str, **asked: object) -> list[str]:
    found = consistency.departures(note, instructions.read(prompt(**asked)))
    return [f"{departure.kind} {departure.about}" for departure in found]


def polarity(text: str, category: str = "symptom") -> dict[str, str]:
    return {f.concept: f.polarity for f in findings.find(text) if f.category == category}


def temperatures(text: str) -> list[list[object]]:
    read = patient.find_temperatures(text)
    return [[one.celsius, patient.temperature_level(one.celsius)] for one in read]


def spans(text: str) -> list[str]:
    return [f"**History**\n{text}"[span.start : span.end] for span in find_spans(f"**History**\n{text}")]


def departures(changes: dict[str, str], mention: list[str], avoid: list[str], conditions: list[str]) -> list[str]:
    return departed(changed(NOTE, changes), mention=mention, avoid=avoid, conditions=conditions)


def departures_unrelated(text: str) -> list[str]:
    note = f"**History**\n{text}\n\n**Physical Examination**\nThe knee is swollen."
    return departed(note, absent=["dyspnea", "cough"], forbidden_conditions=["asthma"])


def differences(changes: dict[str, str]) -> list[str]:
    return [f"{one.kind} {one.detail}" for one in comparison.differences(NOTE, changed(COMPACT, changes))]


def shorthand(sentence: str) -> set[str]:
    """All versions of a sentence."""
    found = {shorten(f"**History**\nSeen today. {sentence}", random.Random(seed)).text for seed in range(DRAWS)}
    return {text.partition("**History**\nSeen today.")[2].strip().lower() for text in found} - {""}


def task_prompt(task: str, tags: dict[str, str]) -> str:
    return "\n".join([f"Task: {task}\n", *(f"<{name}>\n{text}\n</{name}>" for name, text in tags.items())])


def reply(model: str, task: str, tags: dict[str, str]) -> str:
    return complete(ChatRequest(f"vignette-{model}", (("user", task_prompt(task, tags)),)))


def some_note(lines: list[str], avoid: list[str], pattern: str) -> bool:
    return any(re.search(pattern, known.text) for known in written(*lines, avoid=tuple(avoid)))


def every_note(lines: list[str], avoid: list[str], pattern: str) -> bool:
    return all(re.search(pattern, known.text) for known in written(*lines, avoid=tuple(avoid)))


FORMS: dict[str, Callable[..., object]] = {
    "polarity": polarity,
    "other_polarity": polarity,
    "of_others": lambda text: [f.concept for f in findings.find(text) if f.other],
    "temperatures": temperatures,
    "expanded": words.expand,
    "age_and_sex": lambda text: sorted({mention.what for mention in patient.find_age_and_sex(text)}),
    "says": says,
    "spans": spans,
    "asserted": lambda sentence, symptom, phrase: assertion(f"Dry.\n{sentence}", symptom, phrase, sentence),
    "departures": departures,
    "departures_unrelated": departures_unrelated,
    "differences": differences,
    "mapped": lambda phrase: mapping.map_phrases(NOTE, COMPACT, [phrase])[0],
    "same_meaning": mapping.same_meaning,
    "corrected": lambda phrase: mapping.correct(NOTE, phrase),
    "entailed": entails,
    "some_shorthand": lambda sentence, part: any(part in version for version in shorthand(sentence)),
    "all_shorthand": lambda sentence, part: all(part in version for version in shorthand(sentence)),
    "claims": subclaims.claims_of,
    "dialogue_facts": subclaims.dialogue_facts,
    "reply": reply,
    "some_note": some_note,
    "every_note": every_note,
}


@each("form, given, expected", read_cases(Path(__file__).with_name("cases.yaml")))
def test_a_rule(form: str, given: list[object], expected: object) -> None:
    assert FORMS[form](*given) == expected


def test_spans_have_the_names_that_the_prompt_gives_the_symptoms() -> None:
    for name, text in (("cough", "dry cough that has lasted a week, worse at night"), ("airway pain", "chest pain")):
        messages = [(m.role, m.content) for m in render("tasks.spans", "extract", note=NOTE, symptoms=[name], facts=[])]
        ((span,),) = json.loads(complete(ChatRequest("vignette-annotator", tuple(messages)))).values()
        assert span["symptom"] == name and text in span["text"]


FACTS = """F0: The patient has a dry cough.
F1: The patient has had a dry cough at night since the holidays in Spain.
F2: The chest X-ray shows an infiltrate.
F3: The patient uses an inhaler.
F4: The patient smokes.
F5: The patient has chills."""


def test_every_fact_is_given_a_verdict_of_omission() -> None:
    text = reply("judge", "find omitted facts", {"facts": FACTS, "summary": "He has a dry cough at night. He smokes."})
    found = {one["fact"]: one["included"] for one in json.loads(text)["facts"]}
    assert found == {"F0": "yes", "F1": "partly", "F2": "no", "F3": "no", "F4": "yes", "F5": "no"}


def test_groups_of_one_mechanism_have_the_kind_of_most_of_their_facts() -> None:
    asked = {"pneumonia": FACTS.replace("F3", "F9"), "copd": "F0: He smokes.", "asthma": "F3: He uses an inhaler."}
    kinds = {}
    for name, facts in asked.items():
        groups = json.loads(reply("judge", "group facts by mechanism", {"diagnosis": name, "facts": facts}))["groups"]
        kinds |= {(name, group["mechanism"]): (group["kind"], group["facts"]) for group in groups}
    assert kinds["pneumonia", "infection of the lower airways"] == ("symptom", ["F0", "F1", "F2", "F5"])
    assert kinds["copd", "exposure"] == ("social", ["F0"])
    assert kinds["asthma", "airway obstruction"] == ("treatment", ["F3"])


def test_a_second_question_empties_pairs_that_differ() -> None:
    pairs = [{"phrase": "denies cough", "match": "no cough"}, {"phrase": "denies cough", "match": "c/o cough"}]
    asked = ("user", render("tasks.spans", "same_meaning")[-1].content)
    messages = (("user", "Task: map phrases"), ("assistant", json.dumps({"pairs": pairs})), asked)
    kept = json.loads(complete(ChatRequest("vignette-annotator", messages)))["pairs"]
    assert [pair["match"] for pair in kept] == ["no cough", ""]
    assert json.loads(complete(ChatRequest("vignette-annotator", (asked,))))["pairs"] == []


@each("text", ["", "**History**", "....", "é☃" * 50, "no " * 500, "(", "denies " * 200 + "cough"])
def test_odd_notes_are_answered(text: str) -> None:
    tags = {"note": text, "compact": text, "instructions": prompt(mention=["cough: yes"], avoid=[], conditions=[])}
    for task in (
        "extract symptom spans",
        "check a clinical note for consistency",
        "compare a compact note with the note",
    ):
        assert json.loads(reply("annotator", task, tags))


def test_every_descriptor_matches_its_wording() -> None:
    # The heads of patterns are the published descriptors (SimSUM, Table 2); each must recognise its own wording.
    assert [name for name in known() if not says(name, name)] == []
    assert len(words.abbreviations()) >= 300


def test_abbreviations_keep_their_capitals_in_answers_and_choices() -> None:
    note = "**History**\nKnown with COPD. She has had a cough for a week."
    asked = {
        "notes": f"<note>\nPatient: 1\nNote: 1\nDate: 2024-01-02\n\n{note}\n</note>",
        "question": "Which underlying condition does the note charted on 2024-01-02 mention?",
    }
    assert reply("vignette-answerer", "answer a question from notes", asked) == "COPD."
    choices = json.loads(reply("vignette-annotator", "write answer choices", asked))
    assert choices[choices["correct"]] == "COPD"
    offered = asked | {"choices": "A: Asthma\nB: COPD\nC: Hay fever\nD: Smoking\nE: Diabetes"}
    assert reply("vignette-answerer", "answer a multiple-choice question", offered) == "Answer: B: COPD"
