"""Stages `doclens*`: compact notes of a run, published outputs on ACI-BENCH, summaries of questions and reports."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage
from flows.stages.recorded_judge import STRONG, drawn, recorded
from schemas.errors import MissingSourceError
from schemas.params import Params
from schemas.params.measures import DocLens
from schemas.tables.columns import typed
from schemas.tables.metrics import UNSCORED
from schemas.tables.verdicts import VERDICTS, in_order
from tasks.domains.rules import rules_of
from tasks.llm.calls import Ask, Asks
from tasks.measures.doclens.documents import MEQSUM, judge_notes, read_tasks
from tasks.measures.doclens.evaluators import provenance
from tasks.measures.doclens.form import disputed_pairs, preference_form, preference_rows, shown_pairs
from tasks.measures.doclens.judging import METRICS, NAME, Plan, judge, write_and_judge
from tasks.measures.doclens.published import (
    JUDGE,
    PREFERENCE_SECTIONS,
    RULES_JUDGE,
    distance_metrics,
    evaluator_agreement,
    judged_by_rules,
    output_table,
    recalls_by_section,
    recorded_rows,
    rules_agreement,
    section_preferences,
    section_recalls,
    system_rows,
)
from tasks.measures.doclens.writing import Writer, writer
from tasks.measures.measure import figures, record_scores
from tasks.statistics.bootstrap import sample_records
from tasks.statistics.metric_rows import metric_table
from tasks.texts.aci_bench import SUBCLAIMS, encounter_files, read_encounters
from tasks.texts.document import Document, documents_of, documents_table


async def run_doclens(stage: Stage) -> None:
    """Judge a sample of the notes, and score."""
    seed, compact = stage.params.seed, stage.load("compact_notes")
    sampled = sample_records(compact["record"], stage.params.doclens.notes, seed=seed)
    frames = {"notes": stage.load("notes"), "compact": compact, "prompts": stage.load("prompts")}
    frames = {name: frame[frame["record"].isin(sampled)].reset_index(drop=True) for name, frame in frames.items()}
    made = await stage.in_chunks(judge_note_chunk, frames)
    judged = in_order(made["verdicts"])
    stage.save("cited_compact", made["cited"].sort_values("record", ignore_index=True))
    stage.save("doclens_judged", judged)
    stage.save("doclens_scores", record_scores(judged, METRICS))
    stage.save_unscored("unscored_doclens", made["unscored"], of=len(judged) + len(made["unscored"]))
    made_by = provenance(stage.params.doclens, stage.provenance(["writer", "judge"]))
    stage.save_metrics("doclens", figures(judged, METRICS, stage=NAME, seed=seed, provenance=made_by))


async def judge_note_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Judgements on one chunk of notes."""
    tables = (frames["notes"], frames["compact"], frames["prompts"])
    return await judge_notes(ask("writer"), ask("judge"), *tables, rules_of(params.domain), params.doclens)


WRITERS = ("writer (full)", "writer (section)")
PLAN = Plan(sections="soap", citing=WRITERS, expected=WRITERS)
_WHOLE = {
    "GPT-4": "doclens_table21_aci_gpt4",
    "Mistral": "doclens_table22_aci_mistral",
    "TRUE": "doclens_table23_aci_true",
}
_BY_SECTION = {
    "GPT-4": "doclens_table25_aci_sections_gpt4",
    "Mistral": "doclens_table26_aci_sections_mistral",
    "TRUE": "doclens_table27_aci_sections_true",
}
"""Printed tables of whole notes and of sections, by evaluator."""


def reads_doclens_published(params: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [*encounter_files(["test1"]), SUBCLAIMS, *params.doclens.systems.values()]


async def run_doclens_published(stage: Stage) -> None:
    """Judge every system, by the configured judge and by the recorded one; empty tables without the sources."""
    params, seed = stage.params, stage.params.seed
    try:
        documents = read_encounters(stage.sources or Path(), params.doclens.systems, subclaims=True)
    except MissingSourceError:
        stage.save_nothing()
        return

    examples = params.doclens.writer_examples
    writers = [writer("cited_note", examples, name=name, by_section=name == WRITERS[1]) for name in WRITERS]
    work = partial(judge_written, writers, PLAN)
    made = await stage.in_chunks(work, {"documents": documents_table(documents)}, by="document")
    judged = in_order(made["verdicts"])
    stage.save("doclens_aci_judged", judged)
    strong = await judge_claims(documents, ask := recorded("aci_bench"), ask, params.doclens)
    known = len(judged) + len(made["unscored"])
    stage.save_unscored("unscored_doclens_aci", made["unscored"], of=known, uncounted=strong["unscored"])

    claims, made_by = strong["verdicts"], provenance(params.doclens, stage.provenance(["writer", "judge"]))
    rules, complete = await judged_by_rules(claims, documents), documents_of(made["documents"])
    stage.save("recorded_claims", claims_table(claims, rules))
    judges = {RULES_JUDGE: rules, STRONG: claims}
    if not params.roles["judge"].is_simulator:
        judges[stage.ask("judge").label] = judged
    recalled = recalls_by_section(claims, documents, ())
    disputed = disputed_pairs(recalled[recalled["item"].isin(PREFERENCE_SECTIONS)], seed=seed)
    pairs = shown_pairs(disputed, claims, documents)
    stage.save("preference_pairs", pairs)
    form = preference_form(pairs)
    stage.save_text("preference_form", form.filled("expert"))
    chosen = form.chosen(stage.returned("preferences_returned", form.id))
    preferred = preference_rows(pairs, chosen, system="metrics", provenance=f"{STRONG}; returned forms")
    tables_of = (_WHOLE, _BY_SECTION)
    whole, by_section = ({name: pd.read_csv(stage.dep(stem)) for name, stem in of.items()} for of in tables_of)
    of_gpt4, others = by_section["GPT-4"], {name: by_section[name] for name in ("Mistral", "TRUE")}
    recalls = {name: section_recalls(table, documents) for name, table in judges.items()}
    tables = [
        system_rows(judged, complete, WRITERS, params.overlap, stage="doclens", seed=seed, provenance=made_by),
        recorded_rows(claims, documents, params.overlap, STRONG, seed=seed),
        distance_metrics(of_gpt4, others, recalls, seed=seed),
        rules_agreement(claims, rules, STRONG, seed=seed),
        section_preferences(judged, complete, WRITERS, seed=seed, provenance=made_by),
        metric_table(preferred, stage="doclens", seed=seed),
        evaluator_agreement(whole, by_section, {JUDGE: judged, STRONG: claims}, seed=seed),
    ]
    stage.save_metrics("doclens_aci", pd.concat(tables, ignore_index=True))
    stage.save_metrics("doclens_outputs", output_table(of_gpt4, documents, recalls[STRONG], params.overlap, seed=seed))


PRECISE, CITED = 16, 8
"""Encounters of which the recorded model judged the claims of outputs, and wrote cited notes itself."""
CITING = "strong model's cited notes"
_AS_RECORDED: dict[str, Any] = {
    **{"evaluator": "instruction", "style": "json_cot", "examples": 2, "citations": "definition"},
    **{"claims_a_call": 20, "claims_a_reply": 30, "claim_rounds": 4, "writer_examples": 0},
}


async def judge_claims(documents: Sequence[Document], ask: Ask, write: Ask, params: DocLens) -> Frames:
    """DocLens's tables `verdicts` and `unscored`: recall of all outputs, precision of those drawn, own citations."""
    params = params.model_copy(update=_AS_RECORDED)
    precise = {one.id for one in drawn(documents, PRECISE)}
    others, both = ([one for one in documents if (one.id in precise) is chosen] for chosen in (False, True))
    cited = [replace(one, outputs={}) for one in drawn(documents, CITED)]
    citing = Plan(sections="soap", citing=(CITING,), claimed=(), expected=(CITING,))
    own = writer("cited_note", params.writer_examples, name=CITING, by_section=False)
    made = await asyncio.gather(
        judge(ask, others, Plan(sections="soap", precision=False), params),
        judge(ask, both, Plan(sections="soap"), params),
        write_and_judge(write, ask, cited, [own], citing, params),
    )
    return {name: pd.concat([one[name] for one in made], ignore_index=True) for name in ("verdicts", "unscored")}


def claims_table(judged: pd.DataFrame, rules: pd.DataFrame) -> pd.DataFrame:
    """VERDICTS of the recorded model, and of the simulator's rules on the same claims."""
    by_rules = rules.assign(judge=RULES_JUDGE, verdict=None, reason=None)
    return in_order(typed(pd.concat([judged, by_rules], ignore_index=True), VERDICTS))


def reads_doclens_summaries(params: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    chosen = params.summaries
    outputs = [*chosen.question_outputs.values(), *chosen.impression_outputs.values()]
    return [MEQSUM, chosen.radiology, chosen.radiology_examples, *outputs]


async def run_doclens_summaries(stage: Stage) -> None:
    """Have the documents summarised, judge all summaries and add overlap metrics; empty without sources."""
    params, seed = stage.params, stage.params.seed
    made_by = provenance(params.doclens, stage.provenance(["writer", "judge"]))
    judged, unscored, metrics = [typed([], VERDICTS)], [typed([], UNSCORED)], [metric_table([])]
    for task in read_tasks(stage.sources, params.summaries, seed=seed):
        frames = {"documents": documents_table(task.documents)}
        made = await stage.in_chunks(partial(judge_written, task.writers, task.plan), frames, by="document")
        own = in_order(made["verdicts"])
        about: dict[str, Any] = {"stage": f"doclens_{task.name}", "seed": seed, "provenance": made_by}
        documents = documents_of(made["documents"])
        metrics.append(system_rows(own, documents, list(task.plan.citing), params.overlap, **about))
        judged.append(own.assign(item=task.name))
        unscored.append(made["unscored"])
    joined, failed = pd.concat(judged, ignore_index=True), pd.concat(unscored, ignore_index=True)
    stage.save("doclens_summaries_judged", in_order(joined))
    stage.save_unscored("unscored_doclens_summaries", failed, of=len(joined) + len(failed))
    stage.save_metrics("doclens_summaries", pd.concat(metrics, ignore_index=True))


async def judge_written(writers: Sequence[Writer], plan: Plan, frames: Frames, ask: Asks, params: Params) -> Frames:
    """All outputs of one chunk of documents, those of the writers included, judged."""
    documents = documents_of(frames["documents"])
    return await write_and_judge(ask("writer"), ask("judge"), documents, writers, plan, params.doclens)
