"""Stages of patients over time: `visits`, `visit_notes`, `summarise`, `judge_summaries` and `history_qa`."""

import logging
from functools import partial

import pandas as pd

from flows.repository.workspace import LOGGER
from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.records import visits_schema
from schemas.tables.verdicts import in_order
from schemas.tables.visits import SUMMARY_TRUTH
from tasks.domains.rules import history_words, rules_of
from tasks.llm.calls import Asks
from tasks.measures.doclens.judging import Plan
from tasks.measures.history.judging import judge_summaries, summary_documents, summary_questions, with_truth
from tasks.measures.history.metrics import metric_rows
from tasks.measures.history.summarising import names_of, not_citing, outside_summaries, sample_patients, summarise
from tasks.measures.note_qa.answering import answer_and_judge, planted_answers
from tasks.measures.note_qa.metrics import question_metrics
from tasks.measures.note_qa.time_questions import history_questions, notes_of_visits
from tasks.network.time import sample_histories
from tasks.network.transitions import read_transitions
from tasks.network.visits import visits_per_patient
from tasks.statistics.bootstrap import sample_records
from tasks.texts.document import documents_table, system_names
from tasks.texts.files import read_rows
from tasks.visits.facts import Worder, history_facts
from tasks.visits.prompting import visit_prompts, write_visit_notes


def _worder(stage: Stage) -> Worder:
    domain = stage.params.domain
    return Worder(stage.network, rules_of(domain), history_words(domain))


async def run_visits(stage: Stage) -> None:
    """Write the visits; none in a domain without transitions.yaml."""
    file = stage.dep("network").with_name("transitions.yaml")
    if not file.exists():
        logging.getLogger(LOGGER).warning("%s: no such file, so no patient has a second visit to draw", file)
        stage.save("visits", typed([], visits_schema(stage.network)))
        return
    transitions, seed = read_transitions(file, stage.network), stage.params.seed
    sizes = visits_per_patient(stage.params.visits, seed)
    stage.save("visits", sample_histories(stage.network, transitions, len(sizes), sizes, seed))


async def run_visit_notes(stage: Stage) -> None:
    """Write facts and notes; both are empty in a domain without transitions."""
    visits, worder = stage.load("visits"), _worder(stage)
    stage.save("history_facts", history_facts(visits, worder))
    prompts = visit_prompts(visits, worder, stage.params.seed)
    done = await stage.in_chunks(_write, {"prompts": prompts}, by="patient")
    stage.save("visit_notes", done["notes"].sort_values("record", ignore_index=True))
    stage.save_unscored("unscored_visit_notes", done["unscored"], of=len(prompts))


async def _write(frames: Frames, ask: Asks, params: Params) -> Frames:
    done = await write_visit_notes(frames["prompts"], ask("writer"), ask("annotator"), params.visit_notes)
    return dict(zip(("notes", "unscored"), done, strict=True))


async def run_summarise(stage: Stage) -> None:
    """Have a sample of patients summarised by the writer, and add the summaries of outside systems."""
    params, notes = stage.params.summarise, stage.load("visit_notes")
    sampled = sample_patients(notes, params, stage.params.seed)
    chosen = notes[notes["patient"].isin(sampled)]
    done = await stage.in_chunks(_summarise, {"notes": chosen}, by="patient")
    returned = sorted(stage.dep("summaries_returned").glob("*.jsonl"))
    files = {file.stem: read_rows(file).rows for file in returned}
    outside, lacking = outside_summaries(files, sampled, params)
    summaries = pd.concat([done["summaries"], outside], ignore_index=True)
    unscored = pd.concat([done["unscored"], lacking], ignore_index=True)
    ordered = summaries.sort_values(["patient", "purpose", "words", "system"], ignore_index=True)
    stage.save("history_summaries", ordered)
    stage.save_unscored("unscored_summarise", unscored, of=len(summaries) + len(unscored))


async def _summarise(frames: Frames, ask: Asks, params: Params) -> Frames:
    done = await summarise(frames["notes"], ask("writer"), params.summarise)
    return dict(zip(("summaries", "unscored"), done, strict=True))


async def run_judge_summaries(stage: Stage) -> None:
    """Judge the summaries of a sample of the summarised patients, and damaged ones of known truth."""
    params, seed, worder = stage.params.summarise, stage.params.seed, _worder(stage)
    frames = {name: stage.load(name) for name in ("visits", "visit_notes", "history_facts", "history_summaries")}
    sampled = sample_records(frames["history_summaries"]["patient"], params.judged, seed=seed)
    frames = {name: frame[frame["patient"].isin(sampled)] for name, frame in frames.items()}
    frames["questions"] = summary_questions(frames["visits"], worder)
    documents, truth, lacking = summary_documents(frames, worder, params.doses, seed)
    summaries = frames["history_summaries"]
    citing = set(names_of(summaries[~not_citing(summaries)]))
    cited = tuple(name for name in system_names(documents) if name in citing)
    plan = Plan(citing=cited, glossary=rules_of(stage.params.domain).glossary)
    made = await stage.in_chunks(
        partial(judge_summaries, plan), {"documents": documents_table(documents)}, by="document"
    )
    made["recalled"] = in_order(with_truth(made["recalled"], truth, frames["history_facts"]))
    stage.save("summary_truth", typed(truth, SUMMARY_TRUTH))
    stage.save("facts_stated", made["recalled"])
    stage.save("statements_checked", in_order(made["errors"]))
    judged = sum(len(table) for name, table in made.items() if name != "unscored")
    unscored = pd.concat([lacking, made["unscored"]], ignore_index=True)
    stage.save_unscored("unscored_judge_summaries", unscored, of=judged + len(unscored))
    made_by, patients = stage.provenance(["writer", "answerer", "judge"]), frames["history_facts"]["patient"].nunique()
    rows = metric_rows(made, truth, summaries, stage.params, patients=patients, seed=seed, provenance=made_by)
    stage.save_metrics("history_summaries", rows)


async def run_history_qa(stage: Stage) -> None:
    """Make questions from the visits, have them answered from the notes and without, judge, and score."""
    params, seed = stage.params.history_qa, stage.params.seed
    visits = stage.load("visits")
    notes, lacking = notes_of_visits(visits, stage.load("visit_notes"))
    questions, wordings = history_questions(visits, notes, _worder(stage), params, seed=seed)
    planted = planted_answers(questions, wordings, params.planted_questions, free_text=params.free_text, seed=seed)
    asked = {"questions": questions, "patients": notes, "planted": planted}
    answered = await stage.in_chunks(_answer_and_judge, asked, by="patient")

    verdicts = in_order(answered["verdicts"])
    unscored = pd.concat([lacking, answered["unscored"]], ignore_index=True)
    stage.save("history_questions", questions)
    stage.save("history_qa_judged", verdicts)
    stage.save_unscored("unscored_history_qa", unscored, of=len(verdicts) + len(unscored))
    made = stage.provenance(["answerer", "judge"])
    rows = question_metrics(questions, notes, verdicts, stage=stage.name, seed=seed, provenance=made)
    stage.save_metrics("history_qa", rows)


async def _answer_and_judge(frames: Frames, ask: Asks, params: Params) -> Frames:
    own = params.model_copy(update={"note_qa": params.history_qa.answering})
    return await answer_and_judge(frames, ask, own)
