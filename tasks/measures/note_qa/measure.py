"""The measure of questions about each source, answered from each system's output and judged.

EHRNoteQA, Sections 3.2 and 4.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from schemas.params.llm import RoleName
from schemas.params.measures import NoteQa
from schemas.tables.columns import typed
from schemas.tables.note_qa import LETTERS, PATIENT_NOTES
from schemas.tables.verdicts import LOST, verdict_table
from tasks.llm.calls import Asks, unscored_table
from tasks.measures.declared import Declared, Panel, Unit
from tasks.measures.measure import Metric, Metrics
from tasks.measures.note_qa.answering import SCORE, answer_from, forms, judge_outputs
from tasks.measures.note_qa.patients import estimated_tokens, notes_text
from tasks.measures.note_qa.questions import generated_questions, patient_of, question_row, question_table
from tasks.texts.document import SOURCE, WHOLE, Document, Tables

NAME = "note_qa"
QA = {"free_text": "qa_free_text", "multiple_choice": "qa_multiple_choice"}
"""Metric by form."""
# --8<-- [start:metrics]
METRICS: Metrics = {
    "qa_free_text": Metric(
        pooled=False,
        removal="falls",
        compared=True,
        label="questions",
        meaning="share of questions about the source that are answered rightly from the output, in own words",
    ),
    "qa_multiple_choice": Metric(
        pooled=False,
        removal="falls",
        compared=True,
        judged=False,
        label="questions, choices",
        meaning="the same with five choices",
    ),
}
# --8<-- [end:metrics]
Row = dict[str, str | None]


async def judge_questions(
    ask: Asks, documents: Sequence[Document], systems: Sequence[str], params: NoteQa, seed: int
) -> Tables:
    """Answers from the outputs of ``systems``, which every document should have, and from the sources.

    The tables verdicts (unit: the question's id), questions (QUESTIONS) and unscored. The annotator generates questions
    from the sources of documents that have none of their own. The answerer sees an output as it is (citation marks have
    to be taken out before), or the source, whose score is what a complete output can reach. The judge compares its
    answers with the right ones, ``judge_takes`` times: the value of a verdict is the share of takes that accept the
    answer. Questions without choices are asked in free text. A document whose questions could not be generated has
    failed verdicts of all systems.
    """
    notes = source_notes(documents)
    lacking = {document.id for document in documents if document.questions is None}
    own = own_questions(documents, notes, params)
    generated, unasked = question_table([]), list[Row]()
    if lacking:
        own_notes = notes[notes["patient"].isin(lacking)]
        generated, unasked = await generated_questions(own_notes, params, ask("annotator"), seed=seed)
    texts = _answered_texts(documents, notes)
    versions = list(dict.fromkeys([SOURCE, *(version for _, version in texts)]))
    chosen, failed = await answer_from(generated, texts, versions, forms(params), ask("answerer"))
    free, more = await answer_from(own, texts, versions, ["free_text"], ask("answerer"))
    answers = pd.concat([chosen, free], ignore_index=True)
    questions, judge = pd.concat([generated, own], ignore_index=True), ask("judge")
    judged, unjudged = await judge_outputs(answers, questions, params.judge_takes, judge)
    shares = judged[judged["metric"] == SCORE].groupby(["document", "condition"])["value"].mean().to_dict()
    given = answers.set_index(["question", "version", "form"])["output"].dropna().to_dict()
    rows, answered = [], [SOURCE, *systems]
    for name, patient, choices in questions[["question", "patient", "choices"]].itertuples(index=False):
        for form in forms(params) if len(json.loads(choices)) > 1 else ["free_text"]:
            for system in answered:
                said = given.get((name, system, form), ""), shares.get((name, f"{form}/{system}"))
                rows.append((patient, system, QA[form], name, *said))
    for document in dict.fromkeys(_of_document(row)["record"] for row in unasked):
        rows += [(document, system, QA[form], LOST, "", None) for system in answered for form in forms(params)]
    named = [dict(zip(("document", "system", "metric", "unit", "text", "value"), row, strict=True)) for row in rows]
    verdicts = verdict_table([{**row, "condition": "questions", "item": WHOLE} for row in named], judge=judge.label)
    unscored = unscored_table([*map(_of_system, [*failed, *more, *unjudged]), *map(_of_document, unasked)])
    return {"verdicts": verdicts, "questions": questions, "unscored": unscored}


def source_notes(documents: Iterable[Document]) -> pd.DataFrame:
    """The sources as PATIENT_NOTES; undated notes are called by their place, ``visit 1`` the oldest."""
    rows = [
        _note(document.id, text, f"visit {place + 1}", position=place, tokens=estimated_tokens(text))
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


def _of_document(row: Row) -> Row:
    """An unscored row with the document in place of its question."""
    return {**row, "record": patient_of(str(row["record"]))}


def _of_system(row: Row) -> Row:
    """An unscored row of an answer or verdict with the document, and a step that ends in the system.

    The steps are ``note_qa/answer/FORM/SYSTEM`` and ``note_qa/judge/FORM/SYSTEM/VARIANT/TAKE``.
    """
    _, step, form, system = str(row["step"]).split("/", 3)
    system = system.rsplit("/", 2)[0] if step == "judge" else system
    return {**_of_document(row), "step": f"{step}/{form} of {system}"}


def _roles(documents: Sequence[Document]) -> Sequence[RoleName]:
    """The annotator writes questions about documents that have none."""
    lacking = any(document.questions is None for document in documents)
    return ("annotator", "answerer", "judge") if lacking else ("answerer", "judge")


def _units(tables: Tables) -> Iterator[Unit]:
    """Each question in each form with the answer from a system's output."""
    asked = tables["questions"].set_index("question")[["wording", "choices", "answer"]]
    rows = tables[TABLE].join(asked, on="unit", how="inner")
    key = ["document", "unit", "metric"]
    wrong = rows[(rows["system"] == SOURCE) & rows["value"].le(0.5)]
    wrong_from_source = set(wrong[key].itertuples(index=False, name=None))
    for row in rows[rows["system"] != SOURCE].itertuples():
        form = row.metric.removeprefix("qa_").replace("_", " ")
        said = f"answer: {row.text}" if row.text else "no answer"
        right = json.loads(row.choices)[LETTERS.index(row.answer)]
        also = ", wrong from the source as well" if (row.document, row.unit, row.metric) in wrong_from_source else ""
        verdict = None if pd.isna(row.value) else int(row.value > 0.5)
        yield Unit(row.document, row.system, row.wording, verdict, form, f"{said}; right: {right} ({form}{also})")


TABLE = "answers"
MEASURE = Declared(
    NAME,
    METRICS,
    lambda plan, params, ask, texts: judge_questions(ask, texts, plan.systems, params.note_qa, params.seed),
    "note_qa",
    chosen_as="qa",
    by_default=False,
    table=TABLE,
    cited="questions as EHRNoteQA's (Kweon et al. 2024)",
    roles=_roles,
    of_summaries=lambda systems, params, ask, texts: judge_questions(ask, texts, systems, params.note_qa, params.seed),
    panel=Panel(
        _units,
        title="Questions about the source",
        kind="question",
        tally="answers to questions are right",
        verdict="answered rightly from the output",
        hint="Answered from this output alone, and judged against the right answer.",
    ),
)
