"""DocLens's printed figures of systems beside ours: ROUGE (Tables 20, 24), recall and precision (21, 25).

The systems are the open ones, whose outputs are published, and GPT-4 and ChatGPT, of which ACI-BENCH publishes other
outputs. Also the figures that follow from other printed figures (Tables 1, 4) or from the outputs alone (Section 4.2).
Reproduction rows are in percent, as printed; metric rows hold shares.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.measures.doclens.evaluators import Question, SimulatorEvaluator
from tasks.measures.doclens.judging import CLAIM_METRICS, METRICS
from tasks.measures.measure import in_order
from tasks.measures.measure import scores as scores_of
from tasks.measures.overlap.scoring import rouge, section_rouge
from tasks.reproduction.published import Cell, items, printed_cells, stand_in
from tasks.statistics.metric_rows import metric_row, metric_table
from tasks.text.soap import PARTS, split_soap
from tasks.texts.document import WHOLE, Document, compared_sections

OPEN_SYSTEMS = ("BART + SAMSum FT (full)", "BART + SAMSum FT (section)", "BioBART (full)", "BioBART (section)")
ACI_BENCH = {
    "GPT-3.5-turbo (full, 0-shot)": "ChatGPT (zero-shot, ACI-BENCH)",
    "GPT-4 (full, 0-shot)": "GPT-4 (zero-shot, ACI-BENCH)",
}
"""ACI-BENCH's outputs of the models that DocLens prompted in its own way, by printed name.

Table 24 prints their ROUGE by section under "Reported" and the name: all 24 figures come out to the last digit.
"""
SECTIONS = dict(zip(PARTS, ("Subjective", "Objective-Exam", "Objective-Results", "Assessment and Plan"), strict=True))
BASELINE = "section present, no claim read"
FEWEST_OTHERS = 2
"""Fewest other figures whose mean is a baseline that reads no claim."""
KEYS = ["document", "system", "item", "metric", "unit"]
"""Columns that identify a judgement of one judge."""
ANLI = ["anli_r1", "anli_r2", "anli_r3"]
_PART = {section: part for part, section in SECTIONS.items()}
_AS_NEAR = "tolerance: the error of a baseline that reads no claim"
_PRECISION_AS_NEAR = "tolerance: the mean error of the other systems' mean"
_OTHER_OUTPUTS = "ACI-BENCH's outputs in place of the paper's; tolerance: the distance of the two printed figures"
_COMPARED: tuple[Mapping[str, str], ...] = ({name: name for name in OPEN_SYSTEMS}, ACI_BENCH)
"""Names of outputs by printed name: of the outputs that are judged in the paper, and of others of the same model."""

Rows = list[dict[str, Any]]
Floats = npt.NDArray[np.float64]


def reproduction_rows(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as REPRODUCTION_ROWS, sorted."""
    return typed(rows, REPRODUCTION_ROWS).sort_values(list(REPRODUCTION_ROWS.unique or []), ignore_index=True)


def _cells(table: str, printed: pd.DataFrame, systems: Iterable[str], *figures: str) -> list[Cell]:
    """The cells of ``systems`` in the columns ``figures``."""
    cells = printed_cells("doclens", table, printed)
    return [cell for cell in cells if cell.labels["system"] in systems and cell.figure in figures]


def rouge_rows(table20: pd.DataFrame, table24: pd.DataFrame, documents: Sequence[Document]) -> Rows:
    """Rows of Tables 20 and 24 for published outputs; basis recomputed.

    Whole notes are scored unchanged, sections with ACI-BENCH's marks for line breaks and missing parts: two notes that
    both lack a section agree fully on it. Table 20 has the open systems only, Table 24 ACI-BENCH's outputs as well.
    """
    named = dict(_COMPARED[0]) | {f"Reported {printed}": name for printed, name in ACI_BENCH.items()}
    figures = ("rouge1", "rouge2", "rougeL")
    cells = [*_cells("Table 20", table20, named, *figures), *_cells("Table 24", table24, named, *figures)]
    rows = []
    for printed, system in named.items():
        texts = [one.outputs[system] for one in documents if system in one.outputs]
        means: dict[str, Any] = {}
        if texts and len(texts) == len(documents):
            means[""] = rouge([str(one.reference) for one in documents], texts).mean()
            by_id = {one.id: text for one, text in zip(documents, texts, strict=True)}
            parts = section_rouge({system: by_id}, documents, "soap").groupby(["item", "metric"])["value"].mean()
            means |= {section: parts[part] for part, section in SECTIONS.items()}
        for cell in cells:
            if cell.labels["system"] == printed and means:
                section = cell.labels.get("section", "")
                name = "rougeLsum_f" if (section, cell.figure) == ("", "rougeL") else f"{cell.figure}_f"
                rows.append(cell.reproduced(100 * means[section][name]))
    return rows


def whole_note_rows(table21: pd.DataFrame, judged: pd.DataFrame, model: str) -> Rows:
    """Claim recall of whole notes (Table 21): mean over notes, in percent.

    ``judged``: VERDICTS of ``model`` in GPT-4's place, each claim against its section of the output. The tolerance is
    the mean error of a baseline, the other systems' mean.
    """
    return _stand_in_rows("Table 21", table21, "claim_recall", _means(judged, "claim_recall"), model, note=_AS_NEAR)


def _stand_in_rows(
    table: str, printed: pd.DataFrame, figure: str, ours: Mapping[tuple[str, str], float], model: str, *, note: str,
    compared: Sequence[Mapping[str, str]] = _COMPARED,
) -> Rows:  # fmt: skip
    """Rows of a column, from our shares (0-1) by name of outputs and item.

    The tolerance is the mean error, over the systems of one kind and section, of the mean of the other systems. Figures
    that this mean meets have no row (`_met_unread`).
    """
    rows = []
    for systems in compared:
        groups: dict[str, list[Cell]] = {}
        for cell in _cells(table, printed, systems, figure):
            groups.setdefault(_PART.get(cell.labels.get("section", ""), WHOLE), []).append(cell)
        for item, group in groups.items():
            near = _baseline_error([cell.published for cell in group])
            judged = [cell for cell in group if (systems[cell.labels["system"]], item) in ours]
            met = _met_unread([cell.published for cell in judged], near)
            about = _OTHER_OUTPUTS if systems is ACI_BENCH else note
            for cell in (one for one, unread in zip(judged, met, strict=True) if not unread):
                value = 100 * ours[systems[cell.labels["system"]], item]
                rows.append(cell.reproduced(value, stand_in(model), tolerance=near, note=about))
    return rows


def _met_unread(printed: Sequence[float], tolerance: float) -> list[bool]:
    """Whether the mean of the other figures is within the tolerance of each: then to meet it says nothing of a judge.

    Of fewer than three figures the tolerance is their distance, and none is left out.
    """
    values = np.array(printed, dtype=float)
    if len(values) < FEWEST_OTHERS + 1:
        return [False] * len(values)
    found: list[bool] = (_others_errors(values) <= tolerance).tolist()
    return found


def recall_rows(table25: pd.DataFrame, recalls: pd.DataFrame, model: str) -> Rows:
    """The claim recalls by section (Table 25) by ``model`` in GPT-4's place, and their distance from GPT-4.

    ``recalls`` is the result of `section_recalls`. Tolerances of the open systems are the errors of
    `_presence_baseline`, which reads no claim: for a cell its mean error in the section, for a distance over all cells
    its own distance. So a pass means that the judge is as near to GPT-4 as a baseline that does not judge.
    """
    cells = _cells("Table 25", table25, OPEN_SYSTEMS, "claim_recall")
    by_item = {(one.system, one.item): one.value for one in recalls.itertuples()}
    rows = _stand_in_rows("Table 25", table25, "claim_recall", by_item, model, note="", compared=[ACI_BENCH])
    printed = {cell.row: cell.published for cell in cells}
    ours = _by_cell(recalls, "value", times=100)
    if not set(printed) <= set(ours):
        return rows
    baseline = _presence_baseline(recalls, printed)
    for cell in cells:
        section = _same_section(cell.row, printed)
        near = float(np.mean([abs(baseline[other] - printed[other]) for other in section]))
        met = _met_unread([printed[other] for other in section], near)
        if not met[section.index(cell.row)]:
            rows.append(cell.reproduced(ours[cell.row], stand_in(model), tolerance=near, note=_AS_NEAR))
    distances = zip(_distance(ours, printed), _distance(baseline, printed), strict=True)
    for (column, perfect, value), (_, _, near) in distances:
        cell = items()["doclens", "Table 25"].cell("16 cells", column, perfect)
        rows.append(cell.reproduced(value, stand_in(model), tolerance=float(abs(near - perfect)), note=_AS_NEAR))
    return rows


def distance_metrics(
    table25: pd.DataFrame, others: Mapping[str, pd.DataFrame], judges: Mapping[str, pd.DataFrame], *, seed: int
) -> pd.DataFrame:
    """METRICS of each evaluator's distance from GPT-4 on the 16 cells: judges here and those of ``others`` (printed).

    ``judges`` are results of `section_recalls` by name. Printed percentages are converted to shares. A baseline that
    reads no claim is included (`_presence_baseline`): an evaluator must beat it to show that it judges.
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
        for metric, _, value in _distance(values, printed)
    ]
    return metric_table(rows, stage="doclens", condition="against GPT-4", item="16 cells of Table 25", seed=seed)


def printed_recalls(table25: pd.DataFrame) -> dict[str, float]:
    """Printed claim recalls of the open systems by "section / system", as shares."""
    return {cell.row: cell.published / 100 for cell in _cells("Table 25", table25, OPEN_SYSTEMS, "claim_recall")}


def _by_cell(recalls: pd.DataFrame, column: str, times: float = 1) -> dict[str, float]:
    """A column of `section_recalls` by "section / system"."""
    return dict(zip(recalls["section"] + " / " + recalls["system"], (times * recalls[column]).tolist(), strict=True))


def _presence_baseline(recalls: pd.DataFrame, printed: Mapping[str, float]) -> dict[str, float]:
    """Share of notes whose output has the section, times the section's constant, fitted to the other systems."""
    presence, predicted = _by_cell(recalls, "presence"), {}
    for row in printed:
        others = [other for other in _same_section(row, printed) if other != row]
        shares, values = np.array([presence[o] for o in others]), np.array([printed[o] for o in others])
        norm = float(shares @ shares)
        predicted[row] = presence[row] * (float(shares @ values) / norm if norm else 0.0)
    return predicted


def _same_section(row: str, printed: Mapping[str, float]) -> list[str]:
    return [other for other in printed if other.split(" / ")[0] == row.split(" / ")[0]]


def _distance(values: Mapping[str, float], target: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """(name, GPT-4's own value, value) of the mean absolute difference and of the correlation."""
    one, other = np.array([values[row] for row in target]), np.array(list(target.values()))
    return [
        ("mean absolute difference", 0.0, float(np.abs(one - other).mean())),
        ("correlation", 1.0, float(np.corrcoef(one, other)[0, 1])),
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
    rows = [
        (system, item, share, SECTIONS[item], _presence(documents, system, item))
        for (system, item), share in _means(judged, "claim_recall").items()
        if item in SECTIONS
    ]
    return pd.DataFrame(rows, columns=["system", "item", "value", "section", "presence"])


def _presence(documents: Sequence[Document], system: str, part: str) -> float:
    asked = [one for one in documents if (one.claims or {}).get(part)]
    return sum(part in split_soap(one.outputs[system]) for one in asked) / len(asked)


def nli_mean_rows(table1: pd.DataFrame, table4: pd.DataFrame) -> Rows:
    """The means of Tables 1 and 4 from the accuracies of Table 4's four test sets, unweighted as in print."""
    accuracies = table4.set_index("model")
    means = {"anli": accuracies[ANLI].mean(axis=1), "mean": accuracies[[*ANLI, "mednli"]].mean(axis=1)}
    means["weighted_mean"] = means["mean"]
    cells = [*printed_cells("doclens", "Table 4", table4), *printed_cells("doclens", "Table 1", table1)]
    return [cell.reproduced(means[cell.column][cell.row]) for cell in cells if cell.column in means]


def word_rows(words: pd.DataFrame, documents: Sequence[Document]) -> Rows:
    """Mean number of words of a system's notes (Section 4.2), of systems whose outputs are at hand."""
    rows = []
    for cell in printed_cells("doclens", "Section 4.2", words):
        lengths = [len(one.outputs[cell.row].split()) for one in documents if cell.row in one.outputs]
        if lengths:
            rows.append(cell.reproduced(float(np.mean(lengths))))
    return rows


def precision_rows(table21: pd.DataFrame, table25: pd.DataFrame, judged: pd.DataFrame, model: str) -> Rows:
    """Claim precision, a mean over notes, in percent; ``judged`` is VERDICTS of ``model`` in GPT-4's place."""
    ours = _means(judged, "claim_precision")
    return [
        row
        for table, printed in (("Table 21", table21), ("Table 25", table25))
        for row in _stand_in_rows(table, printed, "claim_precision", ours, model, note=_PRECISION_AS_NEAR)
    ]


def _means(judged: pd.DataFrame, metric: str) -> dict[tuple[str, str], float]:
    """Mean of a claim metric over notes (0-1) by compared system and item: each section, and `WHOLE`."""
    scores = scores_of(judged[judged["system"].isin([*OPEN_SYSTEMS, *ACI_BENCH.values()])], METRICS)
    means = scores[scores["metric"] == metric].groupby(["system", "item"])["value"].mean()
    return {(str(system), str(item)): float(value) for (system, item), value in means.items()}


def _baseline_error(printed: Sequence[float]) -> float:
    """Mean distance of each figure from the mean of the others."""
    return float(_others_errors(np.array(printed, dtype=float)).mean())


def _others_errors(printed: Floats) -> Floats:
    """Distance of each figure from the mean of the others."""
    return np.abs((printed.sum() - printed) / (len(printed) - 1) - printed)
