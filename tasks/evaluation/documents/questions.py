"""Questions about each source, answered from each system's output and judged (EHRNoteQA, Sections 3.2 and 4)."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from schemas.params.note_qa import NoteQa
from schemas.tables.columns import typed
from schemas.tables.evaluate import ANSWERED
from schemas.tables.metrics import UNSCORED
from schemas.tables.note_qa import LETTERS
from tasks.evaluation.documents.fields import SOURCE
from tasks.evaluation.documents.judging import Asks, Tables, whole_outputs
from tasks.evaluation.documents.model import Document
from tasks.evaluation.note_qa.answering import answer_from
from tasks.evaluation.note_qa.generated import generated_questions
from tasks.evaluation.note_qa.judging import judge_outputs
from tasks.evaluation.note_qa.known_truth import question_frame
from tasks.evaluation.note_qa.notes_text import notes_text
from tasks.evaluation.note_qa.text_length import level, token_counter
from tasks.statistics.metric_rows import mean_row, metric_table

STAGE = "note_qa"
CONDITION = "questions"
METRICS = {"free_text": "qa_free_text", "multiple_choice": "qa_multiple_choice"}
KEY = ["document", "system", "question", "form"]


async def judge_answers(ask: Asks, documents: Sequence[Document], params: NoteQa, citing: Sequence[str]) -> Tables:
    """Tables answered (ANSWERED), unasked (document of each question that could not be generated) and unscored.

    The annotator generates questions from the sources of documents that have none of their own. The answerer sees an
    output without citation marks, or the source, whose score is what a complete output can reach. The judge compares
    its answers with the right ones, ``params.judge_takes`` times. Questions without choices are asked in free text.
    """
    notes = source_notes(documents, params)
    lacking = {document.id for document in documents if document.questions is None}
    generated, unasked = await _generated(ask, notes[notes["patient"].isin(lacking)], params)
    own = own_questions(documents, notes, params)
    texts = answered_texts(documents, notes, citing)
    versions = [SOURCE, *dict.fromkeys(version for _, version in texts if version != SOURCE)]
    forms = ["multiple_choice", *(["free_text"] if params.free_text else [])]
    parts = [
        await answer_from(generated, texts, versions, forms, ask("answerer")),
        await answer_from(own, texts, versions, ["free_text"], ask("answerer")),
    ]
    answers, unanswered = (pd.concat(tables, ignore_index=True) for tables in zip(*parts, strict=True))
    questions = pd.concat([generated, own], ignore_index=True)
    judged, unjudged = await judge_outputs(
        answers.assign(variant="answer"), questions, params.judge_takes, ask("judge")
    )
    return {
        "answered": answered_table(questions, answers, judged, unanswered),
        "unasked": pd.DataFrame({"document": [_document(key) for key in unasked["record"]]}, dtype="str"),
        "unscored": pd.concat([unasked, unanswered, unjudged], ignore_index=True),
    }


async def _generated(ask: Asks, notes: pd.DataFrame, params: NoteQa) -> tuple[pd.DataFrame, pd.DataFrame]:
    if notes.empty:
        return question_frame([]), typed([], UNSCORED)
    return await generated_questions(notes, params, ask("annotator"))


def source_notes(documents: Iterable[Document], params: NoteQa) -> pd.DataFrame:
    """The sources as PATIENT_NOTES; undated notes are called by their place, ``visit 1`` the oldest."""
    count = token_counter(params.tokenizer)
    rows = [
        _note(document.id, text, f"visit {place + 1}", position=place, tokens=count(text))
        for document in documents
        for place, text in enumerate(document.source)
    ]
    return pd.DataFrame(rows, columns=list(_note("", "", "")))


def _note(patient: str, text: str, date: str, *, position: int = 0, tokens: int = 0) -> dict[str, Any]:
    named = {"patient": patient, "version": "normal", "position": position, "note_id": str(position + 1)}
    return {**named, "date": date, "note": text, "tokens": tokens}


def own_questions(documents: Iterable[Document], notes: pd.DataFrame, params: NoteQa) -> pd.DataFrame:
    """The documents' own questions (QUESTIONS); the right answer is the only choice."""
    totals = notes.groupby("patient").agg(tokens=("tokens", "sum"), notes=("position", "size"))
    rows = []
    for document in documents:
        for number, (wording, answer) in enumerate(document.questions or (), 1):
            tokens, size = int(totals.loc[document.id, "tokens"]), int(totals.loc[document.id, "notes"])
            held = {"notes": size, "tokens": tokens, "level": level(tokens, params.level_tokens)}
            named = {"question": f"{document.id}/own/{number:03d}", "patient": document.id, "origin": "outside"}
            asked = {"kind": "own", "answerable": True, "wording": wording, "choices": json.dumps([answer])}
            rows.append({**named, **held, **asked, "answer": LETTERS[0], "reason": None, "provenance": "data"})
    return question_frame(rows)


def answered_texts(
    documents: Sequence[Document], notes: pd.DataFrame, citing: Sequence[str]
) -> dict[tuple[str, str], str]:
    """The texts from which questions are answered, by document and system: sources and outputs, as notes."""
    found = {(str(name), SOURCE): notes_text(group) for name, group in notes.groupby("patient", sort=False)}
    visits = notes.groupby("patient").size()
    for system, outputs in whole_outputs(documents, citing).items():
        for name, text in outputs.items():
            date = "visit 1" if visits[name] == 1 else f"visits 1 to {visits[name]}"
            found[name, system] = notes_text(pd.DataFrame([_note(name, text, date)]))
    return found


def answered_table(
    questions: pd.DataFrame, answers: pd.DataFrame, judged: pd.DataFrame, unanswered: pd.DataFrame
) -> pd.DataFrame:
    """ANSWERED: the share of takes that accept each answer; null without an answer or a verdict."""
    by_id = questions.set_index("question").to_dict("index")
    shares = judged.groupby(["question", "version", "form"])["verdict"].mean().to_dict()
    given = answers[["question", "version", "form", "output"]].itertuples(index=False, name=None)
    lost = [
        (question, *_asked(step), None) for question, step in zip(unanswered["record"], unanswered["step"], strict=True)
    ]
    rows = []
    for question, system, form, output in [*given, *lost]:
        asked = by_id[question]
        choices = dict(zip(LETTERS, json.loads(asked["choices"]), strict=False))
        named = {"document": asked["patient"], "system": system, "question": question, "form": form}
        right = choices[asked["answer"]]
        score = shares.get((question, system, form))
        rows.append({**named, "wording": asked["wording"], "right": right, "answer": output, "score": score})
    return typed(rows, ANSWERED).sort_values(KEY, ignore_index=True)


def _asked(step: str) -> tuple[str, str]:
    """System and form of a failed answer, whose step is ``note_qa/answer/FORM/SYSTEM``."""
    _, _, form, system = step.split("/")
    return system, form


def _document(question: str) -> str:
    return question.split("/")[0]


def document_scores(answered: pd.DataFrame) -> pd.DataFrame:
    """Mean score of each document's questions: columns document, system, metric, value."""
    known = answered.dropna(subset=["score"])
    scores = known.groupby(["document", "system", "form"], sort=True)["score"].mean().reset_index(name="value")
    return scores.assign(metric=scores["form"].map(METRICS)).drop(columns="form")


def score_rows(answered: pd.DataFrame) -> pd.DataFrame:
    """Columns of DOCUMENT_SCORES but for the record, of the systems' outputs."""
    scores = document_scores(answered[answered["system"] != SOURCE])
    return scores.assign(condition=CONDITION, item="all", stage=STAGE)


def metric_rows(answered: pd.DataFrame, unasked: pd.DataFrame, *, seed: int, provenance: str) -> pd.DataFrame:
    """METRICS: mean over documents by system, with the source as one more system, and the number of unscored questions.

    Questions that could not be generated are unscored for all systems.
    """
    scores, rows = document_scores(answered), []
    for (system, form), group in answered.groupby(["system", "form"], sort=True):
        mine = scores[(scores["system"] == system) & (scores["metric"] == METRICS[form])]
        unscored = int(group["score"].isna().sum()) + len(unasked)
        rows.append(mean_row(METRICS[form], mine["value"], seed=seed, system=system, unscored=unscored))
    return metric_table(rows, stage=STAGE, condition=CONDITION, item="all", provenance=provenance)
