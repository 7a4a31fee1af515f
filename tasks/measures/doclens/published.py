"""Published outputs on ACI-BENCH without a judge's help: ROUGE by section, and evaluators' distances from GPT-4.

The systems are the open ones, whose outputs DocLens judges, and GPT-4 and ChatGPT, of which ACI-BENCH publishes other
outputs. Printed percentages are converted to shares.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd

from schemas.params.measures import Overlap
from schemas.tables.verdicts import in_order
from tasks.measures.doclens.evaluators import Question, SimulatorEvaluator
from tasks.measures.doclens.judging import CLAIM_METRICS, METRICS
from tasks.measures.measure import scores as scores_of
from tasks.measures.overlap.scoring import bert_score, part_texts, section_rouge
from tasks.statistics.metric_rows import COMPUTED, Row, metric_row, metric_table
from tasks.text.soap import PARTS, split_soap
from tasks.texts.document import Document, compared_sections

OPEN_SYSTEMS = ("BART + SAMSum FT (full)", "BART + SAMSum FT (section)", "BioBART (full)", "BioBART (section)")
ACI_BENCH = {
    "GPT-3.5-turbo (full, 0-shot)": "ChatGPT (zero-shot, ACI-BENCH)",
    "GPT-4 (full, 0-shot)": "GPT-4 (zero-shot, ACI-BENCH)",
}
"""ACI-BENCH's outputs of the models that DocLens prompted in its own way, by printed name."""
SECTIONS = dict(zip(PARTS, ("Subjective", "Objective-Exam", "Objective-Results", "Assessment and Plan"), strict=True))
BASELINE = "section present, no claim read"
RULES_JUDGE = "simulator's rules"
KEYS = ["document", "system", "item", "metric", "unit"]
"""Columns that identify a judgement of one judge."""
_ROUGE = ("rouge1_f", "rouge2_f", "rougeL_f")


def output_table(
    table25: pd.DataFrame, documents: Sequence[Document], recalls: pd.DataFrame, params: Overlap, *, seed: int
) -> pd.DataFrame:
    """METRICS of the published outputs: ROUGE by section, and claim recall as `BASELINE` predicts it by section.

    And BERTScore by section where ``params`` name a model that is at hand.

    Sections are scored with ACI-BENCH's marks for line breaks and missing parts: two notes that both lack a section
    agree fully on it. A system that lacks an output has no ROUGE.
    """
    names = [*OPEN_SYSTEMS, *ACI_BENCH.values()]
    texts = {name: {one.id: one.outputs[name] for one in documents if name in one.outputs} for name in names}
    complete = {name: by_id for name, by_id in texts.items() if by_id and len(by_id) == len(documents)}
    rows = [*_rouge_rows(complete, documents), *_bert_rows(complete, documents, params)] if complete else []
    predicted = _presence_baseline(recalls, printed_recalls(table25))
    parts = {section: part for part, section in SECTIONS.items()}
    for row, value in predicted.items():
        section, _, system = row.partition(" / ")
        n, part = len(documents), parts[section]
        rows.append(metric_row("claim_recall", value, n=n, system=BASELINE, condition=system, item=part))
    return metric_table(rows, stage="doclens", seed=seed, provenance=COMPUTED)


def _rouge_rows(texts: Mapping[str, Mapping[str, str]], documents: Sequence[Document]) -> Iterator[Row]:
    found = section_rouge(texts, documents, "soap")
    chosen = found[found["metric"].isin(_ROUGE)].groupby(["system", "item", "metric"])["value"]
    for row in chosen.agg(value="mean", n="count").reset_index().itertuples():
        yield metric_row(row.metric, row.value, n=row.n, system=row.system, item=row.item, condition="overlap")


def _bert_rows(texts: Mapping[str, Mapping[str, str]], documents: Sequence[Document], params: Overlap) -> Iterator[Row]:
    if params.bert_score_model is None:
        return
    keys = pd.DataFrame(product(texts, PARTS, range(len(documents))), columns=["system", "item", "document"])
    references, outputs = [], list[str]()
    for system, part in product(texts, PARTS):
        references += part_texts([str(one.reference) for one in documents], part)
        outputs += part_texts([texts[system][one.id] for one in documents], part)
    scored, _ = bert_score(references, outputs, model=params.bert_score_model, layer=params.bert_score_layer)
    if scored is not None:
        for (system, part), value in scored["bertscore_f1"].groupby([keys["system"], keys["item"]]).mean().items():
            about: Row = {"system": system, "item": part, "condition": "overlap"}
            yield metric_row("bertscore_f1", value, n=len(documents), **about)


def distance_metrics(
    table25: pd.DataFrame, others: Mapping[str, pd.DataFrame], judges: Mapping[str, pd.DataFrame], *, seed: int
) -> pd.DataFrame:
    """METRICS of each evaluator's distance from GPT-4 on the 16 cells: judges here and those of ``others`` (printed).

    ``judges`` are results of `section_recalls` by name. A baseline that reads no claim is included
    (`_presence_baseline`): an evaluator must beat it to show that it judges.
    """
    printed = printed_recalls(table25)
    compared = {name: _by_cell(recalls, "value") for name, recalls in judges.items()}
    compared |= {name: printed_recalls(table) for name, table in others.items()}
    compared[BASELINE] = _presence_baseline(next(iter(judges.values())), printed)
    rows = [
        metric_row(
            metric, value, n=len(printed), system=name, provenance="stand-in" if name in judges else "printed tables"
        )
        for name, values in compared.items()
        if set(printed) <= set(values)
        for metric, value in _distance(values, printed)
    ]
    return metric_table(rows, stage="doclens", condition="against GPT-4", item="16 cells of Table 25", seed=seed)


def printed_recalls(table25: pd.DataFrame) -> dict[str, float]:
    """Printed claim recalls of the open systems by "section / system", as shares."""
    rows = table25[table25["system"].isin(OPEN_SYSTEMS) & table25["claim_recall"].notna()]
    names = rows["section"] + " / " + rows["system"]
    return dict(zip(names, (rows["claim_recall"] / 100).tolist(), strict=True))


def _by_cell(recalls: pd.DataFrame, column: str) -> dict[str, float]:
    """A column of `section_recalls` by "section / system"."""
    return dict(zip(recalls["section"] + " / " + recalls["system"], recalls[column].tolist(), strict=True))


def _presence_baseline(recalls: pd.DataFrame, printed: Mapping[str, float]) -> dict[str, float]:
    """Share of notes whose output has the section, times the section's constant, fitted to the other systems."""
    presence, predicted = _by_cell(recalls, "presence"), {}
    for row in printed:
        section = row.split(" / ")[0]
        others = [other for other in printed if other.split(" / ")[0] == section and other != row]
        shares, values = np.array([presence[o] for o in others]), np.array([printed[o] for o in others])
        norm = float(shares @ shares)
        predicted[row] = presence[row] * (float(shares @ values) / norm if norm else 0.0)
    return predicted


def _distance(values: Mapping[str, float], target: Mapping[str, float]) -> list[tuple[str, float]]:
    """The mean absolute difference and the correlation, by name."""
    one, other = np.array([values[row] for row in target]), np.array(list(target.values()))
    return [
        ("mean absolute difference", float(np.abs(one - other).mean())),
        ("correlation", float(np.corrcoef(one, other)[0, 1])),
    ]


async def judged_by_rules(judged: pd.DataFrame, documents: Sequence[Document]) -> pd.DataFrame:
    """``judged``, claims of VERDICTS by section, with the verdicts of the simulator's rules in place of the judge's.

    Claims of the reference are judged against the output's section, claims of the output against the reference's.
    """
    by_id = {one.id: one for one in documents}
    claims = judged[judged["metric"].isin(CLAIM_METRICS) & judged["text"].ne("")]
    claims = in_order(claims)
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

    ``judged`` is VERDICTS of any judge. Columns system, section, item, value and presence: the share of these notes
    whose output has the section.
    """
    scores = scores_of(judged[judged["system"].isin([*OPEN_SYSTEMS, *ACI_BENCH.values()])], METRICS)
    means = scores[scores["metric"] == "claim_recall"].groupby(["system", "item"])["value"].mean()
    rows = [
        (system, item, share, SECTIONS[item], _presence(documents, system, item))
        for (system, item), share in means.items()
        if item in SECTIONS
    ]
    return pd.DataFrame(rows, columns=["system", "item", "value", "section", "presence"])


def _presence(documents: Sequence[Document], system: str, part: str) -> float:
    asked = [one for one in documents if (one.claims or {}).get(part)]
    return sum(part in split_soap(one.outputs[system]) for one in asked) / len(asked)
