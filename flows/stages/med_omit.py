"""Stage `med_omit`: omissions of compact notes, weighted by the judge and by the network."""

from collections.abc import Callable

import pandas as pd

from flows.engine.chunks import Frames
from flows.engine.stage import Stage
from flows.engine.tables import write_atomically
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.evaluation import FACTS, OMITTED
from schemas.tables.labels import HUMAN_LABELS
from schemas.tables.metrics import SCORES
from schemas.tables.notes import COMPACT_NOTES, NOTES, PROMPTS
from schemas.tables.spans import SPANS
from tasks.encoder import unit_vectors
from tasks.evaluation.med_omit.judging import SYSTEM, judge_omissions
from tasks.evaluation.med_omit.metrics import difference_rows, document_scores, extent_rows, metric_rows, record_scores
from tasks.evaluation.med_omit.network_importance import add_posterior_shift, agreement_rows, symptoms_of_facts
from tasks.evaluation.med_omit.validation_agreement import agreement_between, agreement_with_judge
from tasks.evaluation.med_omit.validation_form import form_facts, form_id, read_validations, render_validation_form
from tasks.evaluation.med_omit.validation_labels import omission_labels
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_table
from tasks.network.definition import load_definition
from tasks.statistics.sampling import sample_records

Asks = Callable[[RoleName], Ask]


async def run(stage: Stage) -> None:
    """Count and weigh the omissions of a sample of compact notes; compare the judge's grades with the network."""
    params, seed = stage.params.med_omit, stage.params.seed
    notes, compact = stage.load("notes", NOTES), stage.load("compact_notes", COMPACT_NOTES)
    sampled = sample_records(compact["record"], params.notes, seed=seed)
    texts = notes.merge(compact[["record", "compact"]], on="record")
    texts = texts[texts["record"].isin(sampled)][["record", "note", "compact"]].reset_index(drop=True)
    made = await stage.in_chunks(judge_chunk, {"texts": texts})

    facts = made["facts"].sort_values(["document", "fact"], ignore_index=True)
    stated = symptoms_of_facts(facts, stage.load("spans", SPANS))
    network = load_definition(stage.dep("network"))
    facts = add_posterior_shift(facts, stated, stage.load("prompts", PROMPTS), network, network.of_type("diagnosis"))
    omitted = made["omitted"].sort_values(["document", "system", "fact"], ignore_index=True)
    scores = document_scores(facts, omitted)
    stage.save("facts", facts, FACTS)
    stage.save("omitted", omitted, OMITTED)
    stage.save("med_omit_scores", record_scores(scores, condition=params.variant), SCORES)
    stage.save_unscored("unscored_med_omit", made["unscored"], of=len(omitted) + len(made["unscored"]))

    made_by, size = stage.provenance(["judge"]), len(texts)
    rows = [
        metric_rows(scores, documents=size, seed=seed, provenance=made_by, condition=params.variant),
        extent_rows(omitted, seed=seed, provenance=made_by, condition=params.variant),
        difference_rows(made["differences"], documents=size, seed=seed, provenance=made_by, condition=params.variant),
        agreement_rows(facts, stage="med_omit", seed=seed, provenance=made_by, condition=params.variant),
    ]
    sample = form_facts(facts, omitted, SYSTEM, params.form, seed=seed)
    shown = sample.shown
    summaries = dict(zip(texts["record"].astype(str), texts["compact"], strict=True))
    html = render_validation_form(sample, facts, made["differentials"], summaries, "clinician")
    write_atomically(stage.out("omission_form"), lambda to: to.write_text(html, encoding="utf-8"))
    given = read_validations(stage.returned("omissions_returned", form_id(shown)), shown)
    stage.save(
        "omission_labels", omission_labels(facts, omitted, SYSTEM, given, stage.ask("judge").label), HUMAN_LABELS
    )
    if len(given):
        rows.append(agreement_with_judge(shown, given, seed=seed, provenance=made_by))
        rows.append(agreement_between(given, seed=seed, provenance=made_by))
    stage.save_metrics("med_omit", pd.concat(rows, ignore_index=True))


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Facts, omissions and differentials of one chunk of notes."""
    texts = frames["texts"]
    records = texts["record"].astype(str)
    sources = dict(zip(records, texts["note"], strict=True))
    summaries = {SYSTEM: dict(zip(records, texts["compact"], strict=True))}
    encode = unit_vectors(params.embed.encoder, params.embed.precision, params.embed.device)
    tables, unscored = await judge_omissions(ask("judge"), sources, summaries, params.med_omit, encode)
    return {**tables, "unscored": unscored_table(unscored)}
