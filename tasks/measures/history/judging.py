"""Judges summaries of patients' notes against the record (truth) and against the notes (metrics).

Every judgement is one of the methods on documents: a patient is a document, whose outputs are the summaries by system,
purpose and limit, and the damaged summaries of known truth (`tasks.measures.history.doses`). Questions follow from the
facts of the record, and are answered from a summary alone, so that what was left out cannot be answered.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.verdicts import VERDICTS
from schemas.tables.visits import SUMMARY_TRUTH
from tasks.llm.calls import Asks, unscored_row, unscored_table
from tasks.measures.described import OF_OUTPUTS
from tasks.measures.doclens import judging as doclens
from tasks.measures.grounding.grounding import judge_by_source
from tasks.measures.history.doses import dosed_summaries
from tasks.measures.history.summarising import names_of, notes_by_patient
from tasks.network.visits import date_of
from tasks.text.language import capitalized
from tasks.texts.document import WHOLE, Document, Tables, documents_of, system_names
from tasks.visits.facts import Fact, Worder, facts_of, visits_in_sentences

Frames = Mapping[str, pd.DataFrame]


def summary_questions(visits: pd.DataFrame, worder: Worder) -> pd.DataFrame:
    """Questions of all patients of the table of visits, with patient, kind, wording and the right answer."""
    rows = []
    for patient, own in visits.sort_values("visit").groupby("patient", sort=True):
        facts = facts_of(own.to_dict("records"), worder)
        rows += [(int(str(patient)), *asked) for asked in _questions(facts, int(str(patient)), worder)]
    return pd.DataFrame(rows, columns=["patient", "kind", "wording", "right"])


def _questions(facts: Sequence[Fact], patient: int, worder: Worder) -> Iterator[tuple[str, str, str]]:
    """Kind, wording and right answer of each question on one patient."""
    labels = worder.rules.labels
    if traits := [labels[fact.item] for fact in facts if fact.kind == "trait"]:
        yield "condition", "Which health conditions does the patient have?", f"{capitalized(', '.join(traits))}."
    for symptom in dict.fromkeys(fact.item for fact in facts if fact.kind == "episode"):
        yield "symptom", f"Did the patient have {labels[symptom]} at any time?", f"Yes, {labels[symptom]}."
    for treatment in dict.fromkeys(fact.item for fact in facts if fact.kind == "treatment"):
        days = [date_of(patient, fact.start) for fact in facts if fact.item == treatment]
        phrase = worder.words.decided({treatment: next(f.value for f in facts if f.item == treatment)})[treatment]
        name, _, rest = phrase.partition(" were ")
        wording = f"On which dates were {name} {rest}?" if rest else f"On which dates did it hold that {phrase}?"
        yield "treatment", wording, f"On {' and '.join(days)}."


def summary_documents(
    frames: Frames, worder: Worder, doses: Sequence[int], seed: int
) -> tuple[list[Document], pd.DataFrame, pd.DataFrame]:
    """One document a patient (source: notes, reference: record), truth of damaged summaries, and UNSCORED.

    The truth has the columns of SUMMARY_TRUTH, and the keys of the facts that the summary states (``kept``).

    ``frames``: visits, visit_notes, history_facts, history_summaries, and questions (patient, wording, right), of the
    same patients. Patients without facts are left out. A patient with a visit that has no note is unscored: a summary
    cannot state the facts of that visit.
    """
    by_patient = {name: {int(p): own for p, own in frame.groupby("patient")} for name, frame in frames.items()}
    documents, truths, lacking = [], list[dict[str, object]](), []
    for patient, notes in notes_by_patient(frames["visit_notes"]).items():
        if patient not in by_patient["history_facts"] or patient not in by_patient["history_summaries"]:
            continue
        visits = by_patient["visits"][patient].sort_values("visit").to_dict("records")
        if len(notes) < len(visits):
            lacking.append(unscored_row(str(patient), "notes", "a visit has no note"))
            continue
        own = by_patient["history_summaries"][patient].sort_values(["system", "purpose", "words"])
        outputs = dict(zip(names_of(own), own["text"], strict=True))
        damaged = dosed_summaries(visits, worder, doses, seed)
        outputs |= {dose.system: dose.text for dose in damaged}
        truths += [{"document": str(patient), "system": dose.system, **vars(dose)} for dose in damaged]
        claims = tuple(by_patient["history_facts"][patient]["claim"])
        asked = by_patient["questions"].get(patient, frames["questions"].iloc[:0])
        questions = tuple(zip(asked["wording"], asked["right"], strict=True))
        reference = "\n".join([*claims, *visits_in_sentences(visits, worder)])  # a true denial is no invention
        known = {WHOLE: claims}
        documents.append(Document(str(patient), notes, reference, None, known, outputs, questions, dialogue=False))
    return documents, pd.DataFrame(truths, columns=[*SUMMARY_TRUTH.columns, "kept"]), unscored_table(lacking)


def with_truth(recalled: pd.DataFrame, truth: pd.DataFrame, facts: pd.DataFrame) -> pd.DataFrame:
    """The verdicts on facts, with whether damaged summaries state them; ``facts``: HISTORY_FACTS in their order."""
    keys = {str(patient): own.to_list() for patient, own in facts.groupby("patient")["fact"]}
    kept = truth.set_index(["document", "system"])["kept"].to_dict()
    stated = [
        keys[document][int(unit)] in kept[document, system] if (document, system) in kept else None
        for document, system, unit in recalled[["document", "system", "unit"]].itertuples(index=False)
    ]
    return typed(recalled.assign(truth=pd.array(stated, dtype="Float64")), VERDICTS)


async def judge_summaries(plan: doclens.Plan, frames: Frames, ask: Asks, params: Params) -> Tables:
    """Judge all summaries of a chunk of ``frames["documents"]`` (DOCUMENTS), with the plan's citing and glossary.

    Tables recalled (VERDICTS: is each fact of the record stated?), errors (VERDICTS: does the record contradict a
    statement?), judged (VERDICTS, against the notes), VERDICTS of each measure that is tested, by its name, unscored.
    """
    documents, judge = documents_of(frames["documents"]), ask("judge")
    plain = doclens.plain_documents(documents, plan.citing)
    rounds = params.doclens.model_copy(update={"claim_rounds": params.summarise.claim_rounds})
    graded = rounds.model_copy(update={"style": "graded"})
    recalled = await doclens.judge(judge, plain, doclens.Plan(precision=False, glossary=plan.glossary), graded)
    record = [replace(one, source=(str(one.reference),)) for one in plain]
    errors = await judge_by_source(judge, record, doclens.Plan(), rounds)
    against = [replace(one, reference=one.text, claims=None) for one in documents]
    notes = await doclens.judge(judge, against, doclens.Plan(citing=plan.citing), rounds)
    parts = {"truth": recalled, "errors": errors, "notes": notes}
    for one in OF_OUTPUTS:
        if one.of_summaries is not None:
            parts[one.name] = await one.of_summaries(system_names(documents), params, ask, plain)
    unscored = [part["unscored"].assign(step=name + ": " + part["unscored"]["step"]) for name, part in parts.items()]
    tables = {"truth": "recalled", "notes": "judged"}
    found = {tables.get(name, name): part["verdicts"] for name, part in parts.items()}
    return {**found, "unscored": pd.concat(unscored, ignore_index=True)}
