"""Stages `med_omit`, omissions of compact notes, and `med_omit_published`, of summaries of ACI-BENCH dialogues."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage, require_scored
from flows.stages.recorded_judge import STRONG, drawn, recorded
from schemas.errors import MissingSourceError
from schemas.params import Params
from schemas.tables.verdicts import in_order
from tasks.llm.calls import Ask, Asks, unscored_table
from tasks.measures.measure import differences, figures, record_scores
from tasks.measures.med_omit.form import agreement_between, agreement_with_judge, omission_form, omission_labels
from tasks.measures.med_omit.judging import (
    METRICS,
    NAME,
    OMISSIONS,
    OMITTED,
    REMOVED,
    SYSTEM,
    WRITER,
    corrupt_summaries,
    judge,
    name_encoder,
)
from tasks.measures.med_omit.measure import CORRELATED, SYSTEMS, overlap_correlations
from tasks.measures.med_omit.network_importance import add_posterior_shift, agreement_rows, symptoms_of_facts
from tasks.statistics.bootstrap import sample_records
from tasks.text.soap import split_soap
from tasks.texts.aci_bench import encounter_files, output_files, read_encounters
from tasks.texts.document import SOURCE, Document, documents_of, documents_table


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

    judged = in_order(made["verdicts"])
    network, stated = stage.network, symptoms_of_facts(judged, stage.load("spans"))
    judged = add_posterior_shift(judged, stated, stage.load("prompts"), network, network.of_type("diagnosis"))
    scores = record_scores(judged, {name: OMISSIONS[name] for name in CORRELATED.values()})
    stage.save("med_omit_judged", judged)
    stage.save("med_omit_scores", scores)
    stage.save_unscored("unscored_med_omit", made["unscored"], of=_facts(judged) + len(made["unscored"]))

    failed = made["unscored"].drop_duplicates("record")
    lost = failed[~failed["record"].isin(scores["record"].astype(str))]
    require_scored(lost, len(documents), stage.params.runtime.max_unscored_share, "stage med_omit, documents")

    shared: dict[str, Any] = {"seed": seed, "provenance": stage.provenance(["judge"])}
    rows = [
        figures(judged, METRICS, stage=NAME, **shared),
        agreement_rows(judged, stage=NAME, condition=params.variant, **shared),
    ]
    form = omission_form(judged, SYSTEM, params.form, seed=seed)
    stage.save_text(
        "omission_form", form.filled(judged, {one.id: one.outputs[SYSTEM] for one in documents}, "clinician")
    )
    given = form.validations(stage.returned("omissions_returned", form.id))
    stage.save("omission_labels", omission_labels(judged, SYSTEM, given, stage.ask("judge").label))
    if len(given):
        rows.append(agreement_with_judge(form.shown, given, **shared))
        rows.append(agreement_between(form.shown, given, **shared))
    stage.save_metrics("med_omit", pd.concat(rows, ignore_index=True))


def _facts(judged: pd.DataFrame) -> int:
    """Number of verdicts on facts of the outputs."""
    return int(((judged["metric"] == OMITTED) & (judged["text"] != "")).sum())


async def judge_compact(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Verdicts on one chunk of notes."""
    documents = documents_of(frames["documents"])
    return await judge(ask("judge"), documents, params.med_omit, name_encoder(params.embed))


def reads_med_omit_published(params: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    splits = params.med_omit.splits
    outputs = [one for file in params.doclens.systems.values() for one in output_files(file, splits)]
    return [*encounter_files(splits), *outputs]


async def run_med_omit_published(stage: Stage) -> None:
    """Count, weigh and correlate, by the configured judge and by the recorded one; empty tables without the sources."""
    params = stage.params
    try:
        documents = read_encounters(stage.sources or Path(), params.doclens.systems, params.med_omit.splits)
    except MissingSourceError:
        stage.save_nothing()
        return
    made = await stage.in_chunks(judge_encounters, {"documents": documents_table(documents)}, by="document")
    judged = in_order(made["verdicts"])
    stage.save("med_omit_aci_judged", judged)
    strong = await judge_omissions(documents, recorded("aci_bench"), params)
    known = _facts(judged) + len(made["unscored"])
    stage.save_unscored("unscored_med_omit_aci", made["unscored"], of=known, uncounted=strong["unscored"])
    own = metric_tables(made | {"verdicts": judged}, documents, params, stage.provenance(["writer", "judge"]))
    strong["verdicts"] = strong["verdicts"].assign(condition=STRONG)
    other = metric_tables(strong, visits_drawn(documents), params, STRONG)
    stage.save_metrics("med_omit_aci", pd.concat([own, other], ignore_index=True))


JUDGED_ENCOUNTERS = 20
"""Encounters whose omissions the recorded model judged."""
_AS_RECORDED: dict[str, Any] = {"compare_differentials": True, "least_lines": 5, "removed_facts": 0}


async def judge_omissions(documents: Sequence[Document], ask: Ask, params: Params) -> Frames:
    """MED-OMIT's tables of the subjective parts of GPT-4's and ChatGPT's notes of `visits_drawn`."""
    asked = params.med_omit.model_copy(update=_AS_RECORDED)
    about: dict[str, Any] = {"scope": "history", "least_lines": asked.least_lines}
    return await judge(ask, visits_drawn(documents), asked, name_encoder(params.embed), **about)


def visits_drawn(documents: Sequence[Document]) -> list[Document]:
    """The encounters whose omissions were judged, with the outputs of the models that the paper judges."""
    systems = set(SYSTEMS.values())
    return [
        replace(one, outputs={name: text for name, text in one.outputs.items() if name in systems})
        for one in drawn(documents, JUDGED_ENCOUNTERS)
    ]


def metric_tables(made: Frames, documents: Sequence[Document], params: Params, made_by: str) -> pd.DataFrame:
    """METRICS of the judged summaries of ``documents``: the tables of `judge_encounters`."""
    verdicts = made["verdicts"]
    shared: dict[str, Any] = {"seed": params.seed, "provenance": made_by}
    references = {one.id: split_soap(one.reference or "").get("subjective", "") for one in documents}
    about: dict[str, Any] = {**shared, "condition": verdicts["condition"].iloc[0]}
    rows = [
        figures(verdicts, METRICS, stage=NAME, **shared),
        differences(verdicts, OMISSIONS, stage=NAME, **shared),
        overlap_correlations(verdicts, made["summaries"], references, params.overlap, **about),
    ]
    if "corruption" in made:
        rows.append(figures(made["corruption"], REMOVED, stage=NAME, **shared))
    return pd.concat(rows, ignore_index=True)


async def judge_encounters(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Verdicts on one chunk of encounters."""
    documents, encode = documents_of(frames["documents"]), name_encoder(params.embed)
    about: dict[str, Any] = {"scope": "history", "least_lines": params.med_omit.least_lines, "write": ask("writer")}
    made = await judge(ask("judge"), documents, params.med_omit, encode, **about)
    if not params.med_omit.removed_facts:
        return made
    summaries, verdicts = (
        made[name][made[name]["system"].isin([WRITER, SOURCE])] for name in ("summaries", "verdicts")
    )
    texts = summaries.set_index("document")["summary"].to_dict()
    draw: dict[str, int] = {"remove": params.med_omit.removed_facts, "seed": params.seed}
    corruption, failed = await corrupt_summaries(ask("writer"), ask("judge"), verdicts, texts, **draw)
    unscored = pd.concat([made["unscored"], unscored_table(failed)], ignore_index=True)
    return {**made, "corruption": corruption, "unscored": unscored}
