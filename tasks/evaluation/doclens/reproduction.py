"""Compares DocLens's printed figures on the open systems with ours: ROUGE (Tables 20, 24), recall (Tables 21, 25).

Reproduction rows are in percent, as printed; metric rows hold shares.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from tasks.evaluation.overlap.scores import part_texts, rouge
from tasks.statistics.metric_rows import metric_row, metric_table
from tasks.text.soap import PARTS

OPEN_SYSTEMS = ("BART + SAMSum FT (full)", "BART + SAMSum FT (section)", "BioBART (full)", "BioBART (section)")
SECTIONS = dict(zip(PARTS, ("Subjective", "Objective-Exam", "Objective-Results", "Assessment and Plan"), strict=True))
LAST_DIGIT = 0.005
BASELINE = "section present, no claim read"
COLUMNS = ["source", "table", "row", "column", "published", "reproduced", "tolerance", "basis", "note"]
NEEDS = "needs ACI-BENCH's test1 split and the published outputs in sources.folder"
_AS_NEAR = "tolerance: the error of a baseline that reads no claim"

Row = tuple[str, str, str, float, float, float, str, str | None]


def rouge_rows(
    table20: pd.DataFrame,
    table24: pd.DataFrame,
    notes: Mapping[str, str] | None,
    outputs: Mapping[str, Mapping[str, str]] | None,
) -> list[Row]:
    """Rows of Tables 20 and 24 for the open systems; basis exact, or absent without the outputs.

    Whole notes are scored unchanged, sections with ACI-BENCH's marks for line breaks and missing parts: two notes that
    both lack a section agree fully on it.
    """
    rows: list[Row] = []
    for system in OPEN_SYSTEMS:
        printed = table20[table20["system"] == system].iloc[0]
        whole = None
        if notes is not None and outputs is not None:
            references, texts = list(notes.values()), [outputs[system][encounter] for encounter in notes]
            whole = rouge(references, texts).mean() * 100
        for column, name in (("rouge1", "rouge1_f"), ("rouge2", "rouge2_f"), ("rougeL", "rougeLsum_f")):
            rows.append(_exact("Table 20", system, column, printed[column], None if whole is None else whole[name]))
        for part, section in SECTIONS.items():
            cell = table24[(table24["section"] == section) & (table24["system"] == system)].iloc[0]
            scored = None
            if whole is not None:
                scored = rouge(part_texts(references, part), part_texts(texts, part)).mean() * 100
            for column, name in (("rouge1", "rouge1_f"), ("rouge2", "rouge2_f"), ("rougeL", "rougeL_f")):
                found = None if scored is None else scored[name]
                rows.append(_exact("Table 24", f"{section} / {system}", column, cell[column], found))
    return rows


def _exact(table: str, row: str, column: str, published: float, found: float | None) -> Row:
    if found is None:
        return (table, row, column, float(published), float("nan"), float("nan"), "absent", NEEDS)
    return (table, row, column, float(published), float(found), LAST_DIGIT, "exact", None)


def whole_note_rows(table21: pd.DataFrame, judged: pd.DataFrame | None) -> list[Row]:
    """The open systems' claim recall of whole notes (Table 21) by our offline evaluator: mean over notes, in percent.

    ``judged`` (JUDGED) holds the judgements of every section; each claim is judged against its section of the output.
    Basis offline, or absent without it. The tolerance is the mean error of a baseline, the other systems' mean.
    """
    printed = table21.set_index("system").loc[list(OPEN_SYSTEMS), "claim_recall"]
    if judged is None:
        nan = float("nan")
        return [("Table 21", row, "claim_recall", float(v), nan, nan, "absent", NEEDS) for row, v in printed.items()]
    ours = 100 * whole_note_recalls(judged)
    others = (printed.sum() - printed) / (len(printed) - 1)  # the baseline: the mean of the other systems
    near = float((others - printed).abs().mean())
    return [
        ("Table 21", row, "claim_recall", float(value), float(ours[row]), near, "offline", _AS_NEAR)
        for row, value in printed.items()
    ]


def recall_rows(table25: pd.DataFrame, recalls: pd.DataFrame | None) -> list[Row]:
    """The 16 claim recalls of the open systems (Table 25) by our offline evaluator, and its distance from GPT-4.

    ``recalls`` is the result of `section_recalls`; basis offline, or absent without it. Tolerances are the errors of
    `_presence_baseline`, which reads no claim: for a cell its mean error in the section, for a distance over all cells
    its own distance. So a pass means that the evaluator is as near to GPT-4 as a baseline that does not judge.
    """
    printed = printed_recalls(table25)
    if recalls is None:
        nan = float("nan")
        return [("Table 25", row, "claim_recall", value, nan, nan, "absent", NEEDS) for row, value in printed.items()]
    ours = {f"{r.section} / {r.system}": 100 * float(r.value) for r in recalls.itertuples()}
    baseline = dict(zip(printed, _presence_baseline(recalls, printed), strict=True))
    rows: list[Row] = []
    for row, value in printed.items():
        errors = [abs(baseline[other] - printed[other]) for other in _same_section(row, printed)]
        rows.append(("Table 25", row, "claim_recall", value, ours[row], float(np.mean(errors)), "offline", _AS_NEAR))
    target = list(printed.values())
    distances = _distance([ours[row] for row in printed], target)
    for (column, perfect, value), (_, _, near) in zip(
        distances, _distance(list(baseline.values()), target), strict=True
    ):
        rows.append(("Table 25", "16 cells", column, perfect, value, abs(near - perfect), "offline", _AS_NEAR))
    return rows


def distance_metrics(
    table25: pd.DataFrame, others: Mapping[str, pd.DataFrame], recalls: pd.DataFrame, evaluator: str, *, seed: int
) -> pd.DataFrame:
    """METRICS of each evaluator's distance from GPT-4 on the 16 cells: ours and those of ``others`` (printed tables).

    Printed percentages are converted to shares.

    A baseline that reads no claim is included (`_presence_baseline`). An evaluator must beat it to show that it judges.
    """
    printed = _as_shares(printed_recalls(table25))
    ours = {f"{r.section} / {r.system}": float(r.value) for r in recalls.itertuples()}
    compared = {evaluator: [ours[row] for row in printed]}
    for name, table in others.items():
        theirs = _as_shares(printed_recalls(table))
        compared[name] = [theirs[row] for row in printed]
    compared[BASELINE] = _presence_baseline(recalls, printed)
    rows = [
        metric_row(
            metric, value, n=len(printed), system=name, provenance="offline" if name == evaluator else "printed tables"
        )
        for name, values in compared.items()
        for metric, _, value in _distance(values, list(printed.values()))
    ]
    return metric_table(rows, stage="doclens", condition="against GPT-4", item="16 cells of Table 25", seed=seed)


def printed_recalls(table: pd.DataFrame) -> dict[str, float]:
    """Printed claim recalls of the open systems by "section / system"."""
    chosen = table[table["system"].isin(OPEN_SYSTEMS)]
    return {f"{row.section} / {row.system}": float(row.claim_recall) for row in chosen.itertuples()}


def _as_shares(printed: Mapping[str, float]) -> dict[str, float]:
    return {row: value / 100 for row, value in printed.items()}


def _presence_baseline(recalls: pd.DataFrame, printed: Mapping[str, float]) -> list[float]:
    """Share of notes whose output has the section, times the section's constant, fitted to the other systems."""
    presence = {f"{r.section} / {r.system}": float(r.presence) for r in recalls.itertuples()}
    predicted = []
    for row in printed:
        others = [other for other in _same_section(row, printed) if other != row]
        shares, values = np.array([presence[o] for o in others]), np.array([printed[o] for o in others])
        norm = float(shares @ shares)
        predicted.append(presence[row] * (float(shares @ values) / norm if norm else 0.0))
    return predicted


def _same_section(row: str, printed: Mapping[str, float]) -> list[str]:
    return [other for other in printed if other.split(" / ")[0] == row.split(" / ")[0]]


def _distance(values: Sequence[float], target: Sequence[float]) -> list[tuple[str, float, float]]:
    """(name, GPT-4's own value, value) of the mean absolute difference and of the correlation."""
    one, other = np.array(values, dtype=float), np.array(target, dtype=float)
    return [
        ("mean absolute difference", 0.0, float(np.abs(one - other).mean())),
        ("correlation", 1.0, float(np.corrcoef(one, other)[0, 1])),
    ]


def reproduction_rows(rows: Sequence[Row]) -> pd.DataFrame:
    """Rows as REPRODUCTION_ROWS, source doclens."""
    frame = pd.DataFrame([("doclens", *row) for row in rows], columns=COLUMNS)
    numbers = dict.fromkeys(["published", "reproduced", "tolerance"], float)
    texts = dict.fromkeys(["source", "table", "row", "column", "basis", "note"], "str")
    return frame.astype({**texts, **numbers}).sort_values(COLUMNS[:4], ignore_index=True)


def section_recalls(judged: pd.DataFrame, pairs_present: Mapping[tuple[str, str], float]) -> pd.DataFrame:
    """Claim recall by system and section, with the share of notes whose output has the section.

    The mean is over notes whose reference has claims in the section, as in the paper. ``pairs_present`` holds the share
    by (system, part).
    """
    by_note = _recalled(judged).groupby(["system", "item", "document"], sort=True)["value"].mean()
    means = by_note.groupby(["system", "item"]).mean().reset_index()
    means["section"] = means["item"].map(SECTIONS)
    keys = zip(means["system"], means["item"], strict=True)
    return means.assign(presence=[pairs_present[key] for key in keys])[["system", "section", "value", "presence"]]


def whole_note_recalls(judged: pd.DataFrame) -> pd.Series:
    """Claim recall by system over all sections: the mean over notes of the share of their claims."""
    by_note = _recalled(judged).groupby(["system", "document"], sort=True)["value"].mean()
    return by_note.groupby("system").mean()


def _recalled(judged: pd.DataFrame) -> pd.DataFrame:
    recalled = judged[(judged["metric"] == "claim_recall") & judged["judged"].notna()]
    return recalled.assign(value=recalled["judged"].astype(float))
