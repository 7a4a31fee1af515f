"""Stage `text_confounding_published`: the effect of the treatment where the symptoms are in the notes only."""

import numpy as np

from flows.runtime.stage import Stage
from flows.stages.simulated_notes import encoded, simulated_notes
from schemas.errors import NetworkError
from schemas.tables.evidence import evidence_columns
from tasks.confounding.coverage import Pool, confounding_table, estimates
from tasks.confounding.designs import adjustment_designs
from tasks.domains.rules import rules_of
from tasks.network.causal import exact_effect, question_of

VERSION = "normal"


async def run(stage: Stage) -> None:
    """Sample, write, mark spans and embed; estimate the effect on draws of the records by each adjustment."""
    params, seed = stage.params.text_confounding, stage.params.seed
    definition = stage.network
    question = question_of(definition)
    if question is None:
        raise NetworkError(f"network {definition.name}: expected one treatment of two values and one outcome")
    made = await simulated_notes(stage, params.pool, "unscored_text_confounding")
    spans = made.spans[made.spans["version"] == VERSION]
    vectors, encoder = encoded(stage, made.notes, made.compact.head(0), spans)
    records, symptoms = made.records, rules_of(stage.params.domain).symptoms
    numbers = records["record"].to_numpy()
    designs = adjustment_designs(
        records,
        [name for name in evidence_columns(definition, question.outcome, "realistic") if name != question.treatment],
        symptoms,
        {symptom: vectors.embedding("span", VERSION, numbers, symptom) for symptom in symptoms},
        vectors.embedding("mean", VERSION, numbers),
        params.components,
        seed,
    )
    treated = (records[question.treatment] == definition.values(question.treatment)[-1]).to_numpy()
    pool = Pool(designs, treated, records[question.outcome].to_numpy(dtype=np.float64))
    found = estimates(pool, draws=params.draws, size=params.size, folds=params.folds, repeats=params.repeats, seed=seed)
    table = confounding_table(
        found,
        exact_effect(definition, question),
        pool=params.pool,
        size=params.size,
        seed=seed,
        item=f"{question.treatment} on {question.outcome}",
        provenance=f"{made.notes['provenance'].iloc[0]}, {encoder}",
    )
    stage.save_metrics("text_confounding", table)
