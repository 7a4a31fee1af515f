"""Stage `med_omit_published`: omissions of several systems' subjective summaries of ACI-BENCH test1 dialogues."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from flows.engine.chunks import Frames
from flows.engine.stage import Stage
from schemas.errors import MissingSourceError
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.evaluation import FACTS, OMITTED
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.encoder import unit_vectors
from tasks.evaluation.doclens.outside import aci_files, output_files, read_aci_bench, read_outputs
from tasks.evaluation.documents.encounters import encounter_documents
from tasks.evaluation.documents.model import Document, documents_of, documents_table, system_names
from tasks.evaluation.med_omit.corruption import corrupt_summaries, corruption_rows
from tasks.evaluation.med_omit.dialogues import WRITER, judge_dialogues, overlap_with_omissions
from tasks.evaluation.med_omit.metrics import difference_rows, document_scores, extent_rows, metric_rows
from tasks.evaluation.med_omit.reproduction import correlation_rows
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
    splits = params.med_omit.splits
    outputs = [one for file in params.doclens.systems.values() for one in output_files(file, splits)]
    return [*aci_files(splits), *outputs]


async def run(stage: Stage) -> None:
    """Count, weigh and correlate; empty tables without the sources."""
    params = stage.params.med_omit
    table2 = pd.read_csv(stage.dep("medomit_table2_correlations"))
    table5 = pd.read_csv(stage.dep("medomit_table5_correlations"))
    try:
        folder = stage.sources or Path()
        encounters = read_aci_bench(folder, params.splits)
        outputs = read_outputs(folder, stage.params.doclens.systems, params.splits)
    except MissingSourceError:
        stage.save("facts_aci", fact_table([], variant=params.variant), FACTS)
        stage.save("omitted_aci", omitted_table(fact_table([], variant=params.variant), {}, ""), OMITTED)
        stage.save_unscored("unscored_med_omit_aci", unscored_table([]), of=0)
        stage.save_metrics("med_omit_aci", metric_table([]))
        stage.save(
            "reproduction_med_omit",
            correlation_rows(table2, table5, metric_table([]), basis="offline"),
            REPRODUCTION_ROWS,
        )
        return
    documents = encounter_documents(encounters, outputs)
    made = await stage.in_chunks(judge_chunk, {"documents": documents_table(documents)}, by="document")
    facts = made["facts"].sort_values(["document", "fact"], ignore_index=True)
    omitted = made["omitted"].sort_values(["document", "system", "fact"], ignore_index=True)
    stage.save("facts_aci", facts, FACTS)
    stage.save("omitted_aci", omitted, OMITTED)
    stage.save_unscored("unscored_med_omit_aci", made["unscored"], of=len(omitted) + len(made["unscored"]))
    made |= {"facts": facts, "omitted": omitted}
    made_by = stage.provenance(["writer", "judge"])
    metrics = metric_tables(made, documents, stage.params, made_by=made_by)
    stage.save_metrics("med_omit_aci", metrics)
    basis = "offline" if stage.params.roles["judge"].is_embedded else "hosted"
    stage.save("reproduction_med_omit", correlation_rows(table2, table5, metrics, basis=basis), REPRODUCTION_ROWS)


def metric_tables(made: Frames, documents: Sequence[Document], params: Params, *, made_by: str) -> pd.DataFrame:
    """METRICS of the judged summaries of ``documents``: the tables of `judge_chunk` in order."""
    scores, seed = document_scores(made["facts"], made["omitted"]), params.seed
    size = {WRITER: len(documents)}
    size |= {name: sum(name in one.outputs for one in documents) for name in system_names(documents)}
    shared: dict[str, Any] = {"seed": seed, "provenance": made_by, "condition": params.med_omit.variant}
    references = {one.id: split_soap(one.reference or "").get("subjective", "") for one in documents}
    overlap = overlap_with_omissions(scores, made["summaries"], references, params.overlap)
    rows = [
        metric_rows(scores, documents=size, **shared),
        extent_rows(made["omitted"], **shared),
        difference_rows(made["differences"], documents=size, **shared),
        omission_correlations(overlap, correlated(overlap), stage="med_omit", **shared),
    ]
    if params.med_omit.removed_facts:
        rows.append(corruption_rows(made["corruption"], **shared))
    return pd.concat(rows, ignore_index=True)


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Facts, omissions and differentials of one chunk of encounters."""
    encode = unit_vectors(params.embed.encoder, params.embed.precision, params.embed.device)
    documents = documents_of(frames["documents"])
    made, unscored = await judge_dialogues(ask("writer"), ask("judge"), documents, params.med_omit, encode)
    if not params.med_omit.removed_facts:
        return {**made, "unscored": unscored_table(unscored)}
    summaries = made["summaries"][made["summaries"]["system"] == WRITER]
    corruption, failed = await corrupt_summaries(
        ask("writer"),
        ask("judge"),
        made["facts"],
        made["omitted"][made["omitted"]["system"] == WRITER],
        summaries.set_index("document")["summary"].to_dict(),
        remove=params.med_omit.removed_facts,
        seed=params.seed,
    )
    return {**made, "corruption": corruption, "unscored": unscored_table([*unscored, *failed])}
