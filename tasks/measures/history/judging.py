"""Judges summaries of patients' notes against the record (truth) and against the notes (metrics).

Every judgement is one of the methods on documents: a patient is a document, whose outputs are the summaries by system,
purpose and limit, and the damaged summaries of known truth (`tasks.measures.history.doses`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.columns import typed
from schemas.tables.visits import SUMMARY_TRUTH
from tasks.encoder import unit_vectors
from tasks.llm.calls import Ask
from tasks.measures.doclens import judging as doclens
from tasks.measures.doclens.judging import output_texts
from tasks.measures.grounding import judging as grounding
from tasks.measures.history.doses import Dose, dosed_summaries
from tasks.measures.history.summarising import notes_by_patient
from tasks.measures.med_omit import judging as med_omit
from tasks.measures.note_qa import judging as note_qa
from tasks.texts.document import WHOLE, Document, Tables
from tasks.visits.facts import Worder

Asks = Callable[[RoleName], Ask]
Frames = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Judged:
    """The documents of a chunk of patients, and the systems that cite."""

    documents: tuple[Document, ...]
    citing: tuple[str, ...]

    def plain(self) -> list[Document]:
        """The documents with outputs without citation marks."""
        texts = output_texts(self.documents, self.citing)
        return [replace(one, outputs={name: texts[name][one.id] for name in one.outputs}) for one in self.documents]


def system_name(system: str, purpose: str, words: int) -> str:
    """Name of a system's summaries for a purpose and limit."""
    return f"{system}, {purpose}, {words} words"


def summary_documents(frames: Frames, worder: Worder, params: Params) -> tuple[Judged, pd.DataFrame]:
    """One document a patient, with notes as source and record as reference; and SUMMARY_TRUTH of damaged summaries.

    ``frames``: visit_notes, history_facts, history_summaries, visits and questions of the same patients.
    """
    claims = {int(patient): tuple(own["claim"]) for patient, own in frames["history_facts"].groupby("patient")}
    asked = {int(patient): own for patient, own in frames["questions"].groupby("patient")}
    documents, truths = [], list[dict[str, object]]()
    visits = {int(p): own.to_dict("records") for p, own in frames["visits"].groupby("patient", sort=True)}
    for patient, notes in notes_by_patient(frames["visit_notes"]).items():
        if patient not in claims:
            continue
        own = frames["history_summaries"].query("patient == @patient")
        outputs = {system_name(row.system, row.purpose, row.words): row.text for row in own.itertuples()}
        doses = dosed_summaries(visits[patient], worder, params.summarise.doses, params.seed)
        questions = tuple(zip(asked[patient]["wording"], asked[patient]["right"], strict=True)) if patient in asked else ()
        outputs |= {dose.system: dose.text for dose in doses}
        known = {WHOLE: claims[patient]}
        documents.append(
            Document(str(patient), notes, " ".join(known[WHOLE]), None, known, outputs, questions, dialogue=False)
        )
        truths += [_truth(patient, dose) for dose in doses]
    written = [name for one in documents for name in one.outputs]
    doses_of = {row["system"] for row in truths}
    citing = [name for name in dict.fromkeys(written) if name not in doses_of]
    return Judged(tuple(documents), tuple(citing)), typed(truths, SUMMARY_TRUTH)


def _truth(patient: int, dose: Dose) -> dict[str, object]:
    named = {"document": str(patient), "system": dose.system, "damage": dose.damage, "dose": dose.dose}
    return {**named, "recall": dose.recall, "precision": dose.precision, "kept": json.dumps(sorted(dose.kept))}


async def judge_summaries(frames: Frames, ask: Asks, params: Params, worder: Worder) -> Tables:
    """Judge all summaries of a chunk of patients.

    Tables truth (SUMMARY_TRUTH), recalled (CLAIMS: is each fact of the record stated?), errors (GROUNDED: does the
    record contradict a statement?), judged (CLAIMS, against the notes), facts, omitted (MED-OMIT), answered, unscored.
    """
    judged, truth = summary_documents(frames, worder, params)
    documents, judge = judged.documents, ask("judge")
    graded = params.doclens.model_copy(update={"style": "graded"})
    of_facts = doclens.Plan(precision=False, glossary=worder.rules.glossary)
    recalled = await doclens.judge(judge, judged.plain(), of_facts, graded)
    record = [replace(one, source=tuple(one.claims[WHOLE]) if one.claims else ()) for one in judged.plain()]
    errors = await grounding.judge(judge, record, doclens.Plan(), params.doclens)
    against = [replace(one, reference=one.text, claims=None) for one in documents]
    rounds = params.doclens.model_copy(update={"claim_rounds": params.summarise.claim_rounds})
    notes = await doclens.judge(judge, against, doclens.Plan(citing=judged.citing), rounds)
    encode = unit_vectors(params.embed.encoder, params.embed.precision, params.embed.device)
    compared = params.med_omit.model_copy(update={"compare_differentials": False})
    omissions = await med_omit.judge(judge, judged.plain(), med_omit.Plan(), compared, encode)
    answers = await note_qa.judge(ask, judged.plain(), _systems(documents), params.note_qa)
    parts = {"truth": recalled, "errors": errors, "notes": notes, "omissions": omissions, "questions": answers}
    unscored = [part["unscored"].assign(step=name + ": " + part["unscored"]["step"]) for name, part in parts.items()]
    return {
        "truth": truth,
        "recalled": recalled["judged"],
        "errors": errors["grounded"],
        "judged": notes["judged"],
        "facts": omissions["facts"],
        "omitted": omissions["omitted"],
        "answered": answers["answered"],
        "unscored": pd.concat(unscored, ignore_index=True),
    }


def _systems(documents: Sequence[Document]) -> list[str]:
    return list(dict.fromkeys(name for one in documents for name in one.outputs))
