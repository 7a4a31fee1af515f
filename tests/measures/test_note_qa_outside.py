"""Question answering on the user's MIMIC-IV notes: the stage on invented files, and by an endpoint."""

import asyncio
import gzip
import json
import re
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pandas as pd
import pytest

from flows.repository.params import load_params
from flows.runtime.tables import check
from flows.stages import note_qa
from schemas.errors import SourceError
from schemas.params.llm import Role
from schemas.params.measures import NoteQa, NoteQaOutside
from schemas.tables.metrics import METRICS
from schemas.tables.note_qa import LETTERS, PATIENT_NOTES, QUESTIONS
from schemas.tables.verdicts import VERDICTS
from tasks.measures.note_qa.questions import discharge_file, read_patients, read_questions, sample_patients
from tasks.people.question_form import CATEGORIES, OutsideQuestionForm
from tasks.transport.fingerprint import Fingerprint
from tasks.transport.store import ResponseStore
from tests.support.endpoints import asker
from tests.support.hosted import Body, Hosted, completion, hosted
from tests.support.imports import ROOT
from tests.support.memory_stage import MemoryStage
from tests.support.mimic_like import write_mimic_like
from tests.support.qa import PARAMS

SECOND = Role(base_url="simulator", model="vignette-answerer")


def _stage(folder, *, questions=True, answerers=(), **settings) -> MemoryStage:
    write_mimic_like(folder / "sources" / "ehrnoteqa", questions=questions)
    params = load_params(ROOT / "params.yaml")
    chosen = params.note_qa.model_copy(update={"versions": ["normal", "none"], "judge_takes": 2} | settings)
    outside = NoteQaOutside(answerers=dict.fromkeys(answerers, SECOND))
    stage = MemoryStage(
        params.model_copy(update={"note_qa": chosen, "note_qa_outside": outside}), folder, "note_qa_outside"
    )
    stage.sources = folder / "sources"
    return stage


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A run with EHRNoteQA's questions, two answerers, and a returned form."""
    folder = tmp_path_factory.mktemp("mimic")
    stage = _stage(folder, answerers=["second"])
    asyncio.run(note_qa.run_note_qa_outside(stage))
    written = stage.tables["written_questions"]
    rows = [
        {"record": row.question, "decision": "remove" if i == 0 else "keep", "wording": row.wording,
         "choices": json.loads(row.choices), "answer": row.answer, "category": CATEGORIES[i % 2]}
        for i, row in enumerate(written.itertuples())
    ]  # fmt: skip
    form = OutsideQuestionForm(written)
    file = {"format": form.format, "form": form.id, "rater": "a", "questions": rows}
    stage.forms["outside_questions_returned"] = {"a.json": json.dumps(file)}
    asyncio.run(note_qa.run_note_qa_outside(stage))
    return stage


def test_questions_answers_and_verdicts_of_every_answerer_are_saved_as_tables(done):
    written = check(done.tables["written_questions"], QUESTIONS, "written")
    verdicts = check(done.tables["note_qa_outside_judged"], VERDICTS, "verdicts")
    assert len(written) == 9 and set(written["notes"]) == {1, 2, 3}
    assert verdicts.groupby("system")["document"].nunique().to_dict() == {"answerer": 8, "second": 8}
    judged = verdicts[verdicts["metric"] == "score"]
    assert judged.groupby(["system", "condition"])["unit"].nunique().eq(2).all()
    assert "second" in done.asked


def test_the_simulator_answers_questions_on_discharge_summaries_better_with_them_than_without(done):
    table = check(done.tables["note_qa_outside"], METRICS, "metrics")
    scores = table[(table["metric"] == "score") & (table["item"] == "all")].set_index(["system", "condition"])["value"]
    assert scores["second", "multiple_choice/normal"] > scores["second", "multiple_choice/none"]


def test_removed_questions_are_not_asked_and_categories_are_compared_with_table_3(done):
    assert len(done.tables["questions"]) == len(done.tables["written_questions"]) - 1
    table = done.tables["note_qa_outside"]
    shares = table[table["metric"] == "category_share"].set_index("item")
    assert shares["n"].eq(8).all() and shares.loc["assessment", "value"] == 0.5
    rows = done.tables["reproduction_note_qa_outside"].set_index("row")
    assert (rows.loc["assessment", "published"], rows.loc["assessment", "reproduced"]) == (20, 50)


def test_the_form_holds_the_summaries_and_names_the_outside_format(done):
    page = (done.folder / "question_form").read_text(encoding="utf-8")
    assert OutsideQuestionForm.format in page and "Chief Complaint" in page and "sign or symptom" in page


def test_without_published_questions_the_annotator_writes_them(tmp_path):
    stage = _stage(tmp_path, questions=False, versions=["normal"], judge_takes=1, free_text=False)
    asyncio.run(note_qa.run_note_qa_outside(stage))
    assert set(stage.tables["written_questions"]["origin"]) == {"generated"}
    assert stage.tables["reproduction_note_qa_outside"].empty  # Table 3 is about the published questions
    shifted = pd.to_numeric(stage.tables["written_questions"]["patient"])
    assert shifted.min() >= 10_000_032


@pytest.fixture
def mimic(tmp_path):
    """A MIMIC-IV folder with made-up notes."""
    rows = [
        (1, 11, "2150-05-01 00:00:00", "Later  note\n\n about a   cough."),
        (1, 10, "2150-01-01 00:00:00", "First note."),
        (2, 20, "2151-01-01 00:00:00", "word " * 4000),
        *[(3, 30 + i, f"2152-0{i + 1}-01 00:00:00", "One of many.") for i in range(4)],
    ]
    table = pd.DataFrame(rows, columns=["subject_id", "hadm_id", "charttime", "text"])
    with gzip.open(tmp_path / "discharge.csv.gz", "wt") as file:
        table.assign(note_id="x").to_csv(file, index=False)
    question = {"patient_id": 1, "category": "Level1", "num_notes": 2, "question": "Cough?", "answer": "C"}
    question |= {f"choice_{letter}": f"choice {letter}" for letter in "ABCDE"}
    lines = [question, question | {"patient_id": 99}]
    (tmp_path / "EHRNoteQA.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return tmp_path


def test_a_users_own_discharge_table_gives_patients_of_up_to_three_notes_in_order(mimic):
    notes = check(read_patients(discharge_file(mimic), PARAMS), PATIENT_NOTES, "notes")
    assert set(notes["patient"]) == {"1", "2"}  # patient 3 has four notes
    assert list(notes.query("patient == '1'")["note"]) == ["First note.", "Later note\nabout a cough."]
    assert list(notes.query("patient == '1'")["date"]) == ["2150-01-01", "2150-05-01"]
    sampled = sample_patients(notes, PARAMS, seed=1)
    assert set(sampled["patient"]) == {"1", "2"}


def test_ehrnoteqa_questions_join_their_patients_notes(mimic):
    notes = read_patients(discharge_file(mimic), PARAMS, {"1", "99"})
    questions = check(read_questions(mimic / "EHRNoteQA.jsonl", notes, PARAMS), QUESTIONS, "questions")
    assert list(questions["patient"]) == ["1"] and questions["answer"].iloc[0] == "C"
    assert (questions["notes"].iloc[0], questions["level"].iloc[0]) == (2, 1)


def test_malformed_outside_data_is_refused_with_its_place(mimic):
    (mimic / "EHRNoteQA.jsonl").write_text('{"patient_id": 1}\n')
    notes = read_patients(discharge_file(mimic), PARAMS)
    with pytest.raises(SourceError, match=r"EHRNoteQA.jsonl: line 1: not a question"):
        read_questions(mimic / "EHRNoteQA.jsonl", notes, PARAMS)
    (mimic / "bad.csv").write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match=r"columns .* are missing"):
        read_patients(mimic / "bad.csv", PARAMS)
    assert discharge_file(None) is None


ANSWER = "A dry cough without fever, treated with rest at home"
QUESTION = """- Question : What was the patient's main complaint at the admission charted on 2152-03-01?
- Answer : A dry cough, as per the note charted on 2152-03-01.
  It was treated at home.
- Reason : As per the note charted on 2152-03-01, the patient reports:
  Answer: no fever."""
CHOICES = f"""- Question: What was the patient's main complaint at the admission charted on 2152-03-01?
- Answer Choices:
 - A: A productive cough with fever, treated with antibiotics at home
 - B: Chest pain on the left side, treated with oral analgesics at home
 - C: {ANSWER}
 - D: Shortness of breath at night, treated with inhaled bronchodilators
 - E: Nasal congestion with headache, treated with a decongestant spray
- Correct Answer: C
- Reason: The note charted on 2152-03-01 names a dry cough.
  A: names antibiotics, which were not given.
  B: is denied by the patient."""
BOLD = re.sub(r"^( ?)- ([A-Z][A-Za-z ]*):", r"\1**\2:**", CHOICES, flags=re.MULTILINE)
"""The same reply in bold type without bullets."""
STEPS = {
    "write a question in the printed layout": "question",
    "write answer choices in the printed layout": "choices",
    "judge an answer without its question": "judge",
    "answer a multiple-choice question": "answer",
    "answer a question from notes": "answer",
}
Played = tuple[MemoryStage, dict[str, list[Body]]]


def _step(body: Body) -> str:
    task = body["messages"][-1]["content"].partition("\n")[0].removeprefix("Task: ")
    return STEPS.get(task, "identity")


def _reply(body: Body, number: int) -> Body:
    """A reply to the step of a request, with the first number of six digits or more in it, so that patients differ."""
    text = {
        "question": QUESTION,
        "choices": CHOICES if number % 2 else BOLD,
        "answer": f"It was dry and not feverish, so B is wrong.\n**Answer: C: {ANSWER}.**",
        "judge": '"Yes."' if number % 2 else "yes",
        "identity": "ready",
    }
    found = re.search(r"\d{6,}", body["messages"][-1]["content"])
    return completion(text[_step(body)].replace("at home", f"at home ({found[0] if found else ''})"), body)


def _run(folder: Path, endpoint: Hosted) -> MemoryStage:
    write_mimic_like(folder / "sources" / "ehrnoteqa", questions=False)
    params = load_params(ROOT / "params.yaml")
    settings = NoteQa(protocol="paper", versions=["normal"], judge_takes=2, patients_by_notes=[2, 1, 1])
    stage = MemoryStage(params.model_copy(update={"note_qa": settings}), folder, "note_qa_outside")
    stage.sources = folder / "sources"
    role = Role(base_url=endpoint.base_url, model="big-1", temperature=0.7, send_seed=False)
    identity = {"endpoint": endpoint.base_url, "asked": "big-1", "answered": "big-1", "owner": "acme"}

    async def run() -> None:
        with ResponseStore(folder / "responses.sqlite") as store:
            async with AsyncExitStack() as stack:
                print_of = Fingerprint("writer", identity)
                client = await stack.enter_async_context(
                    asker(store, endpoint.base_url, role=role, fingerprint=print_of)
                )
                stage.judges = dict.fromkeys(("annotator", "answerer", "judge"), client)
                await note_qa.run_note_qa_outside(stage)  # type: ignore[arg-type]

    asyncio.run(run())
    return stage


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    with hosted(_reply) as endpoint:
        stage = _run(tmp_path_factory.mktemp("paper"), endpoint)
    by_step: dict[str, list[Body]] = {}
    for body in endpoint.bodies:
        by_step.setdefault(_step(body), []).append(body)
    return stage, by_step


def test_every_reply_is_read_and_scored(played: Played) -> None:
    stage, sent = played
    questions = stage.tables["written_questions"]
    assert stage.tables["unscored_note_qa_outside"].empty
    right = [json.loads(row.choices)[LETTERS.index(row.answer)] for row in questions.itertuples()]
    assert all(text.startswith(ANSWER.partition(" at home")[0]) for text in right)
    assert len(set(questions["answer"])) > 1, "choices are shuffled"
    assert questions["reason"].str.contains("B: is denied").all()
    verdicts = stage.tables["note_qa_outside_judged"]
    assert set(verdicts.query("metric == 'accuracy'")["verdict"]) == {"C"}
    assert {step: len(bodies) for step, bodies in sent.items() if step != "identity"} == {
        "question": len(questions),
        "choices": len(questions),
        "answer": 2 * len(questions),
        "judge": 2 * 2 * len(questions),
    }
    assert verdicts.query("metric == 'score'")["value"].eq(1).all()


def test_requests_have_the_printed_temperatures_and_no_other_setting(played: Played) -> None:
    _, sent = played
    for step, temperature in (("question", 1.0), ("choices", 1.0), ("judge", 0.0), ("answer", 0.7)):
        assert {body["temperature"] for body in sent[step]} == {temperature}, step
        assert Counter(key for body in sent[step] for key in body).keys() == {"model", "messages", "temperature"}, step
        if step != "answer":
            assert {len(body["messages"]) for body in sent[step]} == {1}


def test_each_step_is_shown_what_the_appendix_shows(played: Played) -> None:
    _, sent = played
    shown = {step: [body["messages"][0]["content"] for body in bodies] for step, bodies in sent.items()}  # in any order
    first, second, judged = (shown[step][-1] for step in ("question", "choices", "judge"))
    for text in (first, second):
        assert re.search(r"\[note 1 start\]\nAdmission ID: \d+\nChart date: \d{4}-\d\d-\d\d\n", text)
        assert text.count("note 1 end]") == 2  # in the remarks and after the note
    assert "main complaint" not in first and "main complaint" in second and "treated at home" not in second
    assert all(ANSWER in text for text in shown["judge"])
    assert any("Nasal congestion" in text for text in shown["judge"])  # the choices, in one of the two formats
    assert "main complaint" not in judged and "note 1" not in judged
