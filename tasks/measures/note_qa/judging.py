"""Questions about each source, answered from each system's output and judged (EHRNoteQA, Sections 3.2 and 4)."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from schemas.params.measures import NoteQa
from schemas.tables.columns import typed
from schemas.tables.evaluate import ANSWERED
from schemas.tables.note_qa import LETTERS, PATIENT_NOTES
from tasks.llm.calls import Asks, unscored_table
from tasks.measures.note_qa.answering import answer_from, forms, judge_outputs
from tasks.measures.note_qa.patients import notes_text, token_counter
from tasks.measures.note_qa.questions import generated_questions, question_row, question_table
from tasks.statistics.metric_rows import mean_row, metric_table
from tasks.texts.document import SOURCE, WHOLE, Document, Tables

STAGE, CONDITION = "note_qa", "questions"
METRICS = {"free_text": "qa_free_text", "multiple_choice": "qa_multiple_choice"}
KEY = ["document", "system", "question", "form"]
Row = dict[str, str | None]


async def judge(
    ask: Asks, documents: Sequence[Document], expected: Sequence[str], params: NoteQa, *, seed: int
) -> Tables:
    """Tables answered (ANSWERED), unasked (document of each question that could not be generated) and unscored.

    The annotator generates questions from the sources of documents that have none of their own. The answerer sees an
    output as it is (citation marks have to be taken out before), or the source, whose score is what a complete output
    can reach. The judge compares its answers with the right ones, ``params.judge_takes`` times. Questions without
    choices are asked in free text. ``expected``: systems of which every document should have an output.
    """
    notes = source_notes(documents, params)
    lacking = {document.id for document in documents if document.questions is None}
    own = own_questions(documents, notes, params)
    generated, unasked = question_table([]), list[dict[str, str | None]]()
    if lacking:
        own_notes = notes[notes["patient"].isin(lacking)]
        generated, unasked = await generated_questions(own_notes, params, ask("annotator"), seed=seed)
    texts = _answered_texts(documents, notes)
    versions = list(dict.fromkeys([SOURCE, *(version for _, version in texts)]))
    chosen, failed = await answer_from(generated, texts, versions, forms(params), ask("answerer"))
    free, more = await answer_from(own, texts, versions, ["free_text"], ask("answerer"))
    answers, questions = pd.concat([chosen, free], ignore_index=True), pd.concat([generated, own], ignore_index=True)
    judged, unjudged = await judge_outputs(
        answers.assign(variant="answer"), questions, params.judge_takes, ask("judge")
    )
    return {
        "answered": _answered_table(questions, answers, judged, [SOURCE, *expected], params),
        "unasked": pd.DataFrame({"document": [_of_document(row)["record"] for row in unasked]}, dtype="str"),
        "unscored": unscored_table([*map(_of_system, [*failed, *more, *unjudged]), *map(_of_document, unasked)]),
    }


def source_notes(documents: Iterable[Document], params: NoteQa) -> pd.DataFrame:
    """The sources as PATIENT_NOTES; undated notes are called by their place, ``visit 1`` the oldest."""
    count = token_counter(params.tokenizer)
    rows = [
        _note(document.id, text, f"visit {place + 1}", position=place, tokens=count(text))
        for document in documents
        for place, text in enumerate(document.source)
    ]
    return typed(rows, PATIENT_NOTES)


def _note(patient: str, text: str, date: str, *, position: int = 0, tokens: int = 0) -> dict[str, Any]:
    named = {"patient": patient, "version": "normal", "position": position, "note_id": str(position + 1)}
    return {**named, "date": date, "note": text, "tokens": tokens}


def own_questions(documents: Iterable[Document], notes: pd.DataFrame, params: NoteQa) -> pd.DataFrame:
    """The documents' own questions (QUESTIONS); the right answer is the only choice."""
    groups = dict(iter(notes.groupby("patient")))
    rows = []
    for document in documents:
        for number, (wording, answer) in enumerate(document.questions or (), 1):
            about = {"origin": "outside", "kind": "own", "wording": wording, "answer": LETTERS[0], "provenance": "data"}
            name = f"{document.id}/own/{number:03d}"
            rows.append(question_row(name, document.id, groups[document.id], params, choices=[answer], **about))
    return question_table(rows)


def _answered_texts(documents: Sequence[Document], notes: pd.DataFrame) -> dict[tuple[str, str], str]:
    """The texts from which questions are answered, by document and system: sources and outputs, as notes."""
    found = {(str(name), SOURCE): notes_text(group) for name, group in notes.groupby("patient", sort=False)}
    for document in documents:
        visits = len(document.source)
        date = "visit 1" if visits == 1 else f"visits 1 to {visits}"
        for system, text in document.outputs.items():
            found[document.id, system] = notes_text(pd.DataFrame([_note(document.id, text, date)]))
    return found


def _answered_table(
    questions: pd.DataFrame,
    answers: pd.DataFrame,
    judged: pd.DataFrame,
    systems: Sequence[str],
    params: NoteQa,
) -> pd.DataFrame:
    """ANSWERED: the share of takes that accept each answer; null without an answer or a verdict."""
    shares = judged.groupby(["question", "version", "form"])["verdict"].mean().to_dict()
    given = answers.set_index(["question", "version", "form"])["output"].to_dict()
    rows = []
    for asked in questions.to_dict("records"):
        choices = json.loads(asked["choices"])
        right = choices[LETTERS.index(asked["answer"])]
        for system in systems:
            for form in forms(params) if len(choices) > 1 else ["free_text"]:
                key = (asked["question"], system, form)
                known = {"document": asked["patient"], "system": system, "question": asked["question"], "form": form}
                found = {"answer": given.get(key), "score": shares.get(key)}
                rows.append({**known, "wording": asked["wording"], "right": right, **found})
    return typed(rows, ANSWERED).sort_values(KEY, ignore_index=True)


def _of_document(row: Row) -> Row:
    """An unscored row with the document in place of its question, whose name is ``DOCUMENT/origin/NUMBER``."""
    return {**row, "record": str(row["record"]).rsplit("/", 2)[0]}


def _of_system(row: Row) -> Row:
    """An unscored row of an answer or verdict with the document, and a step that ends in the system.

    The steps are ``note_qa/answer/FORM/SYSTEM`` and ``note_qa/judge/FORM/SYSTEM/VARIANT/TAKE``.
    """
    _, step, form, system = str(row["step"]).split("/", 3)
    system = system.rsplit("/", 2)[0] if step == "judge" else system
    return {**_of_document(row), "step": f"{step}/{form} of {system}"}


def document_scores(answered: pd.DataFrame) -> pd.DataFrame:
    """Mean score of each document's questions: columns document, system, metric, value."""
    known = answered.dropna(subset=["score"])
    scores = known.groupby(["document", "system", "form"], sort=True)["score"].mean().reset_index(name="value")
    return scores.assign(metric=scores["form"].map(METRICS)).drop(columns="form")


def score_rows(answered: pd.DataFrame) -> pd.DataFrame:
    """Columns of DOCUMENT_SCORES but for the record, of the systems' outputs."""
    scores = document_scores(answered[answered["system"] != SOURCE])
    return scores.assign(condition=CONDITION, item=WHOLE, stage=STAGE)


def metric_rows(answered: pd.DataFrame, unasked: pd.DataFrame, *, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS: mean over documents by system, with the source as one more system, and the number of unscored documents.

    A document whose questions could not be generated (``unasked``) is unscored for all systems.
    """
    scores, rows = document_scores(answered), []
    for (system, form), group in answered.groupby(["system", "form"], sort=True):
        mine = scores[(scores["system"] == system) & (scores["metric"] == METRICS[form])]
        expected = {*group["document"], *unasked["document"]}
        unscored = len(expected - set(mine["document"]))
        rows.append(mean_row(METRICS[form], mine["value"], system=system, unscored=unscored))
    return metric_table(rows, stage=STAGE, condition=CONDITION, item=WHOLE, seed=seed, provenance=provenance)
