"""One request for every prompt file, made by the rooms from small fixed inputs, as text for a reader.

``python -m tests.golden.requests`` writes the files of ``tests/golden/prompts/`` again after a prompt was changed.
"""

import asyncio
import json
from collections.abc import Awaitable, Iterator
from pathlib import Path

import pandas as pd

from schemas.params.history import Summarise
from schemas.params.measures import DocLens, NoteQa
from tasks.audit.errors import ErrorText, judge_errors
from tasks.domains.rules import load_rules
from tasks.judges.consistency_checks import check_cases
from tasks.llm.calls import Call, Reply
from tasks.llm.requests import response_format
from tasks.measures.doclens.citations import Statement, judge_citations_in_one_call, without_citations
from tasks.measures.doclens.evaluators import InstructionEvaluator, Question
from tasks.measures.doclens.judging import named_symptoms
from tasks.measures.doclens.subclaims import list_subclaims
from tasks.measures.doclens.writing import Example, Writer, write_outputs, writer
from tasks.measures.grounding.grounding import ground
from tasks.measures.history.summarising import summarise
from tasks.measures.note_qa.answering import answer, judge_call
from tasks.measures.note_qa.questions import generated_questions, paper_questions
from tasks.notes.consistency import consistency_call
from tasks.notes.prompting import build_prompts, symptom_values
from tasks.notes.writing import compact_notes, note_messages, write_first_notes
from tasks.people.rating_form import rating_call, read_rubric
from tasks.spans.annotation import annotate_spans, spans_table
from tasks.spans.assertion import state_assertions
from tasks.texts.document import Document
from tasks.visits.prompting import CHECK, heading, visit_prompts
from tests.measures import med_omit_examples
from tests.support.histories import worder_of
from tests.support.params import shipped
from tests.support.records import NETWORK, records_of, span_row
from tests.support.review import drawn
from tests.support.scripted import ScriptedAsk

FOLDER = Path(__file__).parent / "prompts"
NOTE = (
    "**History**\nThe patient has had a dry cough for three days. She denies fever.\n\n"
    "**Physical Examination**\nTemperature 36.8 °C. Lungs clear on auscultation."
)
COMPACT = "**History**\nDry cough x 3d. No fever.\n\n**Physical Examination**\nT 36.8 °C. Lungs CTAB."
PATIENT = pd.DataFrame(
    {
        "patient": "p001",
        "version": ["normal", "normal"],
        "position": [0, 1],
        "note_id": ["17", "42"],
        "date": ["2022-03-01", "2022-06-12"],
        "note": [NOTE, NOTE.replace("three days", "a week")],
        "tokens": [40, 40],
    }
)
CHOICES = ["A dry cough", "A productive cough", "No cough", "Fever", "A sore throat"]
REPLIES: dict[str, dict] = {
    "ExtractReply": {"spans": [{"symptom": "cough", "text": t} for t in ("a dry cough", "dry coughs")]},
    "CorrectReply": {"corrections": [{"phrase": "dry coughs", "correction": "dry cough"}]},
    "AssertionReply": {"assertions": [{"number": 1, "assertion": "present"}]},
    "MapReply": {"pairs": [{"phrase": t, "match": "Dry cough"} for t in ("a dry cough", "dry cough")]},
    "AskedQuestion": {
        "question": "What cough did the patient have?",
        "answer": "A dry cough.",
        "reason": "Both say so.",
    },
    "AnswerChoices": {**dict(zip("ABCDE", CHOICES, strict=True)), "reason": "Both notes say so.", "correct": "A"},
}


LAYOUTS = {
    "question": "- Question : What cough did the patient have?\n- Answer : A dry cough.\n- Reason : Both notes say so.",
    "choices": "\n".join(
        ["- Question: What cough?", "- Answer Choices:"]
        + [f"{letter}: {choice}" for letter, choice in zip("ABCDE", CHOICES, strict=True)]
        + ["- Correct Answer: A", "- Reason: Both notes say so."]
    ),
}
"""Replies in the printed layout, by step."""


def printed_layout(call: Call) -> str:
    """A reply to a step of EHRNoteQA's generation."""
    return LAYOUTS[call.key.rpartition("/")[2]]


def script(call: Call) -> str | Reply:
    """A plausible reply, so that a room goes on to its next request."""
    if call.reply is None:
        return NOTE if "note" in call.messages[-1].content else "yes"
    return call.reply.model_validate(REPLIES[call.reply.__name__], context=call.context)


def requests() -> dict[str, Call]:
    """A request for every prompt file, by ``room/file``."""
    rooms = (_notes(), _visits(), _spans(), _doclens(), _note_qa(), _review(), _audit())
    return {name: call for room in (*rooms, med_omit_examples.requests(_asked, NOTE)) for name, call in room.items()}


def _asked(work: Awaitable, ask: ScriptedAsk, room: str) -> dict[str, Call]:
    """The first request of each task that ``work`` makes, by the prompt file of the room that has this task."""

    async def wait() -> None:
        await work

    asyncio.run(wait())
    files = {_task(file.read_text(encoding="utf-8")): file.stem for file in Path(room, "prompts").glob("*.txt")}
    found: dict[str, Call] = {}
    for call in ask.calls:
        found.setdefault(f"{Path(room).name}/{files[_task(call.messages[-1].content)]}", call)
    return found


def _task(text: str) -> str:
    return next((line for line in text.split("\n") if line.startswith("Task: ")), "")


def _notes() -> dict[str, Call]:
    room = "tasks/notes"
    records = records_of({"cough": "yes", "common_cold": "yes", "asthma": "yes"}, {"smoking": "yes"}, {}, {}, {})
    prompts = build_prompts(records, NETWORK, load_rules(), 7)
    first = pd.DataFrame({"record": [0], "attempt": [0], "note": [NOTE]})
    writing, compacting, checking = (ScriptedAsk(script) for _ in range(3))
    asyncio.run(write_first_notes(prompts, writing, max_tries=1))
    names = ("note_unrelated", "note", "note_conditions", "note_unrelated_single")
    instructions = prompts["instructions"][0]
    cases = pd.DataFrame({"record": [0], "check": ["compact"], "kind": ["none"], "note": [NOTE], "compact": [COMPACT]})
    cases["instructions"] = instructions
    checking.script = lambda call: call.reply.model_validate({"differences": [], "same": True})  # type: ignore[union-attr]
    return {
        **{f"notes/{name}": writing.calls[at] for at, name in enumerate(names)},
        "notes/consistency": consistency_call("0/consistency", instructions, NOTE),
        **_asked(compact_notes(prompts, first, compacting, max_tries=1), compacting, room),
        **_asked(check_cases(cases, checking), checking, room),
    }


def _visits() -> dict[str, Call]:
    worder, asking = worder_of("respiratory"), ScriptedAsk(script)
    records = records_of({"cough": "yes", "asthma": "yes", "antibiotics": "yes"}, {"fever": "low", "asthma": "yes"})
    visits = records.assign(record=[1, 2], patient=0, visit=[1, 2], day=[0, 12])
    prompts = visit_prompts(visits, worder, 7)
    instructions = prompts["instructions"][1]
    notes = prompts[["record", "patient", "visit", "day"]].assign(text=heading(1, "2012-09-23", 0) + NOTE)
    work = summarise(notes, asking, Summarise(words=[60], purposes=["referral"]))
    return {
        "visits/visit_note": Call("2/write", note_messages(prompts["prompt"][1])),
        "visits/visit_consistency": consistency_call("2/check", instructions, NOTE, check=CHECK),
        **_asked(work, asking, "tasks/measures/history"),
    }


def _spans() -> dict[str, Call]:
    ask = ScriptedAsk(script)
    notes = pd.DataFrame({"record": [0], "note": [NOTE]})
    compact = pd.DataFrame({"record": [0], "compact": [COMPACT]})
    records = symptom_values(build_prompts(records_of({"cough": "yes"}), NETWORK, load_rules(), 7))
    work = annotate_spans(records, notes, compact, load_rules(), ask, max_corrections=1)
    spans = spans_table([span_row(0, "normal", "cough", "a dry cough", start=NOTE.index("a dry cough"))])
    stated = state_assertions(spans, {"normal": {0: NOTE}, "compact": {0: COMPACT}}, {"cough": "cough"}, ask)
    return _asked(work, ask, "tasks/spans") | _asked(stated, ask, "tasks/spans")


def _doclens() -> dict[str, Call]:
    room, found = "tasks/measures/doclens", {}
    source = ("The patient has had a dry cough for three days.", "She denies fever.")
    for style in ("plain", "json", "cot", "json_cot", "graded", "clinician"):
        ask = ScriptedAsk(lambda _: ValueError("no reply is needed"))
        claims = ("The patient has a cough.", "The patient does not have nasal symptoms.")
        question = Question("0/x", source[0], claims, named_symptoms(claims, load_rules().glossary), "History")
        found |= _asked(InstructionEvaluator(ask, style)([question]), ask, room)  # type: ignore[arg-type]
    cited = ("cited_compact", "cited_impression", "cited_question", "cited_note")
    for name in (*cited, "uncited_impression", "uncited_question"):
        ask = ScriptedAsk(script)
        system = writer(name.removeprefix("un"), 1)
        if name not in cited:
            plain = tuple(Example(one.source, without_citations(one.output)) for one in system.examples)
            system = Writer(name, name, plain)
        work = write_outputs(ask, [Document("0", source)], [system])
        (found[f"doclens/{name}"],) = _asked(work, ask, room).values()
    ask = ScriptedAsk(lambda _: ValueError("no reply is needed"))
    statement = Statement("Dry cough x 3d, no fever.", (0, 1))
    found |= _asked(judge_citations_in_one_call(ask, {"0": [statement]}, {"0": source}), ask, room)
    found |= _asked(list_subclaims(ask, {"0": " ".join(source)}, DocLens()), ask, room)
    ask = ScriptedAsk(lambda _: ValueError("no reply is needed"))
    for clinician in (False, True):
        asked = ground(ask, [Question("0/x", " ".join(source), claims, heading="History")], clinician=clinician)
        found |= _asked(asked, ask, "tasks/measures/grounding")
    return found


def _note_qa() -> dict[str, Call]:
    room, asking, answering = "tasks/measures/note_qa", ScriptedAsk(script), ScriptedAsk(script)
    params = NoteQa(generated_questions=1, versions=["normal"])
    question = {"question": "p001/1", "patient": "p001", "wording": REPLIES["AskedQuestion"]["question"]}
    question |= {"choices": json.dumps(CHOICES), "answer": "A"}
    output = {"question": "p001/1", "form": "multiple_choice", "version": "normal", "variant": "answer", "output": "A"}
    printed, frames = ScriptedAsk(printed_layout), {"questions": pd.DataFrame([question]), "patients": PATIENT}
    return {
        **_asked(generated_questions(PATIENT, params, asking, seed=7), asking, room),
        **_asked(paper_questions(PATIENT, params, printed, seed=7), printed, room),
        "note_qa/paper_judge": judge_call(output, question, 0, "paper"),
        **_asked(
            answer(frames, lambda _: answering, shipped().model_copy(update={"note_qa": params})), answering, room
        ),
        "note_qa/judge": judge_call(output, question, 0),
    }


def _review() -> dict[str, Call]:
    return {"people/rate": rating_call(drawn().iloc[0].to_dict(), read_rubric(load_rules().phrases))}


def _audit() -> dict[str, Call]:
    ask = ScriptedAsk(lambda _: ValueError("no reply is needed"))
    own = ("A 24-year-old man has a dry cough.", "Amoxicillin is given despite a penicillin allergy.")
    text = ErrorText("t", "pharmacotherapy", own, 1, "Azithromycin is given because of a penicillin allergy.")
    return _asked(judge_errors(ask, [text], seed=1), ask, "tasks/audit")


def as_text(call: Call) -> str:
    """A request as a reader sees it: its messages, and the schema of its reply."""
    parts = [f"[{message.role}]\n{message.content}" for message in call.messages]
    if call.reply is not None:
        schema = response_format(call.reply)["json_schema"]
        parts.append(f"[schema {schema['name']}]\n{json.dumps(schema['schema'], indent=2, ensure_ascii=False)}")
    return "\n\n".join(parts) + "\n"


def files() -> Iterator[tuple[Path, str]]:
    """Each golden file with the text that it must have."""
    for name, call in sorted(requests().items()):
        yield FOLDER / f"{name.replace('/', '_')}.txt", as_text(call)


def main() -> None:
    """Write the golden files, and delete those of prompts that are gone."""
    FOLDER.mkdir(exist_ok=True)
    written = {}
    for file, text in files():
        file.write_text(text, encoding="utf-8")
        written[file] = text
    for file in FOLDER.glob("*.txt"):
        if file not in written:
            file.unlink()
    print(f"{len(written)} files in {FOLDER}")


if __name__ == "__main__":
    main()
