"""Stage `doclens_published`: ACI-BENCH test1 with published outputs: ROUGE, all of DocLens, agreement."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from flows.engine.chunks import Frames
from flows.engine.stage import Stage
from schemas.errors import MissingSourceError
from schemas.params import Params
from schemas.params.llm import RoleName
from schemas.tables.evaluation import JUDGED
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.evaluation.calibration.styles import judge_styles, printed_style_rows, reference_instances, style_rows
from tasks.evaluation.doclens.dialogue_work import embedded_recalls, judge_system, present_shares
from tasks.evaluation.doclens.evaluator_agreement import evaluator_agreement
from tasks.evaluation.doclens.judging import judged_table
from tasks.evaluation.doclens.metrics import document_scores
from tasks.evaluation.doclens.outside import ACI_SUBCLAIMS, ACI_TEST1, read_aci_bench, read_outputs, read_subclaims
from tasks.evaluation.doclens.preferences import section_preferences
from tasks.evaluation.doclens.reproduction import (
    OPEN_SYSTEMS,
    distance_metrics,
    recall_rows,
    reproduction_rows,
    rouge_rows,
    section_recalls,
    whole_note_rows,
)
from tasks.evaluation.doclens.reproduction_precision import precision_rows
from tasks.evaluation.doclens.reproduction_printed import nli_mean_rows, word_rows
from tasks.evaluation.doclens.summary_tables import system_tables
from tasks.evaluation.documents.encounters import encounter_documents
from tasks.evaluation.documents.model import documents_of, documents_table
from tasks.llm.calls import Ask
from tasks.llm.unscored import unscored_table
from tasks.statistics.metric_rows import metric_table

Asks = Callable[[RoleName], Ask]


def reads(params: Params) -> list[str]:
    """The files of outside data that the stage reads."""
    return [ACI_TEST1, ACI_SUBCLAIMS, *params.doclens.systems.values()]


async def run(stage: Stage) -> None:
    """Judge every system and compare the printed figures with ours; absent rows without the sources."""
    seed = stage.params.seed
    printed = {number: pd.read_csv(stage.dep(stem)) for number, stem in _PRINTED.items()}
    words = pd.read_csv(stage.dep("doclens_section42_words"))
    try:
        folder = stage.sources or Path()
        encounters = read_aci_bench(folder)
        outputs = read_outputs(folder, stage.params.doclens.systems)
        subclaims = read_subclaims(folder, encounters)
    except MissingSourceError:
        rows = [*rouge_rows(printed[20], printed[24], None, None), *recall_rows(printed[25], None)]
        rows += [*whole_note_rows(printed[21], None), *precision_rows(printed[21], printed[25], None, basis="absent")]
        rows += [*nli_mean_rows(printed[1], printed[4]), *word_rows(words, None)]
        stage.save("reproduction_doclens", reproduction_rows(rows), REPRODUCTION_ROWS)
        stage.save("doclens_aci_judged", judged_table([]), JUDGED)
        stage.save_unscored("unscored_doclens_aci", unscored_table([]), of=0)
        stage.save_metrics("doclens_aci", metric_table([]))
        return

    documents = documents_table(encounter_documents(encounters, outputs, subclaims))
    made = await stage.in_chunks(judge_chunk, {"documents": documents}, by="document")
    judged = made["judged"].sort_values(list(JUDGED.unique), ignore_index=True)
    stage.save("doclens_aci_judged", judged, JUDGED)
    instances = reference_instances(documents_of(documents), claims=stage.params.doclens.style_claims, seed=seed)
    styles = await stage.in_chunks(style_chunk, {"instances": instances}, by="document")
    unscored = pd.concat([made["unscored"], styles["unscored"]], ignore_index=True)
    stage.save_unscored("unscored_doclens_aci", unscored, of=len(judged) + len(styles["verdicts"]) + len(unscored))

    open_outputs = {system: outputs[system] for system in OPEN_SYSTEMS}
    open_documents = encounter_documents(encounters, open_outputs, subclaims)
    offline = await embedded_recalls(open_documents)
    recalls = section_recalls(offline, present_shares(open_documents))
    others = {"Mistral": printed[26], "TRUE": printed[27]}
    distances = distance_metrics(printed[25], others, recalls, "offline rules", seed=seed)
    notes = dict(zip(encounters["encounter"], encounters["note"], strict=True))
    made_by = stage.provenance(["writer", "judge"])
    scores = system_tables(
        judged, made["texts"], notes, stage.params.overlap, stage="doclens", seed=seed, made_by=made_by
    )
    preferences = section_preferences(document_scores(judged), made["texts"], notes, seed=seed, provenance=made_by)
    accuracies = style_rows(styles["verdicts"], seed=seed, provenance=stage.provenance(["judge"]))
    printed_accuracies = printed_style_rows(*(printed[number] for number in (4, 5, 6, 7)))
    whole, by_section = ({name: printed[n] for name, n in zip(_EVALUATORS, of, strict=True)} for of in _BY_EVALUATOR)
    agreement = evaluator_agreement(whole, by_section, judged, seed=seed)
    tables = [scores, distances, preferences, accuracies, printed_accuracies, agreement]
    stage.save_metrics("doclens_aci", pd.concat(tables, ignore_index=True))
    rows = [*rouge_rows(printed[20], printed[24], notes, open_outputs), *recall_rows(printed[25], recalls)]
    basis = "offline" if stage.params.roles["judge"].is_embedded else "hosted"
    rows += [*whole_note_rows(printed[21], offline), *precision_rows(printed[21], printed[25], judged, basis=basis)]
    rows += [*nli_mean_rows(printed[1], printed[4]), *word_rows(words, open_outputs)]
    stage.save("reproduction_doclens", reproduction_rows(rows), REPRODUCTION_ROWS)


_PRINTED = {
    1: "doclens_table1_nli",
    4: "doclens_table4_nli_2way",
    5: "doclens_table5_mednli_3way",
    6: "doclens_table6_claim_recall_20",
    7: "doclens_table7_claim_recall_100",
    20: "doclens_table20_aci_rouge_medcon",
    21: "doclens_table21_aci_gpt4",
    22: "doclens_table22_aci_mistral",
    23: "doclens_table23_aci_true",
    24: "doclens_table24_aci_sections_existing",
    25: "doclens_table25_aci_sections_gpt4",
    26: "doclens_table26_aci_sections_mistral",
    27: "doclens_table27_aci_sections_true",
}
_EVALUATORS = ("GPT-4", "Mistral", "TRUE")
_BY_EVALUATOR = ((21, 22, 23), (25, 26, 27))
"""The tables of whole notes and of sections, by evaluator."""


async def judge_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """All DocLens judgements of one chunk of encounters, every system."""
    documents = documents_of(frames["documents"])
    judged, texts, unwritten = await judge_system(ask("writer"), ask("judge"), documents, params.doclens)
    return {"judged": judged.table, "texts": texts, "unscored": unscored_table([*unwritten, *judged.unscored])}


async def style_chunk(frames: Frames, ask: Asks, params: Params) -> Frames:
    """Verdicts on entailment instances of one chunk of encounters in each prompt style."""
    rules = not params.roles["judge"].is_embedded
    verdicts, unscored = await judge_styles(ask("judge"), frames["instances"], params.doclens, rules=rules)
    return {"verdicts": verdicts, "unscored": unscored_table(unscored)}
