"""The simulator's annotator on notes of the domain in use whose truth its writer knows."""

from typing import cast

import pandas as pd

from flows.engine.domain import load_domain
from flows.engine.simulated_truth import GoldNotes, write_gold
from tasks.domains.in_use import domain_data
from tasks.network.sampling import sample
from tasks.notes.prompting import build_prompts
from tasks.simulator.annotator import consistency, instructions
from tasks.simulator.annotator.spans import find_spans

WRITERS = {"first": "vignette-writer", "second": "vignette-writer-second"}
CALIBRATION = {"first": "vignette-writer-calibration", "second": "vignette-writer-calibration-second"}
UNSEEN = ("diagnosis_named", "age_or_sex_named")
"""Planted errors of style, which the consistency check does not judge."""


def domain_quality(records: int, seed: int) -> dict[str, dict[str, float]]:
    """F1 of symptoms in notes, and precision and recall of the consistency check, by wording of the symptoms."""
    domain = load_domain()
    rules = domain.wording
    parents = {symptom: domain.network.parents(symptom) for symptom in rules.symptoms}
    prompts = build_prompts(sample(domain.network, records, seed), parents, rules, seed)
    wordings = WRITERS if domain_data("second/wordings") else {"first": WRITERS["first"]}
    found = {}
    for wording, writer in wordings.items():
        gold = write_gold(prompts, writer)
        f1 = {f"symptom F1 ({version})": symptom_f1(gold, version, rules.labels) for version in ("normal", "compact")}
        asked = prompts[prompts["kind"] == "symptoms"]
        found[wording] = f1 | consistency_rates(write_gold(asked, CALIBRATION[wording]), asked)
    return found


def symptom_f1(gold: GoldNotes, version: str, labels: dict[str, str]) -> float:
    """F1 of the symptoms that the annotator finds in notes of a version, against those that the writer marked."""
    hits, both = 0, 0
    for known in gold.version(version).values():
        marked = {labels[span.symptom] for span in known.spans}
        read = {span.symptom for span in find_spans(known.text)}
        hits, both = hits + len(marked & read), both + len(marked) + len(read)
    return 2 * hits / both if both else float("nan")


def consistency_rates(gold: GoldNotes, prompts: pd.DataFrame) -> dict[str, float]:
    """Precision and recall of the consistency check on notes with planted errors of content."""
    asked = dict(zip(prompts["record"].tolist(), prompts["instructions"], strict=True))
    flagged = right = wrong = 0
    for record, known in gold.normal.items():
        kind = known.error.kind if known.error else None
        if kind in UNSEEN:
            continue
        says = bool(consistency.departures(known.text, instructions.read(cast(str, asked[record]))))
        flagged, wrong, right = flagged + says, wrong + (kind is not None), right + (says and kind is not None)
    nan = float("nan")
    return {"check precision": right / flagged if flagged else nan, "check recall": right / wrong if wrong else nan}
