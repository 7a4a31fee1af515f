"""Stages `med_omit`, omissions of compact notes, and `med_omit_published`, of summaries of ACI-BENCH dialogues."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage, require_scored
from flows.stages.recorded_judge import STRONG, drawn, recorded
from schemas.errors import MissingSourceError
from schemas.params import Params
from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.llm.calls import Ask, Asks, unscored_table
from tasks.measures.med_omit.judging import (
    WRITER,
    Plan,
    corrupt_summaries,
    corruption_rows,
    judge,
    name_encoder,
)
from tasks.measures.med_omit.metrics import (
    SYSTEM,
    SYSTEMS,
    difference_rows,
    document_scores,
    extent_rows,
    metric_rows,
    omission_rows,
    overlap_correlations,
    paired_rows,
    record_scores,
    unscored_texts,
)
from tasks.measures.med_omit.network_importance import add_posterior_shift, agreement_rows, symptoms_of_facts
from tasks.people.omission_agreement import agreement_between, agreement_with_judge
from tasks.people.omission_form import omission_form, omission_labels
from tasks.statistics.bootstrap import sample_records
from tasks.statistics.metric_rows import metric_table
from tasks.text.soap import split_soap
from tasks.texts.aci_bench import encounter_files, output_files, read_encounters
from tasks.texts.document import Document, documents_of, documents_table, system_names


async def run_med_omit(stage: Stage) -> None:
    """Count and weigh the omissions of a sample of compact notes; compare the judge's grades with the network."""
    params, seed = stage.params.med_omit, stage.params.seed
    notes, compact = stage.load("notes"), stage.load("compact_notes")
    sampled = sample_records(compact["record"], params.notes, seed=seed)
    texts = notes.merge(compact[["record", "compact"]], on="record")
    texts = texts[texts["record"].isin(sampled)].sort_values("record")
    documents = [Document(str(row.record), (row.note,), outputs={SYSTEM: row.compact}) for row in texts.itertuples()]
    made = await stage.in_chunks(
        judge_compact, {"documents": documents_table(documents).assign(record=texts["record"].to_numpy())}
    )

    facts = made["facts"].sort_values(["document", "fact"], ignore_index=True)
    network, stated = stage.network, symptoms_of_facts(facts, stage.load("spans"))
    facts = add_posterior_shift(facts, stated, stage.load("prompts"), network, network.of_type("diagnosis"))
    omitted = made["omitted"].sort_values(["document", "system", "fact"], ignore_index=True)
    scores = document_scores(facts, omitted)
    stage.save("facts", facts)
    stage.save("omitted", omitted)
    stage.save("med_omit_scores", record_scores(scores, condition=params.variant))
    stage.save_unscored("unscored_med_omit", made["unscored"], of=len(omitted) + len(made["unscored"]))

    lost = unscored_texts(scores, made["unscored"], [one.id for one in documents])
    require_scored(lost, len(documents), stage.params.runtime.max_unscored_share, "stage med_omit, documents")

    made_by, size = stage.provenance(["judge"]), {SYSTEM: len(documents)}
    shared: dict[str, Any] = {"seed": seed, "provenance": made_by, "condition": params.variant}
    rows = [
        metric_rows(scores, documents=size, **shared),
        extent_rows(omitted, **shared),
        difference_rows(made["differences"], documents=size, **shared),
        agreement_rows(facts, stage="med_omit", **shared),
    ]
    form = omission_form(facts, omitted, SYSTEM, params.form, seed=seed)
    summaries = {one.id: one.outputs[SYSTEM] for one in documents}
    html = form.filled(facts, made["differentials"], summaries, "clinician")
    stage.save_text("omission_form", html)
    given = form.validations(stage.returned("omissions_returned", form.id))
    stage.save("omission_labels", omission_labels(facts, omitted, SYSTEM, given, stage.ask("judge").label))
    if len(given):
        rows.append(agreement_with_judge(form.shown, given, seed=seed, provenance=made_by))
        rows.append(agreement_between(given, seed=seed, provenance=made_by))
    stage.save_metrics("med_omit", pd.concat(rows, ignore_index=True))


async def judge_compact(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Facts, omissions and differentials of one chunk of notes."""
    documents = documents_of(frames["documents"])
    return await judge(ask("judge"), documents, Plan(), params.med_omit, name_encoder(params.embed))


def reads_med_omit_published(params: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    splits = params.med_omit.splits
    outputs = [one for file in params.doclens.systems.values() for one in output_files(file, splits)]
    return [*encounter_files(splits), *outputs]


async def run_med_omit_published(stage: Stage) -> None:
    """Count, weigh and correlate; empty tables without the sources.

    In GPT-4's place is the configured judge, or the recorded one where the simulator's rules are configured.
    """
    params = stage.params
    try:
        documents = read_encounters(stage.sources or Path(), params.doclens.systems, params.med_omit.splits)
    except MissingSourceError:
        stage.save_empty("facts_aci", "omitted_aci")
        stage.save_unscored("unscored_med_omit_aci", unscored_table([]), of=0)
        stage.save_metrics("med_omit_aci", metric_table([]))
        stage.save("reproduction_med_omit", typed([], REPRODUCTION_ROWS))
        return
    made = await stage.in_chunks(judge_encounters, {"documents": documents_table(documents)}, by="document")
    made["facts"] = made["facts"].sort_values(["document", "fact"], ignore_index=True)
    made["omitted"] = made["omitted"].sort_values(["document", "system", "fact"], ignore_index=True)
    stage.save("facts_aci", made["facts"])
    stage.save("omitted_aci", made["omitted"])
    strong = await judge_omissions(documents, recorded(), params)
    known = len(made["omitted"]) + len(made["unscored"])
    stage.save_unscored("unscored_med_omit_aci", made["unscored"], of=known, uncounted=strong["unscored"])
    about = {"made_by": stage.provenance(["writer", "judge"]), "condition": params.med_omit.variant}
    own = metric_tables(made, documents, {WRITER: len(documents)}, params, **about)
    other = metric_tables(strong, visits_drawn(documents), {}, params, made_by=STRONG, condition=STRONG)
    stage.save_metrics("med_omit_aci", pd.concat([own, other], ignore_index=True))
    judge_role = params.roles["judge"]
    metrics, model = (other, STRONG) if judge_role.is_simulator else (own, judge_role.model)
    stage.save("reproduction_med_omit", omission_rows(pd.read_csv(stage.dep("medomit_table3_llms")), metrics, model))


JUDGED_ENCOUNTERS = 20
"""Encounters whose omissions the recorded model judged."""
_AS_RECORDED: dict[str, Any] = {"compare_differentials": True, "least_lines": 5, "removed_facts": 0}


async def judge_omissions(documents: Sequence[Document], ask: Ask, params: Params) -> Frames:
    """MED-OMIT's tables of the subjective parts of GPT-4's and ChatGPT's notes of `visits_drawn`."""
    asked = params.med_omit.model_copy(update=_AS_RECORDED)
    plan = Plan("history", asked.least_lines)
    return await judge(ask, visits_drawn(documents), plan, asked, name_encoder(params.embed))


def visits_drawn(documents: Sequence[Document]) -> list[Document]:
    """The encounters whose omissions were judged, with the outputs of the models that the paper judges."""
    systems = set(SYSTEMS.values())
    return [
        replace(one, outputs={name: text for name, text in one.outputs.items() if name in systems})
        for one in drawn(documents, JUDGED_ENCOUNTERS)
    ]


def metric_tables(
    made: Frames,
    documents: Sequence[Document],
    written: Mapping[str, int],
    params: Params,
    *,
    made_by: str,
    condition: str,
) -> pd.DataFrame:
    """METRICS of the judged summaries of ``documents``: the tables of `judge_encounters` in order.

    ``written``: how many summaries were asked for, by systems that are not in ``documents``.
    """
    scores = document_scores(made["facts"], made["omitted"])
    size = {name: sum(name in one.outputs for one in documents) for name in system_names(documents)} | dict(written)
    shared: dict[str, Any] = {"seed": params.seed, "provenance": made_by, "condition": condition}
    references = {one.id: split_soap(one.reference or "").get("subjective", "") for one in documents}
    rows = [
        metric_rows(scores, documents=size, **shared),
        paired_rows(scores, **shared),
        extent_rows(made["omitted"], **shared),
        difference_rows(made["differences"], documents=size, **shared),
        overlap_correlations(scores, made["summaries"], references, params.overlap, **shared),
    ]
    if "corruption" in made:
        rows.append(corruption_rows(made["corruption"], **shared))
    return pd.concat(rows, ignore_index=True)


async def judge_encounters(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Facts, omissions and differentials of one chunk of encounters."""
    plan, documents = Plan("history", params.med_omit.least_lines, summarised=True), documents_of(frames["documents"])
    made = await judge(ask("judge"), documents, plan, params.med_omit, name_encoder(params.embed), ask("writer"))
    if not params.med_omit.removed_facts:
        return made
    summaries, omitted = (made[name][made[name]["system"] == WRITER] for name in ("summaries", "omitted"))
    texts = summaries.set_index("document")["summary"].to_dict()
    draw: dict[str, int] = {"remove": params.med_omit.removed_facts, "seed": params.seed}
    corruption, failed = await corrupt_summaries(ask("writer"), ask("judge"), made["facts"], omitted, texts, **draw)
    unscored = pd.concat([made["unscored"], unscored_table(failed)], ignore_index=True)
    return {**made, "corruption": corruption, "unscored": unscored}
