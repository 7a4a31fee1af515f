"""Questions made from the record: the right choice is known without a judge.

A prompt says which symptoms its note must mention, with which value and descriptor, and which it must not touch on. So
each question's right choice follows from the record, up to a writer's slip that the consistency filter let pass.
Questions about symptoms that no note may touch on are unanswerable: EHRNoteQA names their lack as its limit.
"""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from schemas.params.note_qa import NoteQa
from schemas.tables.note_qa import LETTERS
from tasks.evaluation.note_qa.statements import Wording
from tasks.evaluation.note_qa.text_length import level
from tasks.evaluation.note_qa.truth_drafts import Draft, Encounter, Vocabulary, drafts_of

_TRUTH = 802


def truth_questions(
    prompts: pd.DataFrame,
    notes: pd.DataFrame,
    spans: pd.DataFrame,
    params: NoteQa,
    labels: Mapping[str, str],
    *,
    seed: int,
) -> tuple[pd.DataFrame, dict[str, tuple[Wording, ...]]]:
    """Questions with known truth (schema QUESTIONS), and both wordings of each question's choices, A to E.

    ``notes`` is PATIENT_NOTES. Spans only guard unanswerable questions: a symptom that a span touches on in spite
    of the prompt is not asked about. A patient whose records allow fewer questions than asked for gets fewer.
    """
    vocabulary = Vocabulary.of(prompts, labels)
    by_record = prompts.set_index(prompts["record"].astype(str))
    touched = set(zip(spans["record"].astype(str), spans["symptom"], strict=True))
    rows, wordings = [], {}
    normal = notes[notes["version"] == "normal"]
    for number, (patient, own) in enumerate(sorted(normal.groupby("patient"), key=lambda pair: str(pair[0]))):
        rng = np.random.default_rng([seed, _TRUTH, number])
        own = own.sort_values("position")
        visits = [
            _encounter(by_record.loc[row.note_id], row.date, row.note, row.note_id, touched) for row in own.itertuples()
        ]
        for i, draft in enumerate(drafts_of(visits, vocabulary, params, rng)):
            order = rng.permutation(len(draft.choices))
            name = f"{patient}/truth/{i + 1}"
            wordings[name] = tuple(draft.choices[j] for j in order)
            answer = LETTERS[int(np.flatnonzero(order == 0)[0])]
            rows.append(_row(name, str(patient), draft, wordings[name], answer, own, params))
    return question_frame(rows), wordings


def question_frame(rows: list[dict]) -> pd.DataFrame:
    """Rows as a table with the types of QUESTIONS, sorted by id."""
    columns = ["question", "patient", "origin", "kind", "answerable", "notes", "tokens", "level", "wording", "choices"]
    columns += ["answer", "reason", "provenance"]
    counts, flags = dict.fromkeys(["notes", "tokens", "level"], "int64"), {"answerable": bool}
    types = {name: counts.get(name, flags.get(name, str)) for name in columns}
    return pd.DataFrame(rows, columns=columns).astype(types).sort_values("question", ignore_index=True)


def _encounter(prompt: pd.Series, date: str, note: str, record: str, touched: set[tuple[str, str]]) -> Encounter:
    avoid = tuple(name for name in json.loads(prompt["avoid"]) if (record, name) not in touched)
    mention = tuple(json.loads(prompt["mention"]))
    return Encounter(date, mention, avoid, json.loads(prompt["values"]), json.loads(prompt["descriptors"]), note)


def _row(
    name: str, patient: str, draft: Draft, choices: Sequence[Wording], answer: str, notes: pd.DataFrame, params: NoteQa
) -> dict:
    tokens = int(notes["tokens"].sum())
    return {
        "question": name,
        "patient": patient,
        "origin": "truth",
        "kind": draft.kind,
        "answerable": draft.answerable,
        "notes": len(notes),
        "tokens": tokens,
        "level": level(tokens, params.level_tokens),
        "wording": draft.wording,
        "choices": json.dumps([choice.plain for choice in choices]),
        "answer": answer,
        "reason": None,
        "provenance": "the record",
    }
