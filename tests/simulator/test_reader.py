"""The reader: negation, spans, entailment, answers and checks on sentences of plain meaning, and its errors."""

import json

import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from tasks.simulator.dispatch import complete
from tasks.simulator.reader.entailment import align, entails
from tasks.simulator.reader.findings import find
from tasks.simulator.reader.lexicon import is_held_out
from tasks.simulator.reader.spans import find_spans
from tasks.simulator.reader.verdicts import diagnoses, evidence
from tasks.simulator.request import ChatRequest
from tasks.texts.judged_units import read_k_qa
from tests.simulator.test_writer import written
from tests.support.sources import needs_sources, sources_folder

NOTE = (
    "**History**\nThe patient reports a dry cough for five days, worse at night. There is no fever. "
    "Denies dyspnea and respiratory pain.\n\n**Physical Examination**\nTemperature 36.8°C. Lungs are clear."
)


def task_prompt(task: str, tags: dict[str, str]) -> str:
    return "\n".join([f"Task: {task}\n", *(f"<{name}>\n{text}\n</{name}>" for name, text in tags.items())])


def reply(model: str, task: str, **tags: str) -> str:
    return complete(ChatRequest(f"vignette-{model}", (("user", task_prompt(task, tags)),)))


@pytest.mark.parametrize(
    ("text", "polarity"),
    [
        ("The patient has a cough.", "present"),
        ("No cough, fever or chills.", "absent"),
        ("The patient denies cough.", "absent"),
        ("Cough was not observed.", "absent"),
        ("Denies fever but reports a cough.", "present"),
        ("No relief of the cough was obtained.", "present"),
        ("Return if a cough develops.", "uncertain"),
        ("The mother has a cough.", "uncertain"),
    ],
)
def test_a_trigger_governs_up_to_its_termination(text: str, polarity: str) -> None:
    assert [f.polarity for f in find(text) if f.concept == "cough"] == [polarity]


def test_spans_are_clauses_of_mentions_and_denials_from_their_trigger() -> None:
    found = {span.symptom: NOTE[span.start : span.end] for span in find_spans(NOTE)}
    assert found["cough"].endswith("dry cough for five days, worse at night")
    assert found["dyspnea"].startswith("Denies") and found["fever"].endswith("no fever")


def test_a_tenth_of_wordings_and_sentences_escapes_and_no_single_word() -> None:
    wordings = [f"pain of the chest {number}" for number in range(2000)]
    assert 0.08 < sum(map(is_held_out, wordings)) / len(wordings) < 0.12
    assert not is_held_out("cough")
    lost = [one for one in wordings if is_held_out(one)]
    assert not any(entails(one, one) for one in lost) and all(entails(one, one, given="") for one in lost)
    listed = json.loads(reply("judge", "list subclaims", text=f"{NOTE}\n{lost[0]}"))["claims"]
    assert listed and lost[0] not in listed


def test_spans_of_written_notes_are_found_most_times() -> None:
    """Not all of them: the reader errs like a model. The truth is the writer's own marks."""
    hit = ours = theirs = 0
    labels = {"pain": "respiratory pain", "nasal": "nasal symptoms"}
    for known in written("cough: yes, dry", "fever: low", "dyspnea: no", "respiratory pain: yes, constant"):
        found = [(span.symptom, {*range(span.start, span.end)}) for span in find_spans(known.text)]
        for span in known.spans:
            gold = labels.get(span.symptom, span.symptom), {*range(span.start, span.end)}
            hit += any(name == gold[0] and len(at & gold[1]) >= len(at | gold[1]) / 2 for name, at in found)
        ours, theirs = ours + len(found), theirs + len(known.spans)
    assert 0.75 < 2 * hit / (ours + theirs) < 0.99


@pytest.mark.parametrize(
    ("text", "claim", "conflict"),
    [
        (NOTE, "The patient has had a dry cough for five days.", None),
        (NOTE, "The patient does not have a fever.", None),
        (NOTE, "The patient has had a dry cough for six days.", "number"),
        (NOTE, "The patient has had a dry cough for five weeks.", "number"),
        (NOTE, "The patient has a fever.", "negation"),
        ("The left knee hurts.", "The right knee hurts.", "side"),
        ("The patient takes apixaban daily.", "The patient takes dabigatran daily.", "rare word"),
        ("The patient's headache is mild.", "The patient's headache is severe.", "degree"),
        ("The patient has asthma.", "The patient's mother has asthma.", "person"),
        ("The patient possibly has a rash.", "The patient has a rash.", "certainty"),
        ("Doctor: Do you smoke?\nPatient: No.", "The patient does not smoke.", None),
        ("Doctor: Do you smoke?\nPatient: No.", "The patient smokes.", "negation"),
        ("On 3 May, the patient denied fever.", "Fever was denied on 3 May.", None),
        ("On 3 May, the patient denied fever.", "The patient had a fever on 3 May.", "negation"),
        ("The patient denied fever.", "The patient denied fever on 3 May.", "place of a number"),
        ("Visit 1, 2024-05-03 (day 0)\n**History**\nDenies fever.", "No fever on 2024-05-03.", None),
        ("Doctor: Any chest pain?\nPatient: Yes, since Monday.", "The patient has chest pain.", None),
    ],
)
def test_a_claim_is_entailed_by_a_place_that_covers_it_without_conflict(
    text: str, claim: str, conflict: str | None
) -> None:
    aligned = align(text, claim)
    assert aligned is not None and aligned.conflict == conflict
    assert entails(text, claim) is (conflict is None)


@needs_sources
def test_a_clinician_reads_a_paraphrase_freely() -> None:
    """Cohen's kappa with the majority of three physicians on K-QA; a strict reading finds next to none."""
    documents, rows = read_k_qa(sources_folder())
    answers, units = {one.id: one for one in documents}, pd.DataFrame(rows)
    said = []
    for (name, system, _, claim), own in units.groupby(["document", "system", "unit", "text"], sort=False):
        answer = answers[name].outputs[system], claim
        entailed = entails(*answer, given=answers[name].heading or ""), entails(*answer)
        said.append((sum(own["verdict"] == "entailed") >= 2, *entailed))
    people, freely, strictly = zip(*said, strict=True)
    assert cohen_kappa_score(people, freely) >= 0.35
    assert cohen_kappa_score(people, freely) > cohen_kappa_score(people, strictly)


def test_the_differential_is_the_posterior_of_the_network() -> None:
    sick, well = (diagnoses(evidence(text)) for text in ("A dry cough and a high fever of 39.5°C.", "No fever."))
    assert sick["pneumonia"] > diagnoses(())["pneumonia"] > well["pneumonia"]
    facts = "F1: The patient has a high fever.\nF2: The patient likes tea."
    differential = "pneumonia: probable\ncommon cold: possible"
    asked = {"facts": facts, "differential": differential}
    graded = json.loads(reply("judge", "grade the importance of facts", **asked))["facts"]
    assert graded[0]["category"] != "other" and graded[1]["category"] == "other"
    found = json.loads(reply("judge", "find supporting facts", **asked))["clusters"]
    assert [fact["fact"] for fact in found[0]["facts"]] == ["F1"]


def test_claims_are_clauses_and_an_answer_is_a_fact_with_its_question() -> None:
    text = "He has a cough; the knee is swollen and he has no fever."
    listed = json.loads(reply("judge", "list subclaims", text=text))
    assert listed["claims"] == ["He has a cough", "the knee is swollen", "he has no fever."]
    assert json.loads(reply("judge", "list subclaims", text="Unremarkable"))["claims"] == ["Unremarkable"]
    turns = ("[doctor] any fever ?", "[patient] no .", "[doctor] since when ?", "[patient] i cough since last week .")
    dialogue = "\n".join(turns)
    facts = json.loads(reply("judge", "list facts", text=dialogue))["medical"]
    assert facts[0] == "The patient denies: any fever." and "i cough since last week" in facts[1]


@pytest.mark.parametrize(
    ("lines", "consistent"),
    [
        ("- cough: yes, dry\n- fever: no", True),
        ("- cough: no\n- fever: no", False),
        ("- cough: yes, dry\n- fever: high", False),
        ("- cough: yes, productive", False),
    ],
)
def test_a_note_is_checked_against_its_instructions(lines: str, *, consistent: bool) -> None:
    asked = f"The note must mention these symptoms, as they are given here:\n{lines}\n"
    found = json.loads(reply("annotator", "check a clinical note for consistency", note=NOTE, instructions=asked))
    assert found["consistent"] is consistent, found


def test_a_compact_version_that_loses_or_changes_a_detail_is_told_from_one_that_does_not() -> None:
    def same(compact: str) -> bool:
        said = reply("annotator", "compare a compact note with the note", note=NOTE, compact=compact)
        return bool(json.loads(said)["same"])

    assert same("Dry cough x 5 days, worse at night. No fever. Denies SOB, resp pain.")
    assert not same("Dry cough x 6 days. No fever. Denies SOB, resp pain.")
    assert not same("Dry cough x 5 days. Denies SOB, resp pain.")


@pytest.mark.parametrize(
    ("question", "choices", "letter"),
    [
        (
            "What does the note charted on 2024-01-02 say about cough and fever?",
            "Cough and no fever",
            "A",
        ),
        ("How is the patient's cough described in the note charted on 2024-01-02?", "As dry", "A"),
        ("How is the patient's nasal symptoms described in the note charted on 2024-01-02?", "As dry", "B"),
    ],
)
def test_an_answer_is_the_best_covered_choice_or_that_the_notes_do_not_tell(
    question: str, choices: str, letter: str
) -> None:
    charted = f"<note>\nPatient: 1\nNote: 1\nDate: 2024-01-02\n\n{NOTE}\n</note>"
    listed = f"A: {choices}\nB: The notes do not tell\nC: No cough and fever"
    said = reply("answerer", "answer a multiple-choice question", notes=charted, question=question, choices=listed)
    assert said.startswith(f"Answer: {letter}: ")
    judged = {"question": question, "right": choices, "choices": ""}
    assert reply("judge", "judge an answer", output=choices, **judged) == "yes"
    assert reply("judge", "judge an answer", output="The notes do not tell.", **judged) == "no"
