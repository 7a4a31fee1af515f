"""Stage `med_omit_published`: omissions of several systems' subjective summaries of ACI-BENCH test1 dialogues."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from flows.engine.chunks import Frames
from flows.engine.stage import Stage
from schemas.errors import MissingSourceError
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.evaluation import FACTS, OMITTED
from tasks.encoder import unit_vectors
from tasks.evaluation.doclens.outside import ACI_TEST1, read_aci_bench, read_outputs
from tasks.evaluation.documents.encounters import encounter_documents
from tasks.evaluation.documents.model import documents_of, documents_table
from tasks.evaluation.med_omit.dialogues import judge_dialogues, overlap_with_omissions
from tasks.evaluation.med_omit.metrics import difference_rows, document_scores, extent_rows, metric_rows
from tasks.evaluation.med_omit.tables import fact_table, omitted_table
from tasks.evaluation.overlap.metric_agreement import omission_correlations
from tasks.evaluation.overlap.tables import correlated
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_table
from tasks.statistics.metric_rows import metric_table
from tasks.text.soap import split_soap

Asks = Callable[[RoleName], Ask]


def reads(params: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [ACI_TEST1, *params.doclens.systems.values()]


async def run(stage: Stage) -> None:
    """Count, weigh and correlate; empty tables without the sources."""
    params = stage.params.med_omit
    try:
        folder = stage.sources or Path()
        encounters = read_aci_bench(folder)
        outputs = read_outputs(folder, stage.params.doclens.systems)
    except MissingSourceError:
        stage.save("facts_aci", fact_table([], variant=params.variant), FACTS)
        stage.save("omitted_aci", omitted_table(fact_table([], variant=params.variant), {}, ""), OMITTED)
        stage.save_unscored("unscored_med_omit_aci", unscored_table([]), of=0)
        stage.save_metrics("med_omit_aci", metric_table([]))
        return
    documents = documents_table(encounter_documents(encounters, outputs))
    made = await stage.in_chunks(judge_chunk, {"documents": documents}, by="document")
    facts = made["facts"].sort_values(["document", "fact"], ignore_index=True)
    omitted = made["omitted"].sort_values(["document", "system", "fact"], ignore_index=True)
    stage.save("facts_aci", facts, FACTS)
    stage.save("omitted_aci", omitted, OMITTED)
    stage.save_unscored("unscored_med_omit_aci", made["unscored"], of=len(omitted) + len(made["unscored"]))
    made |= {"facts": facts, "omitted": omitted}
    made_by = stage.provenance(["writer", "judge"])
    stage.save_metrics("med_omit_aci", metric_tables(made, encounters, stage.params, made_by=made_by))


def metric_tables(made: Frames, encounters: pd.DataFrame, params: Params, *, made_by: str) -> pd.DataFrame:
    """METRICS of the judged summaries of ``encounters`` (encounter, note): the tables of `judge_chunk` in order."""
    scores, size, seed = document_scores(made["facts"], made["omitted"]), len(encounters), params.seed
    shared: dict[str, Any] = {"seed": seed, "provenance": made_by, "condition": params.med_omit.variant}
    references = {row.encounter: split_soap(row.note).get("subjective", "") for row in encounters.itertuples()}
    overlap = overlap_with_omissions(scores, made["summaries"], references, params.overlap)
    rows = [
        metric_rows(scores, documents=size, **shared),
        extent_rows(made["omitted"], **shared),
        difference_rows(made["differences"], documents=size, **shared),
        omission_correlations(overlap, correlated(overlap), stage="med_omit", **shared),
    ]
    return pd.concat(rows, ignore_index=True)


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Facts, omissions and differentials of one chunk of encounters."""
    encode = unit_vectors(params.embed.encoder, params.embed.precision)
    documents = documents_of(frames["documents"])
    made, unscored = await judge_dialogues(ask("writer"), ask("judge"), documents, params.med_omit, encode)
    return {**made, "unscored": unscored_table(unscored)}
