"""``note_qa.protocol: paper`` through the real client: what an endpoint is sent, and replies as models write them."""

import asyncio
import re
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from flows.runtime.params import load_params
from flows.stages import note_qa
from schemas.params.llm import Role
from schemas.params.measures import NoteQa
from tasks.llm.calls import Ask
from tasks.transport.fingerprint import Fingerprint
from tasks.transport.store import ResponseStore
from tests.support.endpoints import asker
from tests.support.hosted import Body, Hosted, completion, hosted
from tests.support.imports import ROOT
from tests.support.memory_stage import MemoryStage
from tests.support.mimic_like import write_mimic_like

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
        "answer": f"C: {ANSWER}.",
        "judge": '"Yes."' if number % 2 else "yes",
        "identity": "ready",
    }
    found = re.search(r"\d{6,}", body["messages"][-1]["content"])
    return completion(text[_step(body)].replace("at home", f"at home ({found[0] if found else ''})"), body)


class HostedStage(MemoryStage):
    """A stage in memory whose roles are clients of an endpoint."""

    clients: dict[str, Ask]

    def ask(self, role: str) -> Ask:
        return self.clients[role]


def _run(folder: Path, endpoint: Hosted) -> MemoryStage:
    write_mimic_like(folder / "sources" / "ehrnoteqa", questions=False)
    params = load_params(ROOT / "params.yaml")
    settings = NoteQa(protocol="paper", versions=["normal"], judge_takes=2, patients_by_notes=[2, 1, 1])
    stage = HostedStage(params.model_copy(update={"note_qa": settings}), folder, "note_qa_outside")
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
                stage.clients = dict.fromkeys(("annotator", "answerer", "judge"), client)
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
    assert set(questions["answer"]) == {"C"} and questions["reason"].str.contains("B: is denied").all()
    assert {step: len(bodies) for step, bodies in sent.items() if step != "identity"} == {
        "question": len(questions),
        "choices": len(questions),
        "answer": 2 * len(questions),
        "judge": 2 * 2 * len(questions),
    }
    assert stage.tables["judgements"]["verdict"].all()


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
