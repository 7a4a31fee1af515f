"""Questions built from the records, whose right choice is known without a judge.

A prompt says which symptoms its note must mention, with value and descriptor, and which it must not mention. The right
choice follows from that, except where the writer departed from the prompt and the consistency filter did not notice.
Questions about symptoms that must not be mentioned are unanswerable; EHRNoteQA names the lack of such questions as a
limitation.
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
    """Questions with known truth (QUESTIONS), and both wordings of each question's choices, A to E.

    ``notes`` is PATIENT_NOTES. ``spans`` only restrict unanswerable questions: a symptom with a span, contrary to the
    prompt, is not asked about. A patient whose records allow fewer questions than ``params.truth_questions`` gets
    fewer.
    """
    vocabulary = Vocabulary.of(prompts, labels)
    by_record = prompts.set_index(prompts["record"].astype(str))
    mentioned = set(zip(spans["record"].astype(str), spans["symptom"], strict=True))
    rows, wordings = [], {}
    normal = notes[notes["version"] == "normal"]
    for number, (patient, own) in enumerate(sorted(normal.groupby("patient"), key=lambda pair: str(pair[0]))):
        rng = np.random.default_rng([seed, _TRUTH, number])
        own = own.sort_values("position")
        visits = [_encounter(by_record.loc[row.note_id], row.date, row.note, mentioned) for row in own.itertuples()]
        for i, draft in enumerate(drafts_of(visits, vocabulary, params, rng)):
            order = rng.permutation(len(draft.choices))
            name = f"{patient}/truth/{i + 1}"
            wordings[name] = tuple(draft.choices[j] for j in order)
            answer = LETTERS[int(np.flatnonzero(order == 0)[0])]
            rows.append(_row(name, str(patient), draft, wordings[name], answer, own, params))
    return question_frame(rows), wordings


def question_frame(rows: list[dict]) -> pd.DataFrame:
    """Rows as a QUESTIONS table, sorted by id."""
    columns = ["question", "patient", "origin", "kind", "answerable", "notes", "tokens", "level", "wording", "choices"]
    columns += ["answer", "reason", "provenance"]
    counts, flags = dict.fromkeys(["notes", "tokens", "level"], "int64"), {"answerable": bool}
    types = {name: counts.get(name, flags.get(name, str)) for name in columns}
    return pd.DataFrame(rows, columns=columns).astype(types).sort_values("question", ignore_index=True)


def _encounter(prompt: pd.Series, date: str, note: str, mentioned: set[tuple[str, str]]) -> Encounter:
    record = str(prompt["record"])
    avoid = tuple(name for name in json.loads(prompt["avoid"]) if (record, name) not in mentioned)
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
