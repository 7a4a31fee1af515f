"""DocLens's printed figures on the open systems beside ours: ROUGE (Tables 20, 24), recall and precision (21, 25).

Also the figures that follow from other printed figures (Tables 1, 4) or from the outputs alone (Section 4.2).
Reproduction rows are in percent, as printed; metric rows hold shares.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from schemas.tables.columns import typed
from schemas.tables.metrics import REPRODUCTION_ROWS
from tasks.measures.doclens.evaluators import Question, SimulatorEvaluator
from tasks.measures.doclens.metrics import document_scores
from tasks.measures.overlap import rouge, section_rouge
from tasks.reproduction.published import Cell, items, printed_cells
from tasks.statistics.metric_rows import metric_row, metric_table
from tasks.text.soap import PARTS, split_soap
from tasks.texts.document import WHOLE, Document, compared_sections

OPEN_SYSTEMS = ("BART + SAMSum FT (full)", "BART + SAMSum FT (section)", "BioBART (full)", "BioBART (section)")
SECTIONS = dict(zip(PARTS, ("Subjective", "Objective-Exam", "Objective-Results", "Assessment and Plan"), strict=True))
BASELINE = "section present, no claim read"
NEEDS = "needs ACI-BENCH's test1 split and the published outputs in sources.folder"
METRIC = "claim_precision"
ANLI = ["anli_r1", "anli_r2", "anli_r3"]
_PART = {section: part for part, section in SECTIONS.items()}
_AS_NEAR = "tolerance: the error of a baseline that reads no claim"
_CHOSEN = f"{_AS_NEAR}; one of the rules was chosen by its effect on these figures"
_NO_SECTION = "needs outputs with the section; the published ones have none"
_PRECISION_AS_NEAR = "tolerance: the mean error of the other systems' mean"

Rows = list[dict[str, Any]]


def reproduction_rows(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows as REPRODUCTION_ROWS, sorted."""
    return typed(rows, REPRODUCTION_ROWS).sort_values(list(REPRODUCTION_ROWS.unique or []), ignore_index=True)


def _open_cells(table: str, printed: pd.DataFrame, *figures: str) -> list[Cell]:
    """The cells of the open systems in the columns ``figures``."""
    cells = printed_cells("doclens", table, printed)
    return [cell for cell in cells if cell.labels["system"] in OPEN_SYSTEMS and cell.figure in figures]


def rouge_rows(table20: pd.DataFrame, table24: pd.DataFrame, documents: Sequence[Document]) -> Rows:
    """Rows of Tables 20 and 24 for the open systems; basis recomputed, or absent without documents.

    Whole notes are scored unchanged, sections with ACI-BENCH's marks for line breaks and missing parts: two notes that
    both lack a section agree fully on it.
    """
    whole = _open_cells("Table 20", table20, "rouge1", "rouge2", "rougeL")
    by_section = _open_cells("Table 24", table24, "rouge1", "rouge2", "rougeL")
    if not documents:
        return [cell.absent(NEEDS) for cell in [*whole, *by_section]]
    rows = []
    for system in OPEN_SYSTEMS:
        texts = {one.id: one.outputs[system] for one in documents}
        means: dict[str, Any] = {"": rouge([str(one.reference) for one in documents], list(texts.values())).mean()}
        parts = section_rouge({system: texts}, documents, "soap").groupby(["item", "metric"])["value"].mean()
        means |= {section: parts[part] for part, section in SECTIONS.items()}
        for cell in [*whole, *by_section]:
            if cell.labels["system"] == system:
                section = cell.labels.get("section", "")
                name = "rougeLsum_f" if (section, cell.figure) == ("", "rougeL") else f"{cell.figure}_f"
                rows.append(cell.reproduced(100 * means[section][name]))
    return rows


def whole_note_rows(table21: pd.DataFrame, judged: pd.DataFrame | None) -> Rows:
    """The open systems' claim recall of whole notes (Table 21) by the simulator's rules: mean over notes, in percent.

    ``judged`` is the result of `recall_by_rules`; each claim is judged against its section of the output. Basis
    stand-in, or absent without it. The tolerance is the mean error of a baseline, the other systems' mean.
    """
    cells = _open_cells("Table 21", table21, "claim_recall")
    if judged is None:
        return [cell.absent(NEEDS) for cell in cells]
    ours = 100 * _note_means(judged, []).groupby("system").mean()
    near = _baseline_error([cell.published for cell in cells])
    return [cell.reproduced(ours[cell.row], "stand-in", tolerance=near, note=_AS_NEAR) for cell in cells]


def recall_rows(table25: pd.DataFrame, recalls: pd.DataFrame | None) -> Rows:
    """The 16 claim recalls of the open systems (Table 25) by the simulator's rules, and their distance from GPT-4.

    ``recalls`` is the result of `section_recalls`; basis fitted, or absent without it. Tolerances are the errors of
    `_presence_baseline`, which reads no claim: for a cell its mean error in the section, for a distance over all cells
    its own distance. So a pass means that the evaluator is as near to GPT-4 as a baseline that does not judge.
    """
    cells = _open_cells("Table 25", table25, "claim_recall")
    if recalls is None:
        return [cell.absent(NEEDS) for cell in cells]
    printed = {cell.row: cell.published for cell in cells}
    ours, baseline = _by_cell(recalls, "value", times=100), _presence_baseline(recalls, printed)
    rows = []
    for cell in cells:
        near = float(np.mean([abs(baseline[other] - printed[other]) for other in _same_section(cell.row, printed)]))
        rows.append(cell.reproduced(ours[cell.row], "fitted", tolerance=near, note=_CHOSEN))
    distances = zip(_distance(ours, printed), _distance(baseline, printed), strict=True)
    for (column, perfect, value), (_, _, near) in distances:
        cell = items()["doclens", "Table 25"].cell("16 cells", column, perfect)
        rows.append(cell.reproduced(value, "fitted", tolerance=float(abs(near - perfect)), note=_CHOSEN))
    return rows


def distance_metrics(
    table25: pd.DataFrame, others: Mapping[str, pd.DataFrame], recalls: pd.DataFrame, evaluator: str, *, seed: int
) -> pd.DataFrame:
    """METRICS of each evaluator's distance from GPT-4 on the 16 cells: ours and those of ``others`` (printed tables).

    Printed percentages are converted to shares. A baseline that reads no claim is included (`_presence_baseline`): an
    evaluator must beat it to show that it judges.
    """
    printed = printed_recalls(table25)
    compared = {evaluator: _by_cell(recalls, "value")}
    compared |= {name: printed_recalls(table) for name, table in others.items()}
    compared[BASELINE] = _presence_baseline(recalls, printed)
    rows = [
        metric_row(
            metric, value, n=len(printed), system=name, provenance="stand-in" if name == evaluator else "printed tables"
        )
        for name, values in compared.items()
        for metric, _, value in _distance(values, printed)
    ]
    return metric_table(rows, stage="doclens", condition="against GPT-4", item="16 cells of Table 25", seed=seed)


def printed_recalls(table25: pd.DataFrame) -> dict[str, float]:
    """Printed claim recalls of the open systems by "section / system", as shares."""
    return {cell.row: cell.published / 100 for cell in _open_cells("Table 25", table25, "claim_recall")}


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


async def recall_by_rules(documents: Sequence[Document]) -> pd.DataFrame:
    """Judgements of the open systems' outputs on the documents' own claims by the simulator's rules.

    Columns document, system, item and judged, one row per claim.
    """
    keys, questions = [], []
    for system in OPEN_SYSTEMS:
        for one in documents:
            for part, (_, output) in compared_sections(one, one.outputs[system], "soap").items():
                keys.append((one.id, system, part))
                questions.append(Question(f"{one.id}/{system}/{part}", output, (one.claims or {}).get(part, ())))
    verdicts = await SimulatorEvaluator()(questions)
    rows = [(*key, judged) for key, found in zip(keys, verdicts, strict=True) for judged in found.judgements]
    return pd.DataFrame(rows, columns=["document", "system", "item", "judged"])


def _note_means(judged: pd.DataFrame, by: list[str]) -> pd.Series:
    """Share of each note's claims that are recalled, by system, ``by`` and document."""
    return judged["judged"].astype(float).groupby([judged[name] for name in ("system", *by, "document")]).mean()


def section_recalls(judged: pd.DataFrame, documents: Sequence[Document]) -> pd.DataFrame:
    """Claim recall by system and section: the mean over notes whose reference has claims in it, as in the paper.

    Columns system, section, value and presence: the share of these notes whose output has the section.
    """
    means = _note_means(judged, ["item"]).groupby(["system", "item"]).mean().rename("value").reset_index()
    shares = [_presence(documents, row.system, row.item) for row in means.itertuples()]
    return means.assign(section=means["item"].map(SECTIONS), presence=shares)


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
    """Mean number of words of a system's notes (Section 4.2); absent for systems whose outputs are not at hand."""
    rows = []
    for cell in printed_cells("doclens", "Section 4.2", words):
        lengths = [len(one.outputs[cell.row].split()) for one in documents if cell.row in one.outputs]
        rows.append(cell.reproduced(float(np.mean(lengths))) if lengths else cell.absent(NEEDS))
    return rows


def precision_rows(table21: pd.DataFrame, table25: pd.DataFrame, judged: pd.DataFrame | None, *, basis: str) -> Rows:
    """The open systems' claim precision, a mean over notes, in percent; ``judged`` is JUDGED of the configured judge.

    ``basis``: stand-in, for the simulator's rules as for a model in the paper's place; absent without ``judged``.
    The tolerance is the mean error, over the systems of a table and section, of a baseline: the other systems' mean.
    """
    ours = {} if judged is None else _means(judged)
    cells = [*_open_cells("Table 21", table21, METRIC), *_open_cells("Table 25", table25, METRIC)]
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(_PART.get(cell.labels.get("section", ""), WHOLE), []).append(cell)
    rows = []
    for item, group in groups.items():
        near = _baseline_error([cell.published for cell in group])
        for cell in group:
            found = ours.get((cell.labels["system"], item))
            if found is None:
                rows.append(cell.absent(NEEDS if judged is None else _NO_SECTION))
            else:
                rows.append(cell.reproduced(found, basis, tolerance=near, note=_PRECISION_AS_NEAR))
    return rows


def _means(judged: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Mean over notes, in percent, by system and item."""
    chosen = judged[judged["metric"].eq(METRIC) & judged["system"].isin(OPEN_SYSTEMS)]
    means = document_scores(chosen).groupby(["system", "item"])["value"].mean() * 100
    return {(str(system), str(item)): float(value) for (system, item), value in means.items()}


def _baseline_error(printed: Sequence[float]) -> float:
    """Mean distance of each figure from the mean of the others."""
    values = np.array(printed, dtype=float)
    others = (values.sum() - values) / (len(values) - 1)
    return float(np.abs(others - values).mean())
