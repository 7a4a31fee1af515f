"""Stage `med_omit`: omissions of compact notes, weighted by the judge and by the network."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from flows.runtime.chunks import Frames
from flows.runtime.stage import Stage, require_scored
from flows.runtime.tables import write_atomically
from schemas.params import Params
from schemas.params.llm import RoleName
from tasks.encoder import unit_vectors
from tasks.llm.calls import Ask
from tasks.measures.med_omit.judging import Plan, judge
from tasks.measures.med_omit.metrics import (
    SYSTEM,
    difference_rows,
    document_scores,
    extent_rows,
    metric_rows,
    record_scores,
    unscored_texts,
)
from tasks.measures.med_omit.network_importance import add_posterior_shift, agreement_rows, symptoms_of_facts
from tasks.people.omission_agreement import agreement_between, agreement_with_judge
from tasks.people.omission_form import omission_form, omission_labels
from tasks.statistics.bootstrap import sample_records
from tasks.texts.document import Document, documents_of, documents_table

Asks = Callable[[RoleName], Ask]


async def run(stage: Stage) -> None:
    """Count and weigh the omissions of a sample of compact notes; compare the judge's grades with the network."""
    params, seed = stage.params.med_omit, stage.params.seed
    notes, compact = stage.load("notes"), stage.load("compact_notes")
    sampled = sample_records(compact["record"], params.notes, seed=seed)
    texts = notes.merge(compact[["record", "compact"]], on="record")
    texts = texts[texts["record"].isin(sampled)].sort_values("record")
    documents = [Document(str(row.record), (row.note,), outputs={SYSTEM: row.compact}) for row in texts.itertuples()]
    made = await stage.in_chunks(
        judge_chunk, {"documents": documents_table(documents).assign(record=texts["record"].to_numpy())}
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
    write_atomically(stage.out("omission_form"), lambda to: to.write_text(html, encoding="utf-8"))
    given = form.validations(stage.returned("omissions_returned", form.id))
    stage.save("omission_labels", omission_labels(facts, omitted, SYSTEM, given, stage.ask("judge").label))
    if len(given):
        rows.append(agreement_with_judge(form.shown, given, seed=seed, provenance=made_by))
        rows.append(agreement_between(given, seed=seed, provenance=made_by))
    stage.save_metrics("med_omit", pd.concat(rows, ignore_index=True))


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Facts, omissions and differentials of one chunk of notes."""
    encode = unit_vectors(params.embed.encoder, params.embed.precision, params.embed.device)
    return await judge(ask("judge"), documents_of(frames["documents"]), Plan(), params.med_omit, encode)
