"""Figures of outputs of several systems, above all of those that are published on ACI-BENCH (DocLens, Section 4).

Judged scores beside overlap; ROUGE by section and evaluators' distances from GPT-4 without a judge's help, where the
systems are the open ones, whose outputs DocLens judges, and GPT-4 and ChatGPT, of which ACI-BENCH publishes other
outputs. Printed percentages are converted to shares.

Metrics agree (Section 4.4, Exp-III) by Kendall's tau over texts and systems, and by how often claim recall and ROUGE
recall prefer different outputs of a document (Section 4.3, Table 11). Evaluators, the paper's three and the judge,
agree on the scores of systems: the paper's Figure 8 compares scores of single outputs, which are not released; here the
unit is a system's mean, which Tables 21 to 23 (whole notes) and 25 to 27 (sections) print.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from schemas.params.measures import Overlap
from schemas.tables.verdicts import in_order
from tasks.measures.doclens.evaluators import Question, SimulatorEvaluator
from tasks.measures.doclens.judging import CITATION_METRICS, CLAIM_METRICS, METRICS, NAME, plain_documents
from tasks.measures.measure import differences, figures
from tasks.measures.measure import scores as scores_of
from tasks.measures.overlap.scoring import METRICS as OVERLAP
from tasks.measures.overlap.scoring import (
    agreement_rows,
    bert_score,
    beside_claims,
    overlap_rows,
    part_texts,
    score_outputs,
    section_rouge,
    verdicts_of,
)
from tasks.statistics.agreement import correlation, correlation_interval, kappa_interval
from tasks.statistics.intervals import mean_interval
from tasks.statistics.metric_rows import COMPUTED, Row, mean_row, metric_row, metric_table, system_difference_rows
from tasks.text.soap import PARTS, split_soap
from tasks.texts.document import WHOLE, Document, compared_sections

OPEN_SYSTEMS = ("BART + SAMSum FT (full)", "BART + SAMSum FT (section)", "BioBART (full)", "BioBART (section)")
ACI_BENCH = {
    "GPT-3.5-turbo (full, 0-shot)": "ChatGPT (zero-shot, ACI-BENCH)",
    "GPT-4 (full, 0-shot)": "GPT-4 (zero-shot, ACI-BENCH)",
}
"""ACI-BENCH's outputs of the models that DocLens prompted in its own way, by printed name."""
SECTIONS = dict(zip(PARTS, ("Subjective", "Objective-Exam", "Objective-Results", "Assessment and Plan"), strict=True))
BASELINE = "section present, no claim read"
RULES_JUDGE = "simulator's rules"
CELL = ["section", "system"]
"""Index of the recalls of DocLens's Table 25."""
KEYS = ["document", "system", "item", "metric", "unit"]
"""Columns that identify a judgement of one judge."""
_ROUGE = ("rouge1_f", "rouge2_f", "rougeL_f")


def output_table(
    table25: pd.DataFrame, documents: Sequence[Document], recalls: pd.DataFrame, params: Overlap, *, seed: int
) -> pd.DataFrame:
    """METRICS of the published outputs by section: ROUGE, claim recall as `BASELINE` predicts it, and BERTScore if any.

    Sections are scored with ACI-BENCH's marks for line breaks and missing parts: two notes that both lack a section
    agree fully on it. A system that lacks an output has no ROUGE.
    """
    names = [*OPEN_SYSTEMS, *ACI_BENCH.values()]
    names = [name for name in names if all(name in one.outputs for one in documents)]
    complete = [replace(one, outputs={name: one.outputs[name] for name in names}) for one in documents]
    rows = list[Row]()
    if names and complete:
        rouge = section_rouge(complete, "soap")
        scored = pd.concat([rouge[rouge["metric"].isin(_ROUGE)], _bert_scores(complete, names, params)])
        for (system, item, metric), own in scored.groupby(["system", "item", "metric"])["value"]:
            about: Row = {"system": system, "item": item, "condition": "overlap"}
            rows.append(metric_row(metric, own.mean(), n=int(own.count()), **about))
    parts = {section: part for part, section in SECTIONS.items()}
    for (section, system), value in _presence_baseline(recalls, printed_recalls(table25)).items():
        about = {"system": BASELINE, "condition": system, "item": parts[section]}
        rows.append(metric_row("claim_recall", value, n=len(documents), **about))
    return metric_table(rows, stage=NAME, seed=seed, provenance=COMPUTED)


def _bert_scores(documents: Sequence[Document], systems: Sequence[str], params: Overlap) -> pd.DataFrame | None:
    """BERTScore F1 of each section with the reference's: system, item, metric and value; None without a model."""
    keys = pd.DataFrame(product(systems, PARTS, range(len(documents))), columns=["system", "item", "document"])
    references, outputs = [], list[str]()
    for system, part in product(systems, PARTS):
        references += part_texts([str(one.reference) for one in documents], part)
        outputs += part_texts([one.outputs[system] for one in documents], part)
    scored, _ = bert_score(references, outputs, params)
    return None if scored is None else keys.assign(metric="bertscore_f1", value=scored["bertscore_f1"])


def distance_metrics(
    table25: pd.DataFrame, others: Mapping[str, pd.DataFrame], judges: Mapping[str, pd.DataFrame], *, seed: int
) -> pd.DataFrame:
    """METRICS of each evaluator's distance from GPT-4 on the 16 cells: judges here and those of ``others`` (printed).

    ``judges`` are results of `section_recalls` by name. A baseline that reads no claim is included
    (`_presence_baseline`): an evaluator must beat it to show that it judges.
    """
    printed = printed_recalls(table25)
    compared = {name: recalls["value"] for name, recalls in judges.items()}
    compared |= {name: printed_recalls(table) for name, table in others.items()}
    compared[BASELINE] = _presence_baseline(next(iter(judges.values())), printed)
    rows = list[Row]()
    for name, by_cell in compared.items():
        values = by_cell.reindex(printed.index)
        if values.notna().all():
            distances = {
                "mean absolute difference": float((values - printed).abs().mean()),
                "correlation": float(np.corrcoef(values, printed)[0, 1]),
            }
            about: Row = {"system": name, "provenance": "stand-in" if name in judges else "printed tables"}
            rows += [metric_row(metric, value, n=len(printed), **about) for metric, value in distances.items()]
    return metric_table(rows, stage=NAME, condition="against GPT-4", item="16 cells of Table 25", seed=seed)


def printed_recalls(table25: pd.DataFrame) -> pd.Series:
    """Printed claim recalls of the open systems by section and system, as shares."""
    rows = table25[table25["system"].isin(OPEN_SYSTEMS) & table25["claim_recall"].notna()]
    return rows.set_index(CELL)["claim_recall"] / 100


def _presence_baseline(recalls: pd.DataFrame, printed: pd.Series) -> pd.Series:
    """Share of notes whose output has the section, times the section's constant, fitted to the other systems."""
    predicted, presence = printed.copy(), recalls["presence"].reindex(printed.index)
    for cell in printed.index:
        others = (printed.index.get_level_values("section") == cell[0]) & (printed.index != cell)
        shares, values = presence[others].to_numpy(), printed[others].to_numpy()
        norm = float(shares @ shares)
        predicted[cell] = presence[cell] * (float(shares @ values) / norm if norm else 0.0)
    return predicted


async def judged_by_rules(judged: pd.DataFrame, documents: Sequence[Document]) -> pd.DataFrame:
    """Claims of VERDICTS by section, with the verdicts of the simulator's rules in place of the judge's."""
    by_id = {one.id: one for one in documents}
    claims = in_order(judged[judged["metric"].isin(CLAIM_METRICS) & judged["text"].ne("")])
    questions = []
    for (document, system, item, metric), group in claims.groupby(KEYS[:-1], sort=False):
        one = by_id[str(document)]
        reference, output = compared_sections(one, one.outputs[str(system)], "soap")[str(item)]
        premise = output if metric == "claim_recall" else reference
        questions.append(Question(f"{document}/{system}/{item}", premise, tuple(group["text"])))
    found = await SimulatorEvaluator()(questions)
    return claims.assign(value=[float(bool(one)) for each in found for one in each.judgements])


def section_recalls(judged: pd.DataFrame, documents: Sequence[Document]) -> pd.DataFrame:
    """Claim recall by system and section: the mean over notes whose reference has claims in it, as in the paper.

    ``judged`` is VERDICTS of any judge. Columns value and presence, the share of these notes whose output has the
    section, by section and system.
    """
    scores = scores_of(judged[judged["system"].isin([*OPEN_SYSTEMS, *ACI_BENCH.values()])], METRICS)
    means = scores[scores["metric"] == "claim_recall"].groupby(["system", "item"])["value"].mean()
    rows = []
    for (system, item), share in means.items():
        if item in SECTIONS:
            asked = [one for one in documents if (one.claims or {}).get(item)]
            presence = sum(item in split_soap(one.outputs[system]) for one in asked) / len(asked)
            rows.append((SECTIONS[item], system, share, presence))
    return pd.DataFrame(rows, columns=[*CELL, "value", "presence"]).set_index(CELL)


PREFERENCE_SECTIONS = ("objective_exam", "assessment_and_plan")
"""The sections of Table 11."""
OTHERS = ("rouge1_r", "rouge2_r", "rougeL_r")
WORDS = {"words": OVERLAP["words"]}


def system_rows(
    judged: pd.DataFrame,
    documents: Sequence[Document],
    citing: Sequence[str],
    params: Overlap,
    *,
    stage: str,
    seed: int,
    provenance: str,
) -> pd.DataFrame:
    """METRICS of several systems' outputs: judged scores, overlap with references, and Kendall's tau between both."""
    made_by: dict[str, Any] = {"stage": stage, "seed": seed, "provenance": provenance}
    scored, absent = score_outputs(plain_documents(documents, citing), params)
    parts = [
        figures(judged, METRICS, **made_by),
        overlap_rows(verdicts_of(scored), absent, stage=stage, seed=seed),
        agreement_rows(beside_claims(scored, scores_of(judged, METRICS)), condition="agreement of metrics", **made_by),
    ]
    return pd.concat(parts, ignore_index=True)


def recorded_rows(
    judged: pd.DataFrame, documents: Sequence[Document], params: Overlap, judge: str, *, seed: int
) -> pd.DataFrame:
    """METRICS of a recorded ``judge``, whose name is in each condition: scores, paired differences of systems, and
    agreement with overlap metrics. ``judged`` is VERDICTS by section.
    """
    made_by: dict[str, Any] = {"stage": NAME, "seed": seed, "provenance": judge}
    claims = judged[judged["metric"].isin(CLAIM_METRICS)]
    means = scores_of(claims.assign(condition=judge), METRICS)
    scored, _ = score_outputs(documents, params)
    parts = [
        figures(judged.assign(condition=judge), METRICS, **made_by),
        metric_table(system_difference_rows(means[means["item"] == WHOLE]), condition=judge, item=WHOLE, **made_by),
        differences(verdicts_of(scored[["document", "system", *WORDS]]), WORDS, **{**made_by, "provenance": COMPUTED}),
        # all that was asked has a score; precision was asked of some documents only
        agreement_rows(beside_claims(scored, means), condition=f"agreement of metrics, {judge}", **made_by).assign(
            unscored=0
        ),
        section_preferences(claims, documents, (), seed=seed, provenance=judge).assign(
            condition=f"preferences of metrics, {judge}"
        ),
    ]
    return pd.concat(parts, ignore_index=True)


def section_preferences(
    judged: pd.DataFrame, documents: Sequence[Document], citing: Sequence[str], *, seed: int, provenance: str
) -> pd.DataFrame:
    """METRICS of condition "preferences of metrics": `disagreements` of claim recall with ROUGE recall by section."""
    both, rows = recalls_by_section(judged, documents, citing), []
    for section, other in product(PREFERENCE_SECTIONS, OTHERS):
        groups = both[both["item"] == section].groupby("document", sort=True)
        found = [disagreements(group["claim_recall"], group[other]) for _, group in groups]
        shares = mean_interval([wrong / pairs for wrong, pairs in found if pairs])
        about: Row = {"n": sum(pairs for _, pairs in found), "item": section}
        rows.append(metric_row("disagreement", *shares, system=f"claim_recall and {other}", **about))
    shared = {"stage": NAME, "condition": "preferences of metrics", "seed": seed, "provenance": provenance}
    return metric_table(rows, **shared)


def recalls_by_section(judged: pd.DataFrame, documents: Sequence[Document], citing: Sequence[str]) -> pd.DataFrame:
    """Claim recall and `OTHERS` of each output by section: document, system, item and a column for each."""
    keys = ["document", "system", "item"]
    scores = scores_of(judged[judged["metric"] == "claim_recall"], METRICS)
    rouge = section_rouge(plain_documents(documents, citing), "soap")
    wide = rouge[rouge["metric"].isin(OTHERS)].pivot_table(index=keys, columns="metric", values="value").reset_index()
    return scores.rename(columns={"value": "claim_recall"}).merge(wide, on=keys)


def disagreements(one: Sequence[float] | pd.Series, other: Sequence[float] | pd.Series) -> tuple[int, int]:
    """Pairs of outputs that two metrics rank in opposite order, and all pairs; a tie agrees with both orders."""
    first, second = np.triu_indices(len(one), k=1)
    left, right = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    opposite = np.sign(left[first] - left[second]) * np.sign(right[first] - right[second]) < 0
    return int(opposite.sum()), len(first)


CONDITION = "agreement of evaluators"
SCORES = (*CLAIM_METRICS, *CITATION_METRICS)
JUDGE = "judge"
_KEYS = ["item", "system"]


def evaluator_agreement(
    whole: Mapping[str, pd.DataFrame],
    sections: Mapping[str, pd.DataFrame],
    judges: Mapping[str, pd.DataFrame],
    *,
    seed: int,
) -> pd.DataFrame:
    """METRICS of `CONDITION`: Kendall's tau-b and the share of pairs of systems with the same order.

    ``whole`` and ``sections`` are printed tables by evaluator; ``judges`` VERDICTS by judge, each compared on the
    systems that the paper has, too. Item: the score of whole notes or of sections; systems are compared within a
    section, and tau is the mean over the sections, without an interval.
    """
    parts, scores = {section: part for part, section in SECTIONS.items()}, dict[str, pd.DataFrame]()
    for name, table in whole.items():
        own = sections[name].assign(item=sections[name]["section"].map(parts))
        scores[name] = pd.concat([table.assign(item=WHOLE), own]).set_index(_KEYS)[list(SCORES)]
    printed = {own: name for name, own in ACI_BENCH.items()}  # their outputs stand for those of the same models
    for name, judged in judges.items():
        claims = judged[judged["metric"].isin(CLAIM_METRICS)].assign(system=judged["system"].replace(printed))
        wide = scores_of(claims, METRICS).pivot_table(index=_KEYS, columns="metric", values="value")
        scores[name] = 100 * wide.reindex(columns=list(SCORES))
    rows = list[Row]()
    for one, other in combinations(scores, 2):
        made_by = " and ".join(dict.fromkeys(name if name in judges else "printed tables" for name in (one, other)))
        for name in SCORES:
            rows += _rows(
                scores[one][name], scores[other][name], name, {"system": f"{one} and {other}", "provenance": made_by}
            )
    return metric_table(rows, stage=NAME, condition=CONDITION, seed=seed)


def _rows(one: pd.Series, other: pd.Series, name: str, about: Row) -> Iterator[Row]:
    both = pd.concat([one, other], axis=1, keys=["one", "other"], join="inner").dropna()
    is_whole = both.index.get_level_values("item") == WHOLE
    for over, table in (("whole notes", both[is_whole]), ("sections", both[~is_whole])):
        parts = [part for _, part in table.groupby(level="item") if len(part) > 1]
        if not parts:
            continue
        shared: Row = {**about, "item": f"{name}, {over}"}
        tau = np.nanmean([correlation(part["one"], part["other"], "kendall") for part in parts])
        ends = correlation_interval(table["one"], table["other"], "kendall")[1:] if over == "whole notes" else ()
        yield metric_row("kendall", float(tau), *ends, n=sum(map(len, parts)), **shared)
        wrong, pairs = np.sum([disagreements(part["one"], part["other"]) for part in parts], axis=0)
        yield metric_row("same_preference", 1 - wrong / pairs, n=int(pairs), **shared)


def rules_agreement(judged: pd.DataFrame, rules: pd.DataFrame, judge: str, *, seed: int) -> pd.DataFrame:
    """METRICS of the simulator's rules against ``judge`` on the same claims, with intervals over documents.

    ``judged`` and ``rules`` are VERDICTS; ``rules`` as of `judged_by_rules`. Share of equal verdicts, and Cohen's
    kappa.
    """
    both = judged.merge(rules[[*KEYS, "value"]], on=KEYS, suffixes=("", "_rules")).dropna(subset="value")
    rows, pair = [], f"simulator's rules and {judge}"
    for metric, part in both.groupby("metric", sort=True):
        model, own, texts = part["value"].astype(bool), part["value_rules"].astype(bool), part["document"]
        rows.append(mean_row("agreement", model == own, clusters=texts, item=str(metric)))
        rows.append(metric_row("kappa", *kappa_interval(model, own, clusters=texts), n=len(part), item=str(metric)))
    return metric_table(rows, stage=NAME, system=pair, condition="same claims", seed=seed, provenance=pair)
