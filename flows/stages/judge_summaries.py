"""Stage `judge_summaries`: summaries of patients' notes against the record and the notes, and metrics against truth."""

from functools import partial

import pandas as pd

from flows.runtime.stage import Stage
from schemas.tables.columns import typed
from schemas.tables.verdicts import in_order
from schemas.tables.visits import SUMMARY_TRUTH
from tasks.domains.rules import history_words, rules_of
from tasks.measures.doclens.judging import Plan
from tasks.measures.history.judging import judge_summaries, summary_documents, summary_questions, with_truth
from tasks.measures.history.metrics import metric_rows
from tasks.measures.history.summarising import names_of, not_citing
from tasks.statistics.bootstrap import sample_records
from tasks.texts.document import documents_table, system_names
from tasks.visits.facts import Worder


async def run(stage: Stage) -> None:
    """Judge the summaries of a sample of the summarised patients, and damaged ones of known truth."""
    params, seed, domain = stage.params.summarise, stage.params.seed, stage.params.domain
    frames = {name: stage.load(name) for name in ("visits", "visit_notes", "history_facts", "history_summaries")}
    sampled = sample_records(frames["history_summaries"]["patient"], params.judged, seed=seed)
    frames = {name: frame[frame["patient"].isin(sampled)] for name, frame in frames.items()}
    worder = Worder(stage.network, rules_of(domain), history_words(domain))
    frames["questions"] = summary_questions(frames["visits"], worder)
    documents, truth, lacking = summary_documents(frames, worder, params.doses, seed)
    summaries = frames["history_summaries"]
    citing = set(names_of(summaries[~not_citing(summaries)]))
    cited = tuple(name for name in system_names(documents) if name in citing)
    plan = Plan(citing=cited, glossary=rules_of(domain).glossary)
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
